import { Hono } from "hono";
import { z } from "zod";
import { parseDuration } from "../../src/ground/time/duration.ts";
import { outputsInput } from "./accounts.ts";
import { metricNames, unitOfMetric } from "./alarm.ts";
import { addReads, listParameter, readBody, refuse, requiredParameter, type SandboxEnv } from "./answers.ts";
import type { Metric } from "./catalogue.ts";
import type { Gate } from "./gate.ts";
import { averageByBucket, historyWindowMs, listRecords, type Market } from "./market.ts";
import type { ServiceSandbox } from "./service.ts";
import type { SandboxAccount } from "./state.ts";

/** Section 8: at most 100 metrics per page. */
const pageSize = 100;

/** Sections 4.6 to 4.12. */
export function createAlertingApi(sandbox: ServiceSandbox, gate: Gate): Hono<SandboxEnv> {
  const { accounts, catalogue, market } = sandbox;
  const { now } = sandbox.settings;
  const app = new Hono<SandboxEnv>();
  const read = addReads(app, gate);
  const refuseChain = (chainId: string) =>
    refuse(400, `Unsupported chainId ${chainId}: use one of ${catalogue.chainIds.join(", ")}`);

  app.get("/account", gate("GET /account"), (context) => {
    const { account, keyHash, expiresAt } = context.var.caller;
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
    const change = await readBody(context, outputsInput);
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
      .refine((page) => page >= 1, { error: "must be 1 or more" }),
    ...{ tokenAddresses: listParameter, poolAddresses: listParameter, keys: listParameter },
  });
  read("/metrics", metricsQuery, ({ chainId, page, ...filter }) => {
    const metrics = catalogue.listMetrics(chainId, filter, (page - 1) * pageSize, pageSize);
    return metrics?.map((metric) => describeMetric(market, metric, now())) ?? refuseChain(chainId);
  });

  read("/metrics/records/range", historyQuery, ({ key, fromTimestamp, toTimestamp: to, granularity }) => {
    if (fromTimestamp !== undefined && to !== undefined && fromTimestamp > to) {
      return refuse(400, "query parameter fromTimestamp: is after toTimestamp");
    }
    const metric = catalogue.findMetric(key);
    if (metric === undefined) return refuse(404, `No metric has the key ${key}`);
    const toAt = (timestamp: number | undefined) => (timestamp === undefined ? undefined : timestamp * 1000);
    const records = listRecords(market, metric, { fromAt: toAt(fromTimestamp), toAt: toAt(to), now: now() });
    const points = granularity === undefined ? records : averageByBucket(records, granularity);
    return { key, points: points.map(({ at, value }) => ({ timestamp: toTimestamp(at), value })) };
  });

  const tokensQuery = z.object({ chainId: requiredParameter("chainId"), addresses: listParameter });
  read("/tokens", tokensQuery, ({ chainId, addresses }) => {
    const tokens = catalogue.listTokens(chainId, addresses);
    const found = tokens?.map(({ address, symbol, name, decimals }) => ({ chainId, address, symbol, name, decimals }));
    return found ?? refuseChain(chainId);
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

/** The unit is undocumented. The sandbox takes and gives seconds. */
const toTimestamp = (at: number) => Math.floor(at / 1000);
const toIso = (at: number) => new Date(at).toISOString();

function describeOutputs({ webhookUrl, messengerChannelId }: SandboxAccount) {
  return { webhookUrl, messengerChannelId };
}

const timestampParameter = z.coerce.number({ error: "must be a Unix timestamp" }).min(0).optional();
const granularityError = { error: "use a form such as 5m, 1h or 1d, at most 7d" };
const historyQuery = z.object({
  key: requiredParameter("key"),
  fromTimestamp: timestampParameter,
  toTimestamp: timestampParameter,
  /** `5m`, `1h`, `1d`. The interface documents no format. */
  granularity: z
    .string()
    .regex(/^[1-9]\d{0,5}[smhdw]$/, granularityError)
    .transform((text) => parseDuration(text) ?? 0)
    .refine((ms) => ms <= historyWindowMs, granularityError)
    .optional(),
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
