import type { Hono } from "hono";
import type { ApiDocument, OperationObject, SchemaObject } from "../../contract/openapi.ts";
import type { Cell, Panel, Section } from "../../panels/panel.ts";
import { aside, foldOf, groupOf, paragraph, tableOf } from "../../panels/sections.ts";
import { systemPanel } from "../../panels/system.ts";
import type { PageDeps, WebEnv } from "../web-env.ts";
import { addPanelPage } from "./panel-page.tsx";

/** `GET /system`: versions, configuration, disk, health. `GET /api`: the OpenAPI document as a page. */
export function addSystemPages(app: Hono<WebEnv>, deps: PageDeps, document: () => ApiDocument): void {
  addPanelPage(app, deps, "/system", async () => {
    const [status, system] = await Promise.all([deps.operations.status(), deps.operations.system()]);
    return [
      ...systemPanel(status, system),
      { kind: "acts", title: "This browser", id: "browser-title", acts: [{ label: "Log out", post: "/logout" }] },
      aside`${{ code: "tocsin status" }} and ${{ code: "GET /api/status" }} say the same; ${{ code: "tocsin doctor" }}
        also asks the alerting service and each destination.`,
    ];
  });
  addPanelPage(app, deps, "/api", () => apiPanel(document(), deps.publicUrl));
}

function apiPanel({ paths, components }: ApiDocument, publicUrl: string): Panel {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationSection(method.toUpperCase(), path, operation)),
  );
  return [
    paragraph`Answers hold their content in ${{ code: "data" }}, failures in ${{ code: "error" }} with
      ${{ code: "code" }}, ${{ code: "message" }} and often a ${{ code: "hint" }}. Times are ISO 8601 in UTC. Scripts
      send the admin token. The same as a document for tools: ${{ link: "/api/openapi.json", text: "openapi.json" }}.`,
    {
      kind: "block",
      text: `curl -sS '${publicUrl}/api/alerts?severity=critical&limit=10' \\\n  -H "Authorization: Bearer $ADMIN_TOKEN"`,
    },
    ...operations,
    groupOf(
      { title: "Shapes" },
      Object.entries(components.schemas).map(([name, schema]) =>
        foldOf({ summary: name, id: `shape-${name}` }, [fieldTable(fieldsOf(schema))]),
      ),
    ),
  ];
}

function operationSection(method: string, path: string, operation: OperationObject): Section {
  const { summary, description = "", parameters, requestBody, responses } = operation;
  const body = fieldsOf(contentOf(requestBody));
  return groupOf({ title: [{ words: `${method} ` }, { code: path }] }, [
    { kind: "text", text: [{ bold: { words: `${summary}.` } }, { words: " " }, wordsOf(description)] },
    fieldTable(parameters),
    body.length > 0 && { kind: "text", text: { bold: { words: "Body (JSON)" } } },
    fieldTable(body),
    {
      kind: "list",
      items: Object.entries(responses).map(([status, answer]) => {
        const { data } = contentOf(answer).properties ?? {};
        const isSuccess = status.startsWith("2") && data !== undefined;
        return [
          { code: status },
          { words: " " },
          wordsOf(answer.description),
          isSuccess && { words: ` data: ${describeType(data)}` },
        ];
      }),
    },
  ]);
}

type Field = Pick<OperationObject["parameters"][number], "name" | "required" | "description" | "schema">;

function fieldsOf({ properties = {}, required = [] }: SchemaObject): Field[] {
  return Object.entries(properties).map(([name, schema]) => {
    return { name, required: required.includes(name), description: schema.description, schema };
  });
}

const contentOf = (holder: Pick<OperationObject["responses"][string], "content"> = {}): SchemaObject =>
  holder.content?.["application/json"]?.schema ?? {};

const fieldTable = (fields: readonly Field[]) =>
  tableOf(
    fields,
    {
      name: ({ name, required }) => [{ code: name }, !required && { words: " optional" }],
      type: ({ schema }) => ({ words: describeType(schema) }),
      meaning: ({ description }) => description !== undefined && wordsOf(description),
    },
    { keep: [] },
  );

/** Text in back-quotes is code. */
const wordsOf = (text: string): Cell =>
  text.split("`").map((part, index) => (index % 2 === 1 ? { code: part } : { words: part }));

function describeType(schema: SchemaObject): string {
  const { $ref, type = "anything", enum: choices, const: only, format, items, anyOf } = schema;
  if ($ref !== undefined) return $ref.split("/").at(-1) ?? "";
  if (only !== undefined) return String(only);
  if (choices !== undefined) return choices.map(String).join(" | ");
  if (anyOf !== undefined) return anyOf.map(describeType).join(" or ");
  if (type === "array") return `list of ${describeType(items ?? {})}`;
  if (format === "date-time") return "time";
  return Array.isArray(type) ? type.join(" or ") : type;
}
