import pg from "pg";
import { AppError } from "../../core/errors.ts";
import { isCrowded, toUnavailable } from "./store-error.ts";

const shortestPauseMs = 100;
const longestPauseMs = 1_000;
/** How long the pool opens no more connections than the server gave. */
const crowdedForMs = 10_000;

/** Errors of callers that are refused while the server counts as away. They are no news, since nothing was asked. */
export const reasonsOfAway = new WeakSet<object>();

export interface Pool {
  /** A usable connection. Callers get one in the order in which they ask. */
  take(): Promise<pg.PoolClient>;
  /**
   * Counts the server as away, and cuts the connections that were silent since: each next caller would wait on one of them.
   * @param silentSince as `performance.now()` gives it
   */
  drop(silentSince: number, reason: unknown): void;
  end(): Promise<void>;
}

/** Whether no connection became free in time: pg-pool's message. */
const isQueueTimeout = (error: unknown): boolean =>
  (error as Error | undefined)?.message === "timeout exceeded when trying to connect";

/** The server answers, but works for others. */
const busy = () =>
  new AppError("store_unavailable", "The database is busy with other searches and pages.", {
    hint: "Try again in a moment. Alerts are taken and delivered meanwhile.",
    retryAfterMs: 2_000,
  });

/**
 * A pool of connections. While the server is away, it is tried at growing intervals, and callers in between are refused at once.
 * When the server gives fewer connections than the pool may have, the pool works with those.
 * @param other gives a connection when the server gives this pool none. Default: the server then counts as away
 */
export function createPool(
  settings: pg.PoolConfig & { max: number },
  prepare: (client: pg.PoolClient) => Promise<void>,
  onAway: (reason: AppError) => void,
  other?: Pool,
): Pool {
  const pool = new pg.Pool({ ...settings, idleTimeoutMillis: 60_000 });
  let crowdedUntil = 0;
  const prepared = new WeakSet<pg.PoolClient>();
  let pauseMs = shortestPauseMs;
  let away: { until: number; reason: AppError } | undefined;
  const heardAt = new Map<pg.PoolClient, number>();
  const noteAway = (error: unknown) => {
    away = { until: performance.now() + pauseMs, reason: toUnavailable(error) };
    reasonsOfAway.add(away.reason);
    pauseMs = Math.min(longestPauseMs, pauseMs * 2);
    onAway(away.reason);
    return away.reason;
  };
  // An idle connection has ended. The next caller gets another.
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    client.on("error", () => {});
    const hear = () => heardAt.set(client, performance.now());
    hear();
    streamOf(client).on("data", hear);
  });
  pool.on("remove", (client) => heardAt.delete(client));
  /** A connection of `other`, after the server has refused one here. */
  function takeOther(): Promise<pg.PoolClient> | undefined {
    if (heardAt.size === 0) return other?.take();
    pool.options.max = heardAt.size;
    crowdedUntil = performance.now() + crowdedForMs;
    return take();
  }

  async function take(): Promise<pg.PoolClient> {
    if (performance.now() >= crowdedUntil) pool.options.max = settings.max;
    const isAway = () => away !== undefined && pool.idleCount === 0 && performance.now() < away.until;
    if (isAway()) throw away?.reason;
    let client: pg.PoolClient | undefined;
    try {
      client = await pool.connect();
      if (!prepared.has(client)) await prepare(client);
      prepared.add(client);
      away = undefined;
      pauseMs = shortestPauseMs;
      return client;
    } catch (error) {
      client?.release(true);
      const otherWay = isCrowded(error) ? takeOther() : undefined;
      if (otherWay !== undefined) return otherWay;
      if (other !== undefined && isQueueTimeout(error)) throw isAway() ? away?.reason : busy();
      throw noteAway(error);
    }
  }

  return {
    take,
    drop(silentSince, reason) {
      noteAway(reason);
      for (const [client, at] of heardAt) if (at < silentSince) streamOf(client).destroy();
    },
    end: () => pool.end(),
  };
}

const streamOf = (client: pg.PoolClient) => (client as unknown as pg.Client).connection.stream;
