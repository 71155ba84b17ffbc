import { Hono } from "hono";
import { z } from "zod";
import type { Now } from "../../src/core/clock.ts";
import type { Accounts, Caller } from "./accounts.ts";
import { metricNames, unitOfMetric } from "./alarm.ts";
import {
  listParameter,
  readBody,
  readQuery,
  refuse,
  requiredParameter,
  type SandboxContext,
  type SandboxEnv,
} from "./answers.ts";
import type { Catalogue, Metric, Token } from "./catalogue.ts";
import type { Gate } from "./gate.ts";
import { averageByBucket, listRecords, type Market, parseGranularity } from "./market.ts";
import type { TimestampUnit } from "./options.ts";
import type { SandboxAccount } from "./state.ts";

/** Section 8: at most 100 metrics per page. */
const pageSize = 100;

export interface AlertingDeps {
  accounts: Accounts;
  catalogue: Catalogue;
  market: Market;
  now: Now;
  save: () => Promise<void>;
}

export interface AlertingOptions {
  timestampUnit: TimestampUnit;
  firstPage: 0 | 1;
}

/** Sections 4.6 to 4.12. */
export function createAlertingApi(deps: AlertingDeps, gate: Gate, options: AlertingOptions): Hono<SandboxEnv> {
  const app = new Hono<SandboxEnv>();
  app.get("/account", gate("GET /account"), (context) =>
    context.json({ message: "authorized", data: describeAccount(context.var.caller, options) }),
  );
  app.put("/account", gate("PUT /account"), (context) => setOutputs(deps, context));
  app.get("/metrics", gate("GET /metrics"), (context) => listMetrics(deps, options, context));
  app.get("/metrics/records/range", gate("GET /metrics/records/range"), (context) =>
    readHistory(deps, options, context),
  );
  app.get("/tokens", gate("GET /tokens"), (context) => listTokens(deps, context));
  app.get("/users", gate("GET /users"), (context) => listUsers(context));
  app.get("/subscriptions", gate("GET /subscriptions"), (context) => listSubscriptions(deps, context));
  return app;
}

function describeAccount({ account, keyHash, expiresAt }: Caller, options: AlertingOptions) {
  return {
    id: account.id,
    accountName: account.accountName,
    alertOutputs: describeOutputs(account),
    apiKeyHash: keyHash,
    // The table says number, the sample shows a string; the sandbox follows the sample.
    apiKeyExpirationTimestamp: String(toTimestamp(expiresAt, options)),
    createdAt: new Date(account.createdAt).toISOString(),
    updatedAt: new Date(account.updatedAt).toISOString(),
  };
}

function describeOutputs({ webhookUrl, messengerChannelId }: SandboxAccount) {
  return { webhookUrl, messengerChannelId };
}

const outputsBody = z.object({
  webhookUrl: z
    .url({ protocol: /^https?$/, error: "must be an http or https URL, or null to disable the webhook" })
    .nullable()
    .optional(),
  messengerChannelId: z
    .string({ error: "must be a string that starts with -, or null to disable the channel" })
    .regex(/^-./, { error: "must start with -" })
    .nullable()
    .optional(),
});

async function setOutputs(deps: AlertingDeps, context: SandboxContext): Promise<Response> {
  const change = await readBody(context, outputsBody);
  if (change instanceof Response) return change;
  const { account } = context.var.caller;
  deps.accounts.updateOutputs(account, change);
  await deps.save();
  return context.json({ data: { alertOutputs: describeOutputs(account), message: "Alert outputs updated" } });
}

function listMetrics(deps: AlertingDeps, options: AlertingOptions, context: SandboxContext): Response {
  const query = readQuery(
    context,
    z.object({
      chainId: requiredParameter("chainId"),
      page: requiredParameter("page")
        .regex(/^\d{1,9}$/, { error: "must be a whole number" })
        .transform(Number)
        .refine((page) => page >= options.firstPage, { error: `must be ${options.firstPage} or more` }),
      tokenAddresses: listParameter,
      poolAddresses: listParameter,
      keys: listParameter,
    }),
  );
  if (query instanceof Response) return query;
  const { chainId, page, ...filter } = query;
  const metrics = deps.catalogue.listMetrics(chainId, filter, (page - options.firstPage) * pageSize, pageSize);
  if (metrics === undefined) return refuseChain(deps, chainId);
  const at = deps.now();
  return context.json({ data: metrics.map((metric) => describeMetric(deps, metric, at)) });
}

