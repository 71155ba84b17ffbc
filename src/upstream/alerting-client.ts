import { AppError } from "../core/errors.ts";
import type { AccountReading, Outputs } from "../core/ports/account.ts";
import {
  type Account,
  type AlertOutputs,
  accountAnswerSchema,
  accountReadingSchema,
  historyAnswerSchema,
  listAnswerSchema,
  type Metric,
  recordsReadingSchema,
  setOutputsAnswerSchema,
  subscriptionsAnswerSchema,
  subscriptionsReadingSchema,
} from "./alerting-schemas.ts";
import { createRangeReader, type HistoryRange } from "./history-range.ts";
import { UpstreamUnreachable } from "./network-failure.ts";
import { type WalkOptions, walkPages } from "./page-walk.ts";
import { type CallOptions, createRequester, type UpstreamClientOptions } from "./requester.ts";

/** A metric matches when it relates to any of the tokens or any of the pools or has one of the keys. */
interface MetricsQuery {
  chainId: string;
  tokenAddresses?: readonly string[];
  poolAddresses?: readonly string[];
  keys?: readonly string[];
}

interface HistoryQuery extends HistoryRange {
  key: string;
  /** Sent as it is: the interface documents neither format nor values. */
  granularity?: string;
}

export type AlertingClient = ReturnType<typeof createAlertingClient>;

/**
 * The alerting interface (interface document 4.6 to 4.12), which is an `AccountService` and a `MetricHistoryService` as well. Every
 * method may throw as `send` of `createRequester` does.
 */
export function createAlertingClient(options: UpstreamClientOptions) {
  const requester = createRequester(
    { name: "alerting", keyHeader: "Authorization", keyName: "ALERTING_API_KEY" },
    options,
  );
  const readRange = createRangeReader();

  /** Verifies the key as well: an invalid one throws. */
  async function readAccount({ signal }: CallOptions = {}) {
    const answer = await requester.read({ method: "GET", path: "/account", signal }, accountAnswerSchema);
    return { message: answer.message ?? undefined, account: answer.data };
  }

  /** One page of at most 100. */
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

    /** All pages, one in memory at a time (two while it is found out where they begin). */
    walkMetrics: (query: MetricsQuery, walk: CallOptions & WalkOptions = {}) =>
      walkPages((page) => listMetrics({ ...query, page }, walk), keyOfMetric, walk),

    /**
     * Changes outputs. When it stays unknown whether the service got the change, the account is read back: either that
     * shows the change, or an error says that it was not made or that nobody can know. `confirmedBy` says which it was.
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
      // The later one of two at one time counts.
      const byTime = new Map(points.map(({ at, value }) => [at, value]));
      return { points: [...byTime].map(([at, value]) => ({ at, value })).sort((a, b) => a.at - b.at), unread };
    },

    /** All of the chain without `addresses`. */
    listTokens(asked: { chainId: string; addresses?: readonly string[] }, { signal }: CallOptions = {}) {
      const query = { chainId: asked.chainId, addresses: lowerCase(asked.addresses) };
      return requester.readData({ path: "/tokens", query, signal }, listAnswerSchema);
    },

    /** All of the account without `ids`. */
    listUsers: ({ ids }: { ids?: readonly string[] } = {}, { signal }: CallOptions = {}) =>
      requester.readData({ path: "/users", query: { ids }, signal }, listAnswerSchema),

    /** Without `userIds` those of all users. */
    listSubscriptions: ({ userIds }: { userIds?: readonly string[] } = {}, { signal }: CallOptions = {}) =>
      requester.readData({ path: "/subscriptions", query: { userIds }, signal }, subscriptionsAnswerSchema),

    lookAtSubscriptions: ({ signal }: CallOptions = {}) =>
      requester.readData({ path: "/subscriptions", signal }, subscriptionsReadingSchema),
  };
}

/**
 * A metric's key is unique; the name of its field is not documented, so without a `key` the whole metric stands for
 * it.
 */
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

/** No answer, an answer of a broken service, or one that cannot be read: the change may stand or not. */
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
