import { Hono } from "hono";
import { z } from "zod";
import { AppError, httpStatusOf } from "../../src/core/errors.ts";
import { readBody, readQuery, refuse, type SandboxContext, type SandboxEnv } from "./answers.ts";
import { faultSchema } from "./faults.ts";
import { notificationShapes } from "./options.ts";
import type { ServiceSandbox } from "./service.ts";
import { conditionSchema, notificationStates, type SandboxNotification, severitySchema } from "./state.ts";
import type { World } from "./world.ts";

/**
 * What a test or a person does to the sandbox, under `/_sandbox`. It is no part of the service's interface.
 *
 * A page of another site cannot reach it: what changes something takes JSON by its content type, which a browser asks
 * about first and gets no permission for. `needsKey` is set when the sandbox listens beyond this machine.
 */
export function createControlApi(controls: () => Controls, options: { needsKey: boolean }): Hono<SandboxEnv> {
  const app = new Hono<SandboxEnv>();

  app.use(async (context, next) => {
    if (options.needsKey && context.req.header("authorization") !== controls().apiKey) {
      return refuse(401, "Send the sandbox's key as the value of the authorization header");
    }
    const isJson = context.req.header("content-type")?.split(";")[0]?.trim() === "application/json";
    if (context.req.method === "POST" && !isJson) {
      return refuse(415, "Send content-type: application/json");
    }
    return await next();
  });
  app.onError((error) => {
    if (!(error instanceof AppError)) throw error;
    const hint = error.hint === undefined ? "" : ` (${error.hint})`;
    return refuse(httpStatusOf(error.code), `${error.message}${hint}`);
  });

  app.get("/", (context) => context.json({ data: controls().describe() }));
  app.get("/deliveries", (context) => {
    const query = readQuery(context, deliveriesQuery);
    return query instanceof Response ? query : context.json({ data: controls().listNotifications(query) });
  });
  app.get("/faults", (context) => context.json({ data: controls().listFaults() }));
  app.delete("/faults", (context) => {
    controls().clearFaults();
    return context.json({ data: [] });
  });
  const post = <T>(path: string, schema: z.ZodType<T>, act: (body: T) => unknown) =>
    app.post(path, async (context: SandboxContext) => {
      const body = await readBody(context, schema);
      return body instanceof Response ? body : context.json({ data: (await act(body)) ?? null });
    });

  post("/faults", faultSchema, (fault) => controls().addFault(fault));
  post("/fire", fireBody, (input) => controls().fire(input));
  post("/storm", stormBody, ({ count, accountId }) => ({ fired: controls().storm(count, accountId).length }));
  post("/shape", z.strictObject({ shape: z.enum(notificationShapes) }), ({ shape }) => controls().setShape(shape));
  post("/accounts", accountBody, (input) => controls().createAccount(input));
  post("/keys", keyBody, ({ accountId, key, expiresAt }) => controls().setKey(key, expiresAt, accountId));
  post("/subscriptions", subscriptionBody, (input) => controls().subscribe(input));
  post("/move", moveBody, ({ metricKey, percent, forMs }) => controls().moveMetric(metricKey, percent, forMs));
  return app;
}

const deliveriesQuery = z.object({
  state: z.enum(notificationStates).optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

const fireBody = z.strictObject({
  accountId: z.string().optional(),
  metricKey: z.string().optional(),
  status: z.enum(["firing", "resolved"]).optional(),
  severity: severitySchema.optional(),
  value: z.number().optional(),
  previousValue: z.number().optional(),
  threshold: z.number().optional(),
  condition: z.string().max(100).optional(),
});

const stormBody = z.strictObject({
  count: z.number().int().min(1).max(100_000),
  accountId: z.string().optional(),
});

const accountBody = z.strictObject({
  accountName: z.string().min(1).default("Another account"),
  key: z.string().min(1),
  /** Epoch milliseconds. */
  expiresAt: z.number().optional(),
  userNames: z.array(z.string()).optional(),
});

const keyBody = z.strictObject({
  accountId: z.string().optional(),
  key: z.string().min(1),
  expiresAt: z.number(),
});

const subscriptionBody = z.strictObject({
  accountId: z.string().optional(),
  userId: z.string().optional(),
  metricKey: z.string(),
  condition: conditionSchema,
  severity: severitySchema.optional(),
});

const moveBody = z.strictObject({
  metricKey: z.string(),
  percent: z.number().min(-99.9).max(10_000),
  forMs: z.number().int().positive(),
});

/** What a test, a person or the control interface does to a running sandbox. */
export type Controls = Omit<ServiceSandbox, "close" | "showLinks">;

export function createControls(world: World, url: string): Controls {
  const { state, accounts, alarm, catalogue, faults, notifier } = world;
  const alertingUrl = `${url}/alerting`;
  const pricingUrl = `${url}/pricing`;

  return {
    url,
    alertingUrl,
    pricingUrl,
    apiKey: state.apiKey,
    describe: () => ({
      alertingUrl,
      pricingUrl,
      metricCount: catalogue.metricCount,
      chainIds: catalogue.chainIds,
      shape: state.shape,
      accounts: state.accounts.map((account) => ({
        id: account.id,
        accountName: account.accountName,
        users: account.users.length,
        subscriptions: account.subscriptions.length,
        firing: account.subscriptions.filter((subscription) => subscription.isFiring).length,
      })),
      notifications: countStates(state.notifications),
      waiting: world.timeline.waiting(),
      trouble: world.trouble(),
    }),
    listNotifications: ({ state: wanted, limit = 100 } = {}) =>
      state.notifications
        .filter((notification) => wanted === undefined || notification.state === wanted)
        .slice(-limit)
        .reverse()
        .map((notification) => structuredClone(notification)),
    fire: alarm.fire,
    storm: alarm.storm,
    addFault: faults.add,
    listFaults: faults.list,
    clearFaults: faults.clear,
    setShape(shape) {
      state.shape = shape;
      world.changed();
    },
    async createAccount(input) {
      if (accounts.findByKey(input.key) !== undefined) {
        throw new AppError("conflict", "Another account has this key", {
          hint: "Give each account its own key",
        });
      }
      const { id } = accounts.createAccount(input);
      await world.save();
      return { id };
    },
    async setKey(key, expiresAt, accountId) {
      accounts.setKey(accounts.getAccount(accountId).id, key, expiresAt);
      await world.save();
    },
    async subscribe(input) {
      const subscription = accounts.subscribe(input);
      await world.save();
      return { ...subscription };
    },
    moveMetric(metricKey, percent, forMs) {
      if (catalogue.findMetric(metricKey) === undefined) {
        throw new AppError("not_found", `The sandbox has no metric ${metricKey}`);
      }
      const fromAt = world.now();
      // Old pushes stay while the history that shows them does.
      state.nudges = state.nudges.slice(-99);
      state.nudges.push({ metricKey, factor: 1 + percent / 100, fromAt, untilAt: fromAt + forMs });
      world.changed();
    },
    tick: world.tick,
    settled: notifier.settled,
  };
}

function countStates(notifications: SandboxNotification[]): Record<SandboxNotification["state"], number> {
  const counts = { pending: 0, delivered: 0, failed: 0, cancelled: 0 };
  for (const { state } of notifications) counts[state] += 1;
  return counts;
}
