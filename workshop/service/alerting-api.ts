import { Hono } from "hono";
import { z } from "zod";
import type { Caller } from "./accounts.ts";
import { metricNames, unitOfMetric } from "./alarm.ts";
import { addReads, listParameter, readBody, refuse, requiredParameter, type SandboxEnv } from "./answers.ts";
import type { Metric } from "./catalogue.ts";
import type { Gate } from "./gate.ts";
import { averageByBucket, listRecords, type Market, parseGranularity } from "./market.ts";
import type { ServiceSandbox } from "./service.ts";
import type { SandboxAccount } from "./state.ts";

/** Section 8: at most 100 metrics per page. */
const pageSize = 100;

/** Sections 4.6 to 4.12. */
export function createAlertingApi(sandbox: ServiceSandbox, gate: Gate): Hono<SandboxEnv> {
  const { accounts, catalogue, market } = sandbox;
  const { now, timestampUnit, firstPage } = sandbox.settings;
  const app = new Hono<SandboxEnv>();
  const read = addReads(app, gate);
  const unitMs = timestampUnit === "seconds" ? 1000 : 1;
  const toTimestamp = (at: number) => Math.floor(at / unitMs);
  const refuseChain = (chainId: string) =>
    refuse(400, `Unsupported chainId ${chainId}: use one of ${catalogue.chainIds.join(", ")}`);

  app.get("/account", gate("GET /account"), (context) => {
    const { account, keyHash, expiresAt }: Caller = context.var.caller;
    const data = {
      ...{ id: account.id, accountName: account.accountName, alertOutputs: describeOutputs(account) },
      apiKeyHash: keyHash,
      // The table says number, the sample shows a string; the sandbox follows the sample.
      apiKeyExpirationTimestamp: String(toTimestamp(expiresAt)),
      ...{ createdAt: toIso(account.createdAt), updatedAt: toIso(account.updatedAt) },
    };
    return context.json({ message: "authorized", data });
  });
  app.put("/account", gate("PUT /account"), async (context) => {
    const change = await readBody(context, outputsBody);
    if (change instanceof Response) return change;
    const { account } = context.var.caller;
    accounts.updateOutputs(account, change);
    await sandbox.save();
    return context.json({ data: { alertOutputs: describeOutputs(account), message: "Alert outputs updated" } });
  });

  const metricsQuery = z.object({
    chainId: requiredParameter("chainId"),
    page: requiredParameter("page")
      .regex(/^\d{1,9}$/, { error: "must be a whole number" })
      .transform(Number)
      .refine((page) => page >= firstPage, { error: `must be ${firstPage} or more` }),
    ...{ tokenAddresses: listParameter, poolAddresses: listParameter, keys: listParameter },
  });
  read("/metrics", metricsQuery, ({ chainId, page, ...filter }) => {
    const metrics = catalogue.listMetrics(chainId, filter, (page - firstPage) * pageSize, pageSize);
    return metrics?.map((metric) => describeMetric(market, metric, now())) ?? refuseChain(chainId);
  });

  read("/metrics/records/range", historyQuery, ({ key, fromTimestamp, toTimestamp: to, granularity }) => {
    if (fromTimestamp !== undefined && to !== undefined && fromTimestamp > to) {
      return refuse(400, "query parameter fromTimestamp: is after toTimestamp");
    }
    const bucketMs = granularity === undefined ? undefined : parseGranularity(granularity);
    if (granularity !== undefined && bucketMs === undefined) {
      return refuse(400, "query parameter granularity: use a form such as 5m, 1h or 1d, at most 7d");
    }
    const metric = catalogue.findMetric(key);
    if (metric === undefined) return refuse(404, `No metric has the key ${key}`);
    const toAt = (timestamp: number | undefined) => (timestamp === undefined ? undefined : timestamp * unitMs);
    const records = listRecords(market, metric, { fromAt: toAt(fromTimestamp), toAt: toAt(to), now: now() });
    const points = bucketMs === undefined ? records : averageByBucket(records, bucketMs);
    return { key, points: points.map(({ at, value }) => ({ timestamp: toTimestamp(at), value })) };
  });

  const tokensQuery = z.object({ chainId: requiredParameter("chainId"), addresses: listParameter });
  read("/tokens", tokensQuery, ({ chainId, addresses }) => {
    const tokens = catalogue.listTokens(chainId, addresses);
    const describe = ({ address, symbol, name, decimals }: NonNullable<typeof tokens>[number]) => {
      return { chainId, address, symbol, name, decimals };
    };
    return tokens?.map(describe) ?? refuseChain(chainId);
  });

  read("/users", z.object({ ids: listParameter }), ({ ids }, context) =>
    context.var.caller.account.users
      .filter(({ id }) => ids?.includes(id) ?? true)
      .map((user) => ({ ...user, createdAt: toIso(user.createdAt) })),
  );

  read("/subscriptions", z.object({ userIds: listParameter }), ({ userIds }, context) =>
    context.var.caller.account.subscriptions
      .filter(({ userId }) => userIds?.includes(userId) ?? true)
      .flatMap(({ isFiring, changedAt: _changedAt, createdAt, ...facts }) => {
        const metric = catalogue.findMetric(facts.metricKey);
        if (metric === undefined) return [];
        const subscription = { ...facts, status: isFiring ? "firing" : "ok", createdAt: toIso(createdAt) };
        return [{ subscription, metric: describeMetric(market, metric, now()) }];
      }),
  );
  return app;
}

const toIso = (at: number) => new Date(at).toISOString();

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

const timestampParameter = z.coerce.number({ error: "must be a Unix timestamp" }).min(0).optional();
const historyQuery = z.object({
  key: requiredParameter("key"),
  fromTimestamp: timestampParameter,
  toTimestamp: timestampParameter,
  granularity: z.string().optional(),
});

/** Section 2 does not document the fields of a metric. These help people. */
function describeMetric(market: Market, metric: Metric, at: number) {
  const { key, kind, chainId, token, pool } = metric;
  return {
    ...{ key, name: `${token.symbol} ${metricNames[kind]}`, type: kind, chainId, unit: unitOfMetric(metric) },
    ...{ tokenAddress: token.address, tokenSymbol: token.symbol },
    ...(pool && { poolAddress: pool.address, protocol: pool.protocol, quoteSymbol: pool.quote.symbol }),
    ...{ value: market.metricValue(metric, at), updatedAt: toIso(at) },
  };
}
