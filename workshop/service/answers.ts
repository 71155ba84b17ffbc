import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { Caller } from "./accounts.ts";
import type { Gate } from "./gate.ts";

export interface SandboxEnv {
  Bindings: HttpBindings;
  Variables: { caller: Caller };
}
export type SandboxContext = Context<SandboxEnv>;

/** Section 7 documents no body of an error: status, reason and a sentence, as in many services. */
export function refuse(status: number, message: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ statusCode: status, message }), {
    status,
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
  });
}

/** Adds routes that answer `{ data }` for a checked query, each behind its gate. A response is sent unchanged. */
export function addReads(app: Hono<SandboxEnv>, gate: Gate) {
  return <T>(path: string, query: z.ZodType<T>, answer: (query: T, context: SandboxContext) => unknown): void => {
    app.get(path, gate(`GET ${path}`), async (context) => {
      const read = readQuery(context, query);
      const data = read instanceof Response ? read : await answer(read, context);
      return data instanceof Response ? data : context.json({ data });
    });
  };
}

/** The query by the schema, or the 400 with the faulty parameter. */
export function readQuery<T>(context: SandboxContext, schema: z.ZodType<T>): T | Response {
  const parsed = schema.safeParse(context.req.query());
  return parsed.success ? parsed.data : refuse(400, describeIssues("query parameter", parsed.error));
}

/** The JSON body by the schema, or the 400. An absent body is refused too, as it is no JSON. */
export async function readBody<T>(context: SandboxContext, schema: z.ZodType<T>): Promise<T | Response> {
  let value: unknown;
  try {
    value = JSON.parse(await context.req.text());
  } catch {
    return refuse(400, "The body is not JSON");
  }
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : refuse(400, describeIssues("body", parsed.error));
}

function describeIssues(where: string, error: z.ZodError): string {
  return error.issues
    .map((issue) => `${where}${issue.path.length > 0 ? ` ${issue.path.join(".")}` : ""}: ${issue.message}`)
    .join("; ");
}

/** Section 4.8: "list parameters carry comma-separated values". */
export const listParameter = z
  .string()
  .transform((text) =>
    text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== ""),
  )
  .optional();

export function requiredParameter(name: string) {
  const message = `${name} is required`;
  return z.string({ error: message }).min(1, { error: message });
}
