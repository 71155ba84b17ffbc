import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { AccountReading, Outputs } from "../core/ports/account.ts";
import { oneLine } from "../ground/text/clean.ts";
import { createRangeReader, type HistoryRange } from "./history-range.ts";
import { toEpochMs } from "./instants.ts";
import { type WalkOptions, walkPages } from "./page-walk.ts";
import { type CallOptions, createRequester, type UpstreamClientOptions, UpstreamUnreachable } from "./requester.ts";

/** A metric matches when it relates to any of the tokens or pools, or has one of the keys. */
interface MetricsQuery {
  chainId: string;
  tokenAddresses?: readonly string[];
  poolAddresses?: readonly string[];
  keys?: readonly string[];
}

interface HistoryQuery extends HistoryRange {
  key: string;
  /** Sent unchanged: the interface documents neither format nor values. */
  granularity?: string;
}

export type AlertingClient = ReturnType<typeof createAlertingClient>;

/** Interface document 4.6 to 4.12. Every method may throw as `send` of `createRequester` does. */
export function createAlertingClient(options: UpstreamClientOptions) {
  const requester = createRequester(
    { name: "alerting", keyHeader: "Authorization", keyName: "ALERTING_API_KEY" },
    options,
  );
  const readRange = createRangeReader();

  /** Also verifies the key: an invalid one throws. */
  async function readAccount({ signal }: CallOptions = {}) {
    const answer = await requester.read({ method: "GET", path: "/account", signal }, accountAnswerSchema);
    return { message: answer.message ?? undefined, account: answer.data };
  }

  /** One page of at most 100 metrics. */
  function listMetrics(asked: MetricsQuery & { page: number }, { signal }: CallOptions = {}): Promise<Metric[]> {
    const { chainId, page, keys } = asked;
    const tokenAddresses = lowerCase(asked.tokenAddresses);
    const poolAddresses = lowerCase(asked.poolAddresses);
    const query = { chainId, page, tokenAddresses, poolAddresses, keys };
    return requester.readData({ path: "/metrics", query, signal }, listAnswerSchema);
  }

  return {
    readAccount,
    listMetrics,

    lookAtAccount: ({ signal }: CallOptions = {}): Promise<AccountReading> =>
      requester.readData({ path: "/account", signal }, accountReadingSchema),

    /** One page in memory at a time (two until it is known where the pages begin). */
    walkMetrics: (query: MetricsQuery, walk: CallOptions & WalkOptions = {}) =>
      walkPages((page) => listMetrics({ ...query, page }, walk), keyOfMetric, walk),

    /**
     * Reads the account back when it is unknown whether the service got the change. Throws when it was not made, or is
     * still unknown. `confirmedBy` names the evidence.
     */
    async setAlertOutputs(change: Partial<Outputs>, { signal }: CallOptions = {}) {
      refuseWrongChannelId(change);
      try {
        const request = { method: "PUT", path: "/account", body: change, signal } as const;
        const { data } = await requester.read(request, setOutputsAnswerSchema);
        return { alertOutputs: data.alertOutputs, message: data.message ?? undefined, confirmedBy: "answer" } as const;
      } catch (error) {
        if (!mayHaveBeenMade(error)) throw error;
        const alertOutputs = await readBack(error, () => readAccount({ signal }));
        if (holds(alertOutputs, change)) return { alertOutputs, confirmedBy: "read-back" } as const;
        const { code, message, hint } = error;
        throw new AppError(code, `${message}; read back, the outputs are not changed so far`, { hint });
      }
    },

    readHistory: ({ key, fromAt, toAt, granularity }: HistoryQuery, { signal }: CallOptions = {}) =>
      readRange({ fromAt, toAt }, (range) => {
        const query = { key, ...range, granularity };
        return requester.readData({ path: "/metrics/records/range", query, signal }, historyAnswerSchema);
      }),

    async lookAtRecords({ key, fromAt, toAt }: HistoryQuery, { signal }: CallOptions = {}) {
      const { points, unread } = await readRange({ fromAt, toAt }, (range) =>
        requester.readData({ path: "/metrics/records/range", query: { key, ...range }, signal }, recordsReadingSchema),
      );
      // The later of two points at one time counts.
      const byTime = new Map(points.map(({ at, value }) => [at, value]));
      return { points: [...byTime].map(([at, value]) => ({ at, value })).sort((a, b) => a.at - b.at), unread };
    },

    /** Without `addresses`: all tokens of the chain. */
    listTokens(asked: { chainId: string; addresses?: readonly string[] }, { signal }: CallOptions = {}) {
      const query = { chainId: asked.chainId, addresses: lowerCase(asked.addresses) };
      return requester.readData({ path: "/tokens", query, signal }, listAnswerSchema);
    },

    /** Without `ids`: all users of the account. */
    listUsers: ({ ids }: { ids?: readonly string[] } = {}, { signal }: CallOptions = {}) =>
      requester.readData({ path: "/users", query: { ids }, signal }, listAnswerSchema),

    /** Without `userIds`: the subscriptions of all users. */
    listSubscriptions: ({ userIds }: { userIds?: readonly string[] } = {}, { signal }: CallOptions = {}) =>
      requester.readData({ path: "/subscriptions", query: { userIds }, signal }, subscriptionsAnswerSchema),

    lookAtSubscriptions: ({ signal }: CallOptions = {}) =>
      requester.readData({ path: "/subscriptions", signal }, subscriptionsReadingSchema),
  };
}

