import type { Hono } from "hono";
import type { ApiDocument } from "../../contract/openapi.ts";
import { type ApiOperation, type ApiSchema, listApiOperations, listApiSchemas } from "../api/describe.ts";
import type { WebEnv } from "../web-env.ts";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { CodeBlock, HeadRow, Layout } from "./layout.tsx";

/** `GET /api`: the OpenAPI document as a page of our own; nothing is loaded from elsewhere. */
export function addApiPage(app: Hono<WebEnv>, deps: PageDeps, document: () => ApiDocument): void {
  app.get("/api", (c) => {
    const operations = listApiOperations(document());
    const schemas = listApiSchemas(document());
    return c.render(
      <ApiPage frame={frameOf(c, deps)} publicUrl={deps.publicUrl} operations={operations} schemas={schemas} />,
    );
  });
}

interface ApiPageProps {
  frame: Frame;
  publicUrl: string;
  operations: ApiOperation[];
  schemas: ApiSchema[];
}

function ApiPage({ frame, publicUrl, operations, schemas }: ApiPageProps) {
  return (
    <Layout frame={frame} at="/api">
      <p>
        Answers hold their content in <code>data</code>, failures in <code>error</code> with <code>code</code>,{" "}
        <code>message</code> and often a <code>hint</code>. Times are ISO 8601 in UTC. Scripts send the admin token. The
        same as a document for tools: <a href="/api/openapi.json">openapi.json</a>.
      </p>
      <CodeBlock
        text={`curl -sS '${publicUrl}/api/alerts?severity=critical&limit=10' \\\n  -H "Authorization: Bearer $ADMIN_TOKEN"`}
      />
      {operations.map((operation) => (
        <Operation operation={operation} />
      ))}
      <h2>Shapes</h2>
      {schemas.map(({ name, fields }) => (
        <details class="shape" id={`shape-${name}`}>
          <summary>
            <code>{name}</code>
          </summary>
          <FieldTable fields={fields} />
        </details>
      ))}
    </Layout>
  );
}

function Operation({ operation }: { operation: ApiOperation }) {
  return (
    <section class="operation">
      <h2>
        <span class="method">{operation.method}</span> <code>{operation.path}</code>
      </h2>
      <p>
        <b>{operation.summary}.</b> <Words text={operation.description} />
      </p>
      {operation.parameters.length > 0 && <FieldTable fields={operation.parameters} />}
      {operation.body.length > 0 && (
        <>
          <h3>Body (JSON)</h3>
          <FieldTable fields={operation.body} />
        </>
      )}
      <ul class="answers">
        {operation.answers.map(({ status, description, shape }) => (
          <li>
            <code>{status}</code> <Words text={description} />
            {shape !== undefined && <span class="soft"> {shape}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function FieldTable({ fields }: { fields: ApiSchema["fields"] }) {
  return (
    <div class="wide">
      <table class="fields">
        <HeadRow names={["Name", "Type", "Meaning"]} />
        <tbody>
          {fields.map(({ name, type, isRequired, description }) => (
            <tr>
              <td>
                <code>{name}</code>
                {!isRequired && <span class="soft"> optional</span>}
              </td>
              <td>{type}</td>
              <td>
                <Words text={description} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What stands in back-quotes is code. */
function Words({ text }: { text: string }) {
  return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</>;
}