function refuseChain(deps: AlertingDeps, chainId: string): Response {
  return refuse(400, `Unsupported chainId ${chainId}: use one of ${deps.catalogue.chainIds.join(", ")}`);
}

/** Fields of a metric are not shown (section 2); these are what a person looks for. */
function describeMetric({ market }: Pick<AlertingDeps, "market">, metric: Metric, at: number) {
  return {
    key: metric.key,
    name: `${metric.token.symbol} ${metricNames[metric.kind]}`,
    type: metric.kind,
    chainId: metric.chainId,
    unit: unitOfMetric(metric),
    tokenAddress: metric.token.address,
    tokenSymbol: metric.token.symbol,
    ...(metric.pool === undefined
      ? {}
      : {
          poolAddress: metric.pool.address,
          protocol: metric.pool.protocol,
          quoteSymbol: metric.pool.quote.symbol,
        }),
    value: market.metricValue(metric, at),
    updatedAt: new Date(at).toISOString(),
  };
}

const timestampParameter = z.coerce.number({ error: "must be a Unix timestamp" }).min(0).optional();

function readHistory(deps: AlertingDeps, options: AlertingOptions, context: SandboxContext): Response {
  const query = readQuery(
    context,
    z.object({
      key: requiredParameter("key"),
      fromTimestamp: timestampParameter,
      toTimestamp: timestampParameter,
      granularity: z.string().optional(),
    }),
  );
  if (query instanceof Response) return query;
  const unitMs = options.timestampUnit === "seconds" ? 1000 : 1;
  const fromAt = query.fromTimestamp === undefined ? undefined : query.fromTimestamp * unitMs;
  const toAt = query.toTimestamp === undefined ? undefined : query.toTimestamp * unitMs;
  if (fromAt !== undefined && toAt !== undefined && fromAt > toAt) {
    return refuse(400, "query parameter fromTimestamp: is after toTimestamp");
  }
  const bucketMs = query.granularity === undefined ? undefined : parseGranularity(query.granularity);
  if (query.granularity !== undefined && bucketMs === undefined) {
    return refuse(400, "query parameter granularity: use a form such as 5m, 1h or 1d, at most 7d");
  }
  const metric = deps.catalogue.findMetric(query.key);
  if (metric === undefined) return refuse(404, `No metric has the key ${query.key}`);
  const records = listRecords(deps.market, metric, { fromAt, toAt, now: deps.now() });
  const points = bucketMs === undefined ? records : averageByBucket(records, bucketMs);
  return context.json({
    data: {
      key: metric.key,
      points: points.map(({ at, value }) => ({ timestamp: toTimestamp(at, options), value })),
    },
  });
}

function toTimestamp(at: number, options: AlertingOptions): number {
  return options.timestampUnit === "seconds" ? Math.floor(at / 1000) : Math.floor(at);
}

function listTokens(deps: AlertingDeps, context: SandboxContext): Response {
  const query = readQuery(context, z.object({ chainId: requiredParameter("chainId"), addresses: listParameter }));
  if (query instanceof Response) return query;
  const tokens = deps.catalogue.listTokens(query.chainId, query.addresses);
  if (tokens === undefined) return refuseChain(deps, query.chainId);
  return context.json({ data: tokens.map(describeToken) });
}

function describeToken({ chainId, address, symbol, name, decimals }: Token) {
  return { chainId, address, symbol, name, decimals };
}

function listUsers(context: SandboxContext): Response {
  const query = readQuery(context, z.object({ ids: listParameter }));
  if (query instanceof Response) return query;
  const users = context.var.caller.account.users.filter((user) => query.ids?.includes(user.id) ?? true);
  return context.json({
    data: users.map((user) => ({ ...user, createdAt: new Date(user.createdAt).toISOString() })),
  });
}

function listSubscriptions(deps: AlertingDeps, context: SandboxContext): Response {
  const query = readQuery(context, z.object({ userIds: listParameter }));
  if (query instanceof Response) return query;
  const at = deps.now();
  const entries = context.var.caller.account.subscriptions
    .filter((subscription) => query.userIds?.includes(subscription.userId) ?? true)
    .flatMap((subscription) => {
      const metric = deps.catalogue.findMetric(subscription.metricKey);
      if (metric === undefined) return [];
      const { isFiring, changedAt: _changedAt, createdAt, ...facts } = subscription;
      const status = isFiring ? "firing" : "ok";
      return [
        {
          subscription: { ...facts, status, createdAt: new Date(createdAt).toISOString() },
          metric: describeMetric(deps, metric, at),
        },
      ];
    });
  return context.json({ data: entries });
}
