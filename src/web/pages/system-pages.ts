import type { Hono } from "hono";
import type { ApiDocument } from "../../contract/openapi.ts";
import { aside, type Cell, type Panel, paragraph, type Section } from "../../panels/panel.ts";
import { systemPanel } from "../../panels/system.ts";
import { type ApiOperation, type ApiSchema, listApiOperations, listApiSchemas } from "../api/describe.ts";
import type { WebEnv } from "../web-env.ts";
import type { PageDeps } from "./frame.ts";
import { addPanelPage } from "./panel-page.tsx";

/**
 * `GET /system`: versions, the configuration in force, throughput, disk with a forecast, and each part's health;
 * `GET /api`: the OpenAPI document as a page of our own, for which nothing is loaded from elsewhere.
 */
export function addSystemPages(app: Hono<WebEnv>, deps: PageDeps, document: () => ApiDocument): void {
  addPanelPage(app, deps, "/system", async () => {
    const [status, system] = await Promise.all([deps.operations.status(), deps.operations.system()]);
    return [
      ...systemPanel(status, system),
      { kind: "acts", title: "This browser", id: "browser-title", acts: [{ label: "Log out", post: "/logout" }] },
      aside`${{ code: "tocsin status" }} and ${{ code: "GET /api/status" }} say the same; ${{ code: "tocsin doctor" }} also asks the alerting service and each destination.`,
    ];
  });
  addPanelPage(app, deps, "/api", () => apiPanel(document(), deps.publicUrl));
}

function apiPanel(document: ApiDocument, publicUrl: string): Panel {
  return [
    paragraph`Answers hold their content in ${{ code: "data" }}, failures in ${{ code: "error" }} with ${{ code: "code" }}, ${{ code: "message" }} and often a ${{ code: "hint" }}. Times are ISO 8601 in UTC. Scripts send the admin token. The same as a document for tools: ${{ link: "/api/openapi.json", text: "openapi.json" }}.`,
    {
      kind: "block",
      text: `curl -sS '${publicUrl}/api/alerts?severity=critical&limit=10' \\\n  -H "Authorization: Bearer $ADMIN_TOKEN"`,
    },
    ...listApiOperations(document).map(operationSection),
    {
      kind: "group",
      title: "Shapes",
      panel: listApiSchemas(document).map(({ name, fields }) => ({
        kind: "fold",
        summary: name,
        id: `shape-${name}`,
        command: "",
        panel: [fieldTable(fields)],
      })),
    },
  ];
}

function operationSection(operation: ApiOperation): Section {
  const { method, path, summary, description, parameters, body, answers } = operation;
  return {
    kind: "group",
    title: [{ words: `${method} ` }, { code: path }],
    panel: [
      { kind: "text", text: [{ bold: { words: `${summary}.` } }, { words: " " }, wordsOf(description)] },
      parameters.length > 0 && fieldTable(parameters),
      body.length > 0 && { kind: "text", text: { bold: { words: "Body (JSON)" } } },
      body.length > 0 && fieldTable(body),
      {
        kind: "list",
        items: answers.map(({ status, description: words, shape }) => [
          { code: status },
          { words: " " },
          wordsOf(words),
          shape !== undefined && { words: ` ${shape}` },
        ]),
      },
    ],
  };
}

const fieldTable = (fields: ApiSchema["fields"]): Section => ({
  kind: "table",
  columns: [{ title: "name" }, { title: "type" }, { title: "meaning" }],
  rows: fields.map(({ name, type, isRequired, description }) => [
    [{ code: name }, !isRequired && { words: " optional" }],
    { words: type },
    wordsOf(description),
  ]),
});

/** What stands in back-quotes is code. */
const wordsOf = (text: string): Cell =>
  text.split("`").map((part, index) => (index % 2 === 1 ? { code: part } : { words: part }));
