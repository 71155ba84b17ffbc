import { Hono } from "hono";
import { z } from "zod";
import { AppError, httpStatusOf } from "../../src/core/errors.ts";
import { readBody, readQuery, refuse, type SandboxContext, type SandboxEnv } from "./answers.ts";
import { faultSchema } from "./faults.ts";
import { notificationShapes } from "./options.ts";
import type { ServiceSandbox } from "./service.ts";
import { conditionSchema, notificationStates, severitySchema } from "./state.ts";

/**
 * Under `/_sandbox`, for tests and people. Changes need the content type of JSON, so a page of another site cannot make
 * them. `needsKey`: the sandbox listens beyond this machine.
 */
export function createControlApi(sandbox: ServiceSandbox, options: { needsKey: boolean }): Hono<SandboxEnv> {
  const app = new Hono<SandboxEnv>();
  app.use(async (context, next) => {
    if (options.needsKey && context.req.header("authorization") !== sandbox.apiKey) {
      return refuse(401, "Send the sandbox's key as the value of the authorization header");
    }
    const isJson = context.req.header("content-type")?.split(";")[0]?.trim() === "application/json";
    if (context.req.method === "POST" && !isJson) return refuse(415, "Send content-type: application/json");
    return await next();
  });
  app.onError((error) => {
    if (!(error instanceof AppError)) throw error;
    const hint = error.hint === undefined ? "" : ` (${error.hint})`;
    return refuse(httpStatusOf(error.code), `${error.message}${hint}`);
  });

  app.get("/", (context) => context.json({ data: sandbox.describe() }));
  app.get("/deliveries", (context) => {
    const query = readQuery(context, deliveriesQuery);
    return query instanceof Response ? query : context.json({ data: sandbox.listNotifications(query) });
  });
  app.get("/faults", (context) => context.json({ data: sandbox.faults.pending() }));
  app.delete("/faults", (context) => {
    sandbox.faults.clear();
    return context.json({ data: [] });
  });
  const post = <T>(path: string, schema: z.ZodType<T>, act: (body: T) => unknown) =>
    app.post(path, async (context: SandboxContext) => {
      const body = await readBody(context, schema);
      return body instanceof Response ? body : context.json({ data: (await act(body)) ?? null });
    });

  post("/faults", faultSchema, sandbox.faults.next);
  post("/fire", fireBody, (input) => sandbox.fire(input));
  post("/storm", stormBody, ({ count, accountId }) => ({ fired: sandbox.storm(count, accountId).length }));
  post("/shape", z.strictObject({ shape: z.enum(notificationShapes) }), ({ shape }) => sandbox.setShape(shape));
  post("/accounts", accountBody, (input) => sandbox.createAccount(input));
  post("/keys", keyBody, ({ accountId, key, expiresAt }) => sandbox.setKey(key, expiresAt, accountId));
  post("/subscriptions", subscriptionBody, (input) => sandbox.subscribe(input));
  post("/move", moveBody, ({ metricKey, percent, forMs }) => sandbox.moveMetric(metricKey, percent, forMs));
  return app;
}

const deliveriesQuery = z.object({
  state: z.enum(notificationStates).optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

const accountId = z.string().optional();
const fireBody = z.strictObject({
  accountId,
  metricKey: z.string().optional(),
  status: z.enum(["firing", "resolved"]).optional(),
  severity: severitySchema.optional(),
  value: z.number().optional(),
  previousValue: z.number().optional(),
  threshold: z.number().optional(),
  condition: z.string().max(100).optional(),
});
const stormBody = z.strictObject({ count: z.int().min(1).max(100_000), accountId });
const accountBody = z.strictObject({
  accountName: z.string().min(1).default("Another account"),
  key: z.string().min(1),
  expiresAt: z.number().optional(),
  userNames: z.array(z.string()).optional(),
});
const keyBody = z.strictObject({ accountId, key: z.string().min(1), expiresAt: z.number() });
const subscriptionBody = z.strictObject({
  accountId,
  userId: z.string().optional(),
  metricKey: z.string(),
  condition: conditionSchema,
  severity: severitySchema.optional(),
});
const moveBody = z.strictObject({
  metricKey: z.string(),
  percent: z.number().min(-99.9).max(10_000),
  forMs: z.int().positive(),
});
