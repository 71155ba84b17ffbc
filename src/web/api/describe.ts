import type { ApiDocument, OperationObject, SchemaObject } from "../../contract/openapi.ts";

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
export function listApiOperations({ paths }: ApiDocument): ApiOperation[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { summary, description = "", parameters, requestBody, responses }]) => ({
      method: method.toUpperCase(),
      path,
      summary,
      description,
      parameters: parameters.map(({ name, required, schema, description = "" }) => ({
        name,
        type: describeType(schema),
        isRequired: required,
        description,
      })),
      body: fieldsOf(contentOf(requestBody)),
      answers: Object.entries(responses).map(([status, answer]) => ({
        status,
        description: answer.description,
        shape: status.startsWith("2") ? describeData(contentOf(answer)) : undefined,
      })),
    })),
  );
}

/** The named shapes. */
export function listApiSchemas({ components }: ApiDocument): ApiSchema[] {
  return Object.entries(components.schemas).map(([name, schema]) => ({ name, fields: fieldsOf(schema) }));
}

function contentOf(holder: Pick<OperationObject["responses"][string], "content"> = {}): SchemaObject {
  return holder.content?.["application/json"]?.schema ?? {};
}

function fieldsOf({ properties = {}, required = [] }: SchemaObject): ApiField[] {
  return Object.entries(properties).map(([name, field]) => ({
    name,
    type: describeType(field),
    isRequired: required.includes(name),
    description: field.description ?? "",
  }));
}

/** `data: list of Alert` for the wrapper that answers have. */
function describeData({ properties }: SchemaObject): string | undefined {
  return properties?.data && `data: ${describeType(properties.data)}`;
}

function describeType({
  $ref,
  type = "anything",
  enum: choices,
  const: only,
  format,
  items,
  anyOf,
}: SchemaObject): string {
  if ($ref !== undefined) return $ref.split("/").at(-1) ?? "";
  if (only !== undefined) return String(only);
  if (choices !== undefined) return choices.map(String).join(" | ");
  if (anyOf !== undefined) return anyOf.map(describeType).join(" or ");
  if (type === "array") return `list of ${describeType(items ?? {})}`;
  if (format === "date-time") return "time";
  return Array.isArray(type) ? type.join(" or ") : type;
}
