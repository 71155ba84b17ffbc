import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import { z } from "zod";
import { readJson } from "../../src/ground/text/read-json.ts";
import type { Caller } from "./accounts.ts";
import type { Gate } from "./gate.ts";

export interface SandboxEnv {
  Bindings: HttpBindings;
  Variables: { caller: Caller };
}
export type SandboxContext = Context<SandboxEnv>;

/** Section 7 documents no body of an error: status, reason and a sentence, as in many services. */
export function refuse(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ statusCode: status, message }, { status, headers });
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
  return check("query parameter", schema, context.req.query());
}

/** The JSON body by the schema, or the 400. An absent body is refused too, as it is no JSON. */
export async function readBody<T>(context: SandboxContext, schema: z.ZodType<T>): Promise<T | Response> {
  const value = readJson(await context.req.text());
  return value === undefined ? refuse(400, "The body is not JSON") : check("body", schema, value);
}

function check<T>(where: string, schema: z.ZodType<T>, value: unknown): T | Response {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const issues = error.issues.map(({ path, message }) => `${[where, path.join(".")].join(" ").trim()}: ${message}`);
  return refuse(400, issues.join("; "));
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
