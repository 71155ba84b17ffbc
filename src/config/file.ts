import { z } from "zod";
import { destinationNames, destinationSchema } from "./destinations.ts";
import { inhibitSchema } from "./grouping.ts";
import { destinationName, routeSchema } from "./routes.ts";
import {
  canarySchema,
  defaultsSchema,
  deliverySchema,
  heartbeatSchema,
  intakeSchema,
  mappingSchema,
  marketSchema,
  muteSchema,
  retentionSchema,
  silenceSchema,
  watchSchema,
} from "./sections.ts";
import { sourceSchema } from "./sources.ts";

type Json = Readonly<Record<string, unknown>>;

/** The whole `tocsin.yaml`, for its descriptions. The file itself is read section by section. */
export const fileSchema = () =>
  z.strictObject({
    defaults: defaultsSchema.nullish(),
    destinations: z.record(z.string().regex(destinationNames), destinationSchema).nullish(),
    routes: z.array(routeSchema()).nullish(),
    mutes: z.array(muteSchema).nullish(),
    inhibit: z.array(inhibitSchema).nullish(),
    intake: intakeSchema.nullish(),
    mapping: mappingSchema.nullish(),
    delivery: deliverySchema.nullish(),
    retention: retentionSchema.nullish(),
    watch: watchSchema.nullish(),
    market: marketSchema.nullish(),
    heartbeat: heartbeatSchema.nullish(),
    silence: silenceSchema.nullish(),
    canary: canarySchema(destinationName()).optional(),
    sources: z.record(z.string().regex(/^[a-z0-9][a-z0-9_-]{0,39}$/), sourceSchema.nullable()).nullish(),
  });

/** For editors. Accepts all that `check` accepts. It cannot check lengths of times, references, patterns and paths. */
export function configJsonSchema(): Json {
  const json = z.toJSONSchema(fileSchema(), { io: "input", unrepresentable: "any" });
  return { ...forEditors(json), title: "tocsin.yaml" };
}

/** Moves our own keywords for the documents into the description, without Markdown. */
function forEditors(json: Json): Json {
  const { short, bounds, otherwise, secret, secretKeys, kind, description, default: byDefault, ...rules } = json;
  const says = [description, bounds, otherwise && `Default: ${otherwise}`].filter(
    (part) => part !== undefined && part !== "",
  );
  const words = says
    .join(". ")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("`", "");
  const inner = Object.fromEntries(
    Object.entries(rules).map(([key, value]) => [key, isSchemas(key) ? mapValues(value) : ofAny(value)]),
  );
  return {
    ...(words !== "" && { description: words }),
    ...(byDefault !== undefined && { default: byDefault }),
    ...(short === undefined ? inner : { anyOf: [ofAny(short), inner] }),
  };
}

const isSchemas = (key: string) => ["properties", "patternProperties", "$defs"].includes(key);

function mapValues(schemas: unknown): Json {
  return Object.fromEntries(Object.entries(Object(schemas)).map(([name, json]) => [name, ofAny(json)]));
}

function ofAny(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ofAny);
  return typeof value === "object" && value !== null ? forEditors(value as Json) : value;
}