/** The field with a metric's unique key is not documented. Without a `key` the whole metric identifies it. */
function keyOfMetric(metric: Metric): string {
  return typeof metric.key === "string" ? metric.key : JSON.stringify(metric);
}

function lowerCase(addresses: readonly string[] | undefined): string[] | undefined {
  return addresses?.map((address) => address.toLowerCase());
}

function refuseWrongChannelId({ messengerChannelId }: Partial<Outputs>): void {
  if (messengerChannelId == null || messengerChannelId.startsWith("-")) return;
  throw new AppError("usage", "the messenger channel's id must start with '-'", {
    hint: "ids of groups and channels do, e.g. -1001234567890",
  });
}

/** Whether the change may have been made: no answer, an answer of a broken service, or an unreadable one. */
function mayHaveBeenMade(error: unknown): error is AppError {
  if (error instanceof UpstreamUnreachable) return error.sent === "maybe";
  return error instanceof AppError && ["upstream_failed", "upstream_bad_answer"].includes(error.code);
}

async function readBack(failure: AppError, readAccount: () => Promise<{ account: Account }>): Promise<AlertOutputs> {
  try {
    return (await readAccount()).account.alertOutputs;
  } catch (error) {
    if (error instanceof AppError && error.code === "cancelled") throw error;
    throw new AppError(failure.code, `${failure.message}; whether the outputs were changed is not known`, {
      hint: "look with `tocsin upstream outputs` before you change them again",
    });
  }
}

function holds(outputs: AlertOutputs, change: Partial<Outputs>): boolean {
  return (
    (change.webhookUrl === undefined || outputs.webhookUrl === change.webhookUrl) &&
    (change.messengerChannelId === undefined || outputs.messengerChannelId === change.messengerChannelId)
  );
}

/** As documented. Undocumented members are kept, so they reach `--json` and the tables. */

/** Absent, `null` and an empty text all mean that this output is off. */
const output = z
  .string()
  .nullish()
  .transform((value) => value || null);

const alertOutputsSchema = z.looseObject({ webhookUrl: output, messengerChannelId: output });

const noOutputs = { webhookUrl: null, messengerChannelId: null };

/** An optional member without a function here. A value of another type than documented counts as absent. */
const decoration = z.string().nullish().catch(undefined);

/** `null` is documented ("by default no output is configured"). A missing member must not read as "no outputs". */
const accountSchema = z
  .looseObject({
    id: z.preprocess((id) => (typeof id === "number" ? String(id) : id), z.string()),
    accountName: decoration,
    alertOutputs: alertOutputsSchema.nullable().transform((value) => value ?? noOutputs),
    apiKeyHash: decoration,
    /** A key that never ends may have anything here. */
    apiKeyExpirationTimestamp: z.unknown().optional(),
    createdAt: decoration,
    updatedAt: decoration,
  })
  .transform((account) => ({
    ...account,
    /** Epoch milliseconds. Absent when no expiry can be read. */
    apiKeyExpiresAt: toEpochMs(account.apiKeyExpirationTimestamp),
  }));

