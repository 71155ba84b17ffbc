import { z } from "zod";
import { type Route, routes } from "./api.ts";

const errorView = z
  .object({ error: z.object({ code: z.string(), message: z.string(), hint: z.string().optional() }) })
  .meta({ id: "Error" });

export interface SchemaObject {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  items?: SchemaObject;
  anyOf?: SchemaObject[];
  properties?: Record<string, SchemaObject>;
  required?: string[];
  description?: string;
}

interface Content {
  content?: Record<string, { schema: SchemaObject }>;
}

export interface OperationObject {
  summary: string;
  description?: string;
  parameters: { name: string; in: "path" | "query"; required: boolean; description?: string; schema: SchemaObject }[];
  requestBody?: Content & { required: boolean };
  responses: Record<string, Content & { description: string }>;
}

export interface ApiDocument {
  paths: Record<string, Record<string, OperationObject>>;
  components: { schemas: Record<string, SchemaObject> };
}

const missing: Record<string, string> = {
  "/api/alerts/:id": "No such alert.",
  "/api/destinations/:name": "No such destination.",
  "/api/refused/:id": "No such request.",
};
const unauthorized = {
  401: "No admin token, or a wrong one.",
  429: "A wrong admin token after many others. The right one is taken at any time.",
};

/** The failures by status, with those that follow from the route: input that cannot be read, or is missing. */
function failuresOf({ path, query, body, fails }: Route): [status: string, why: string][] {
  const none = Object.entries(missing).find(([begin]) => path.includes(begin))?.[1];
  const unread = body ? "The body cannot be read." : query && "A parameter cannot be read.";
  const shown = { ...(unread && { 400: unread }), ...(none && { 404: none }) };
  return Object.entries({ ...shown, ...fails, ...unauthorized });
}
const saysOfParameters: Record<string, string> = { id: "An id of the log.", name: "The name of the destination." };

/** Makes the OpenAPI 3.1 document of the API from its routes. Takes some tens of milliseconds. */
export function createDocument(publicUrl: string): ApiDocument {
  const schemas: Record<string, SchemaObject> = {};

  /** Describes the outside JSON. Schemas with a name go into the components. */
  function describe(schema: z.ZodType): SchemaObject {
    const made = z.toJSONSchema(z.object({ schema }), { io: "input", unrepresentable: "any", override });
    const { $defs, properties } = JSON.parse(JSON.stringify(made).replaceAll("#/$defs/", "#/components/schemas/"));
    Object.assign(schemas, $defs);
    return properties.schema;
  }
  const inJson = (schema: z.ZodType) => ({ content: { "application/json": { schema: describe(schema) } } });

  function describeParameters({ path, query }: Route): OperationObject["parameters"] {
    const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
      name,
      in: "path" as const,
      required: true,
      description: saysOfParameters[name],
      schema: { type: "string" },
    }));
    const { properties = {}, required = [] } = query === undefined ? {} : describe(query);
    const inQuery = Object.entries(properties).map(([name, { description, ...schema }]) => ({
      name,
      in: "query" as const,
      required: required.includes(name),
      description,
      schema,
    }));
    return [...inPath, ...inQuery];
  }

  function describeAnswer({ data, meta, media }: Route): Content {
    if (media !== undefined) {
      return { content: Object.fromEntries(media.map((type) => [type, { schema: { type: "string" } }])) };
    }
    return data === undefined ? {} : inJson(z.object({ data, ...(meta && { meta }) }));
  }

  const paths: ApiDocument["paths"] = {};
  for (const [, route] of routes) {
    const { path, says, more, body, answers } = route;
    const [method = "", template = ""] = path.split(" ");
    const address = template.replace(/:(\w+)/g, "{$1}");
    paths[address] ??= {};
    paths[address][method.toLowerCase()] = {
      summary: says,
      description: more,
      parameters: describeParameters(route),
      requestBody: body && { required: !body.safeParse({}).success, ...inJson(body) },
      responses: {
        [statusOf(route)]: { description: answers, ...describeAnswer(route) },
        ...Object.fromEntries(
          failuresOf(route).map(([status, why]) => [status, { description: why, ...inJson(errorView) }]),
        ),
      },
    };
  }
  const document = {
    openapi: "3.1.0",
    info: {
      title: "Tocsin",
      version: "1",
      description: `Alerts, their deliveries, destinations and mutes. Times are ISO 8601 in UTC. Answers hold their content in \`data\`,
      failures in \`error\`.`,
    },
    servers: [{ url: publicUrl }],
    security: [{ adminToken: [] }],
    paths,
    components: { schemas, securitySchemes: { adminToken: { type: "http", scheme: "bearer" } } },
  };
  return unbroken(document);
}

/** Joins descriptions to one line: their line breaks belong to the code. */
const unbroken = (document: ApiDocument): ApiDocument =>
  JSON.parse(JSON.stringify(document), (_, value) =>
    typeof value === "string" ? value.replace(/\n\s*/g, " ") : value,
  );

export function statusOf({ status, data, media }: Route): 200 | 201 | 204 {
  return status ?? (data === undefined && media === undefined ? 204 : 200);
}

/** Removes patterns and limits that only repeat the type. */
function override({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  if (jsonSchema.format === "date-time") delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}
