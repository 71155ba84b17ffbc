import type { ApiDocument } from "./api.ts";

/** What is read of a schema object; the rest of OpenAPI is not used by our routes. */
interface SchemaObject {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  format?: string;
  items?: SchemaObject;
  anyOf?: SchemaObject[];
  allOf?: SchemaObject[];
  properties?: Record<string, SchemaObject>;
  required?: string[];
  description?: string;
}

interface OperationObject {
  summary?: string;
  description?: string;
  parameters?: {
    name: string;
    in: string;
    required?: boolean;
    schema?: SchemaObject;
    description?: string;
  }[];
  requestBody?: { content?: Record<string, { schema?: SchemaObject }> };
  responses?: Record<string, { description?: string; content?: Record<string, { schema?: SchemaObject }> }>;
}

export interface ApiField {
  name: string;
  type: string;
  isRequired: boolean;
  description: string;
}

export interface ApiOperation {
  method: string;
  path: string;
  summary: string;
  description: string;
  parameters: ApiField[];
  body: ApiField[];
  answers: { status: string; description: string; shape?: string }[];
}

export interface ApiSchema {
  name: string;
  fields: ApiField[];
}

/** Every operation in the order of the document, flattened for reading. */
export function listApiOperations(document: ApiDocument): ApiOperation[] {
  const schemas = schemasOf(document);
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as Record<string, OperationObject>).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      summary: operation.summary ?? "",
      description: operation.description ?? "",
      parameters: (operation.parameters ?? []).map(({ name, required, schema, description }) => ({
        name,
        type: describeType(schema ?? {}),
        isRequired: required === true,
        description: description ?? schema?.description ?? "",
      })),
      body: fieldsOf(contentOf(operation.requestBody), schemas),
      answers: Object.entries(operation.responses ?? {}).map(([status, answer]) => ({
        status,
        description: answer.description ?? "",
        shape: status.startsWith("2") ? describeData(contentOf(answer), schemas) : undefined,
      })),
    })),
  );
}

/** The named shapes. */
export function listApiSchemas(document: ApiDocument): ApiSchema[] {
  const schemas = schemasOf(document);
  return Object.entries(schemas).map(([name, schema]) => ({ name, fields: fieldsOf(schema, schemas) }));
}

type Schemas = Record<string, SchemaObject>;

function schemasOf(document: ApiDocument): Schemas {
  return (document.components?.schemas ?? {}) as Schemas;
}

function contentOf(holder: { content?: Record<string, { schema?: SchemaObject }> } | undefined) {
  return holder?.content?.["application/json"]?.schema;
}

function resolve(schema: SchemaObject | undefined, schemas: Schemas): SchemaObject {
  const name = schema?.$ref?.split("/").at(-1);
  return name === undefined ? (schema ?? {}) : (schemas[name] ?? {});
}

function fieldsOf(schema: SchemaObject | undefined, schemas: Schemas): ApiField[] {
  const { allOf = [], properties = {}, required = [] } = resolve(schema, schemas);
  const own = Object.entries(properties).map(([name, field]) => ({
    name,
    type: describeType(field),
    isRequired: required.includes(name),
    description: field.description ?? "",
  }));
  const inherited = allOf.flatMap((part) => fieldsOf(part, schemas));
  return [...inherited.filter((field) => !own.some(({ name }) => name === field.name)), ...own];
}

/** `data: list of Alert` for the wrapper that answers have. */
function describeData(schema: SchemaObject | undefined, schemas: Schemas): string | undefined {
  const data = resolve(schema, schemas).properties?.data;
  return data === undefined ? undefined : `data: ${describeType(data)}`;
}

function describeType(schema: SchemaObject): string {
  const { $ref, type, format, items, anyOf, allOf } = schema;
  if ($ref !== undefined) return $ref.split("/").at(-1) ?? "";
  if (schema.enum !== undefined) return schema.enum.map(String).join(" | ");
  if (anyOf !== undefined) return anyOf.map(describeType).join(" or ");
  if (allOf !== undefined) return allOf.map(describeType).join(" and ");
  if (type === "array") return `list of ${describeType(items ?? {})}`;
  if (format === "date-time") return "time";
  if (Array.isArray(type)) return type.join(" or ");
  return type ?? "anything";
}