const accountAnswerSchema = z.looseObject({ message: z.string().nullish(), data: accountSchema });

/** For callers that must continue without a missing or changed member. */
const accountReadingSchema = z.looseObject({ data: z.looseObject({}).transform(readLoosely) });

function readLoosely(account: Record<string, unknown>): AccountReading {
  const { id, accountName, alertOutputs, apiKeyExpirationTimestamp: expiry } = account;
  // `null` means that no output is configured.
  const outputs = alertOutputs === null ? noOutputs : alertOutputs;
  const { webhookUrl, messengerChannelId } = (typeof outputs === "object" ? outputs : {}) as Record<string, unknown>;
  return {
    id: textOrNothing(id),
    name: textOrNothing(accountName),
    webhookUrl: outputOrNothing(webhookUrl),
    messengerChannelId: outputOrNothing(messengerChannelId),
    keyExpiresAt: toEpochMs(expiry),
  };
}

/** No real id or name is longer. People see these texts. */
const longestText = 300;

function textOrNothing(value: unknown): string | undefined {
  const text = typeof value === "number" || typeof value === "string" ? oneLine(String(value), longestText) : "";
  return text === "" ? undefined : text;
}

/** Null: the output is off. Undefined: the answer does not say. */
function outputOrNothing(value: unknown): string | null | undefined {
  if (value === null || value === "") return null;
  return typeof value === "string" ? value : undefined;
}

const setOutputsAnswerSchema = z.looseObject({
  data: z.looseObject({ alertOutputs: alertOutputsSchema, message: z.string().nullish() }),
});

/** Accepts readable points, under any key, even if others are unreadable or missing. */
const recordsReadingSchema = z.looseObject({
  data: z
    .union([z.looseObject({ points: z.array(z.unknown()) }).transform(({ points }) => points), z.array(z.unknown())])
    .transform(readRecords),
});

function readRecords(given: readonly unknown[]) {
  const points = given.flatMap((point) => {
    const { timestamp, value } = (typeof point === "object" && point !== null ? point : {}) as Record<string, unknown>;
    const isTime = typeof timestamp === "number" || typeof timestamp === "string";
    const at = isTime ? toEpochMs(timestamp) : undefined;
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (!isTime || at === undefined || typeof number !== "number" || !Number.isFinite(number)) return [];
    return [{ timestamp, at, value: number }];
  });
  return { points, unread: given.length - points.length };
}

const subscriptionsReadingSchema = z.looseObject({ data: z.array(z.unknown()) }).transform((answer) => {
  const meta = typeof answer.meta === "object" && answer.meta !== null ? answer.meta : {};
  const { total, count } = { ...answer, ...meta } as Record<string, unknown>;
  const said = typeof total === "number" ? total : typeof count === "number" ? count : undefined;
  return { data: { entries: answer.data, total: said } };
});

/** A point whose value is `null` is a bucket without records. */
const pointSchema = z
  .looseObject({ timestamp: z.union([z.number(), z.string()]), value: z.number().nullable() })
  .transform((point, context) => {
    const at = toEpochMs(point.timestamp);
    if (at === undefined) {
      context.addIssue({ code: "custom", path: ["timestamp"], message: "expected a Unix timestamp" });
      return z.NEVER;
    }
    return { ...point, /** Epoch milliseconds. */ at };
  });

const historyAnswerSchema = z.looseObject({
  data: z.looseObject({ key: z.string(), points: z.array(pointSchema) }),
});

/** A metric, a token or a user: their fields are not documented. */
const undocumented = z.looseObject({});
const subscriptionSchema = z.looseObject({ subscription: undocumented, metric: undocumented.nullish() });

const listAnswerSchema = z.looseObject({ data: z.array(undocumented) });
const subscriptionsAnswerSchema = z.looseObject({ data: z.array(subscriptionSchema) });

type AlertOutputs = z.output<typeof alertOutputsSchema>;
export type Account = z.output<typeof accountSchema>;
export type MetricHistory = z.output<typeof historyAnswerSchema>["data"];
export type Metric = z.output<typeof undocumented>;
