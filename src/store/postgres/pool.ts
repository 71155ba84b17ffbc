import pg from "pg";
import { AppError } from "../../core/errors.ts";
import { isCrowded, toUnavailable } from "./store-error.ts";

const shortestPauseMs = 100;
const longestPauseMs = 1_000;
/** For so long no more connections are tried than the server gave. */
const crowdedForMs = 10_000;

/** Reasons given to callers while the server counts as away. Nothing was asked of it, so they say nothing new about it. */
export const reasonsOfAway = new WeakSet<object>();

export interface Pool {
  /** A connection that can be used. Who asked before gets one first. */
  take(): Promise<pg.PoolClient>;
  /**
   * The server counts as away, and connections that have brought nothing since then are cut: those that lie idle would keep
   * the next ones who ask waiting for as long again, and so would those that have just been asked.
   * @param silentSince as `performance.now()` gives it
   */
  drop(silentSince: number, reason: unknown): void;
  end(): Promise<void>;
}

/** pg-pool's words when no connection of others became free in time. */
const isQueueTimeout = (error: unknown): boolean =>
  (error as Error | undefined)?.message === "timeout exceeded when trying to connect";

/** The server answers: it is at work for others. */
const busy = () =>
  new AppError("store_unavailable", "The database is busy with other searches and pages.", {
    hint: "Try again in a moment. Alerts are taken and delivered meanwhile.",
    retryAfterMs: 2_000,
  });

/**
 * While the server is away, it is asked at growing intervals, and who asks meanwhile is refused at once. A server that gives
 * fewer connections than it may have is used over those that it gives.
 *
 * @param other is used while the server gives this pool, which is for what people read, no connection at all. When all connections are
 * taken for too long, the database is busy. Default: none, and the server counts as away then
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
  // An idle connection has ended: who asks next gets another.
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    client.on("error", () => {});
    const hear = () => heardAt.set(client, performance.now());
    hear();
    streamOf(client).on("data", hear);
  });
  pool.on("remove", (client) => heardAt.delete(client));
  /** Another way to a connection, after the server has refused one more. */
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
