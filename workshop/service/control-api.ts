import { Hono } from "hono";
import { z } from "zod";
import { AppError, httpStatusOf } from "../../src/core/errors.ts";
import { accountInput, subscriptionInput } from "./accounts.ts";
import { fireInput } from "./alarm.ts";
import { readBody, readQuery, refuse, type SandboxContext, type SandboxEnv } from "./answers.ts";
import { faultSchema } from "./faults.ts";
import { notificationShapes } from "./options.ts";
import type { ServiceSandbox } from "./service.ts";
import { notificationStates } from "./state.ts";

/**
 * Under `/_sandbox`, for tests and people. Changes need the content type of JSON, so a page of another site cannot make
 * them. `needsKey`: the sandbox listens beyond this machine.
 */
export function createControlApi(sandbox: ServiceSandbox, options: { needsKey: boolean }): Hono<SandboxEnv> {
  const { accounts, alarm, faults } = sandbox;
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
  app.get("/faults", (context) => context.json({ data: faults.pending() }));
  app.delete("/faults", (context) => {
    faults.clear();
    return context.json({ data: [] });
  });
  const post = <T>(path: string, schema: z.ZodType<T>, act: (body: T) => unknown) =>
    app.post(path, async (context: SandboxContext) => {
      const body = await readBody(context, schema);
      if (body instanceof Response) return body;
      const data = act(body) ?? null;
      await sandbox.save();
      return context.json({ data });
    });

  post("/faults", faultSchema, faults.next);
  post("/fire", fireInput, (input) => alarm.fire(input));
  post("/storm", stormBody, ({ count, accountId }) => ({ fired: alarm.storm(count, accountId).length }));
  post("/shape", z.strictObject({ shape: z.enum(notificationShapes) }), ({ shape }) => sandbox.setShape(shape));
  post("/accounts", accountInput, (input) => ({ id: accounts.createAccount(input).id }));
  post("/keys", keyBody, ({ accountId, key, expiresAt }) => accounts.setKey(key, expiresAt, accountId));
  post("/subscriptions", subscriptionInput, (input) => accounts.subscribe(input));
  post("/move", moveBody, ({ metricKey, percent, forMs }) => sandbox.moveMetric(metricKey, percent, forMs));
  return app;
}

const deliveriesQuery = z.object({
  state: z.enum(notificationStates).optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

const accountId = z.string().optional();
const stormBody = z.strictObject({ count: z.int().min(1).max(100_000), accountId });
const keyBody = z.strictObject({ accountId, key: z.string().min(1), expiresAt: z.number() });
const moveBody = z.strictObject({
  metricKey: z.string(),
  percent: z.number().min(-99.9).max(10_000),
  forMs: z.int().positive(),
});
