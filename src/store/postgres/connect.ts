import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Now } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { databasePlace } from "../../ground/net/database-place.ts";
import type { Notes } from "../signals.ts";
import type { Database, Sql, Transaction } from "./database.ts";
import { createDatabaseClock, type DatabaseClock, type DatabaseClockDeps } from "./database-clock.ts";
import {
  isAnswered,
  isConflict,
  isCrowded,
  isFull,
  isOfConnection,
  isOutdatedPlan,
  isReadOnly,
  lostCommit,
  toOpenError,
  toStoreError,
  toUnavailable,
} from "./store-error.ts";

export interface ConnectOptions {
  /** `postgres://user:password@host:5432/database`, with what else node-postgres knows as its query. */
  url: string;
  /** As the server lists its connections. */
  name: string;
  /** What a transaction has to say, once it is committed. */
  onCommitted?(notes: Notes): void;
  /** Default: 8,000. What does not answer for so long counts as gone. Milliseconds. */
  answerWithinMs?: number;
  /** The machine's clock. Default `Date.now`. */
  machineClock?: Now;
  onClockCorrected?: DatabaseClockDeps["onCorrected"];
  /** Nothing can be asked, or written, for this reason: with each that asks. Default: nobody hears of it. */
  onAway?(reason: AppError): void;
  /** A transaction was committed. */
  onStored?(): void;
}

export interface Connections extends Database {
  /**
   * A connection of its own beside the others, opened. It is the caller's to end.
   * @param isPatient a statement may take however long it takes. Default false.
   */
  open(isPatient?: boolean): Promise<pg.Client>;
  /**
   * Connections go through a pooler, which may hand each transaction to another connection of the server. Nothing that a session
   * keeps can be used then: settings, prepared statements, LISTEN, locks. Known from the first connection on.
   */
  isPooled(): boolean;
  /** For `LISTEN` alone, at another address. It is the caller's to end. */
  openListener(url: string): Promise<pg.Client>;
  /** See `DatabaseClock`. It is compared with each new connection, and every five seconds. */
  now: Now;
  /** The disk was full at the last change that was refused for it or not, within the last twenty seconds. */
  isFull(): boolean;
  /** Waits for what is under way; whatever is asked later is refused. */
  close(): Promise<void>;
}

const mostWriters = 8;
const mostReaders = 4;
const mostTries = 6;
const shortestPauseMs = 100;
const longestPauseMs = 1_000;
/** Longer than between two looks of the disk watch, or a short one is missed. */
const fullForMs = 20_000;
/** For so long no more connections are tried than the server gave. */
const crowdedForMs = 10_000;
const oldestVersion = 14;
const compareEveryMs = 5_000;

/**
 * How a database of this address is called in messages.
 * @throws AppError `config_invalid` that does not repeat it, since it holds a password.
 */
export function placeOf(url: string): string {
  const place = databasePlace(url);
  if (place !== undefined) return `The database ${place}`;
  throw new AppError("config_invalid", "DATABASE_URL is not the address of a PostgreSQL database.", {
    hint: "Write postgres://user:password@host:5432/database; characters like @, / and # of a password as %40, %2F, %23.",
  });
}

/**
 * The address as node-postgres gets it. Of `sslmode` it takes `prefer`, `require` and `verify-ca` for `verify-full`, with a warning of
 * several lines to standard error that a later version will check less. What is written here stays what it is, whichever version.
 */
export function toConnectionString(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/g, "$1verify-full");
}

/** Of 8 bytes as numbers: positions, times and counts stay below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    if (oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC) return Number;
    if (oid === 1016) return (text: string) => (text === "{}" ? [] : text.slice(1, -1).split(",").map(Number));
    return pg.types.getTypeParser(oid, format as "text");
  },
};

/**
 * Connections to one PostgreSQL: few that write, and few others for what people read, so that a long search delays no
 * alert. Every new one is looked at before it is used: a server that might forget what it has acknowledged is refused.
 *
 * @throws AppError `store_unavailable` when it cannot be reached or must not be used, `config_invalid` for a wrong address.
 */
export async function connect(options: ConnectOptions): Promise<Connections> {
  const { url, name, onCommitted = () => {}, onAway = () => {}, onStored = () => {}, answerWithinMs = 8_000 } = options;
  const place = placeOf(url);
  const settings: pg.ClientConfig = {
    connectionString: toConnectionString(url),
    fallback_application_name: name,
    types,
    pipeline: true,
    query_timeout: answerWithinMs,
    connectionTimeoutMillis: answerWithinMs / 2,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
  // It reads the files that the address names; a pool would do so for whoever asks first.
  makeClient(settings, place);
  let isClosed = false;
  let fullAt = Number.NEGATIVE_INFINITY;
  const underWay = new Set<Promise<unknown>>();
  const { machineClock: machine = Date.now, onClockCorrected: onCorrected } = options;
  const clock = createDatabaseClock({ machine, onCorrected });
  const way = createWay({ place, answerWithinMs, clock, onAway });
  const prepare = way.prepare;
  const prepareReader = async (client: pg.Client | pg.PoolClient) => {
    await prepare(client);
    // Through a pooler it would be said to whoever comes next.
    if (way.isPooled()) return;
    // Statements of pages say themselves along which index they go: planned for each reader anew, half of a page's time would go into plans.
    await client.query("SET plan_cache_mode = force_generic_plan");
  };
  const writers = createPool({ ...settings, max: mostWriters }, prepare, onAway);
  const readers = createPool({ ...settings, max: mostReaders }, prepareReader, onAway, {
    toBusy: busy,
    other: writers,
  });
  const pools = [writers, readers];

  /** Counts it as under way, and gives its failure the port's words. */
  function guard<T>(work: () => Promise<T>): Promise<T> {
    if (isClosed) return Promise.reject(new AppError("store_unavailable", "The store is closed."));
    const running = work().catch((error: unknown) => {
      if (isFull(error)) fullAt = performance.now();
      if (isFull(error) || isOfConnection(error)) onAway(toUnavailable(error));
      if (!reasonsOfAway.has(error as object) && (isTimeout(error) || isTimeout((error as Error).cause)))
        for (const pool of pools) pool.drop(performance.now() - answerWithinMs, error);
      throw toStoreError(error);
    });
    underWay.add(running);
    const forget = () => underWay.delete(running);
    running.then(forget, forget);
    return running;
  }

  const askOnce = async (pool: Pool, mayHaveHappened: boolean, ...asked: Parameters<Sql["query"]>) => {
    const client = await pool.take();
    try {
      const found = await (way.isPooled()
        ? askInTransaction(client, way, mayHaveHappened, ...asked)
        : ask(client, ...asked));
      client.release();
      return found;
    } catch (error) {
      const isLost = isOfConnection(error);
      client.release(isLost);
      if (isConflict(error) || isOutdatedPlan(error)) throw new Undone(error);
      if (isLost && !mayHaveHappened && !isTimeout(error)) throw new Undone(error);
      throw error;
    }
  };
  const sqlOn = (pool: Pool, mayHaveHappened: boolean) =>
    ({ query: (...asked) => guard(() => retry(() => askOnce(pool, mayHaveHappened, ...asked))) }) as Sql;
  const read = sqlOn(readers, false);
  const commit = <T>(
    run: typeof runTransaction<T>,
    work: (tx: Transaction) => Promise<T>,
    isCheck = false,
  ): Promise<T> =>
    guard(async () => {
      const { value, notes } = await retry(() => run(writers, work, way));
      if (!isCheck) fullAt = Number.NEGATIVE_INFINITY;
      onStored();
      onCommitted(notes);
      return value;
    });
  const askTime = async () =>
    (await read.query<{ now: number }>(`SELECT ${databaseTime} AS now`)).rows[0]?.now as number;
  // While the database is away nothing is compared, and the relay goes by what it knew.
  const comparing = setInterval(() => void clock.compare(askTime).catch(() => {}), compareEveryMs).unref();

  return {
    read,
    now: clock.now,
    single: sqlOn(writers, true),
    transaction: (work, isCheck) => commit(runTransaction, work, isCheck),
    // What goes with a transaction needs one.
    statement: (work) => commit(way.isPooled() ? runTransaction : runStatement, work),
    async open(isPatient = false) {
      const client = makeClient({ ...settings, ...(isPatient && { query_timeout: 0 }) }, place);
      client.on("error", () => {});
      try {
        await client.connect();
        await prepare(client);
        if (isPatient && !way.isPooled()) await client.query("SET statement_timeout = 0");
        return client;
      } catch (error) {
        void client.end().catch(() => {});
        throw toOpenError(error, place);
      }
    },
    isPooled: way.isPooled,
    async openListener(listenUrl) {
      const client = makeClient({ ...settings, connectionString: toConnectionString(listenUrl) }, placeOf(listenUrl));
      client.on("error", () => {});
      try {
        return await client.connect();
      } catch (error) {
        void client.end().catch(() => {});
        throw error;
      }
    },
    isFull: () => performance.now() - fullAt < fullForMs,
    async close() {
      isClosed = true;
      clearInterval(comparing);
      await Promise.allSettled([...underWay]);
      await Promise.all(pools.map((pool) => pool.end()));
    },
  };
}

/** @throws what `toOpenError` makes of files that the address names and that cannot be read. */
export function makeClient(settings: pg.ClientConfig, place: string): pg.Client {
  try {
    return new pg.Client(settings);
  } catch (error) {
    throw toOpenError(error, place);
  }
}

/** It had no effect for sure, and may be done again: the reason is the server's or the way's. */
class Undone extends Error {
  constructor(readonly reason: unknown) {
    super("undone");
  }
}

/** Again at once on another connection, and with a pause of chance after a conflict, so that the same two do not meet. */
async function retry<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Undone)) throw error;
      const { reason } = error;
      if (tries >= mostTriesAfter(reason)) throw reason;
      if (isConflict(reason)) await sleep(Math.random() * 10 * tries);
    }
  }
}

/** A plan may be outdated on each connection. */
function mostTriesAfter(reason: unknown): number {
  if (isOutdatedPlan(reason)) return mostWriters + 1;
  return isConflict(reason) ? mostTries : 2;
}

/** What is asked meanwhile goes as one write, for which the server is woken once. */
function sendTogether<T>(client: pg.PoolClient, send: () => T): T {
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}

async function runStatement<T>(pool: Pool, work: (tx: Transaction) => Promise<T>): Promise<{ value: T; notes: Notes }> {
  const client = await pool.take();
  const notes: Notes = { due: new Set() };
  let asked = 0;
  try {
    const value = await work({
      notes,
      query(...statement) {
        asked += 1;
        if (asked > 1) throw new Error("a second statement, in a transaction of one");
        return ask(client, ...statement);
      },
    });
    client.release();
    return { value, notes };
  } catch (error) {
    const isLost = isOfConnection(error);
    client.release(isLost);
    if (isConflict(error) || isOutdatedPlan(error) || isReadOnly(error)) throw new Undone(error);
    if (isLost) throw lostCommit(error);
    throw error;
  }
}

async function runTransaction<T>(
  pool: Pool,
  work: (tx: Transaction) => Promise<T>,
  way: Way,
): Promise<{ value: T; notes: Notes }> {
  const client = await pool.take();
  const notes: Notes = { due: new Set() };
  let isCommitting = false;
  try {
    const [begun, working] = sendTogether(client, () => [
      way.begin(client),
      work({ notes, query: (...asked) => ask(client, ...way.toAsk(asked)) }),
    ]);
    // The first statement fails as well when this does, since the connection is gone then.
    begun.catch(() => {});
    const value = await working.catch(async (error: unknown) => {
      // Whatever stands behind a BEGIN that failed has failed with it, and does not say why.
      if ((error as { code?: unknown }).code === "25P02") await begun;
      throw error;
    });
    await begun;
    isCommitting = true;
    const { command } = await client.query("COMMIT");
    isCommitting = false;
    if (command !== "COMMIT") throw new Error("a statement failed, and the transaction went on all the same");
    client.release();
    return { value, notes };
  } catch (error) {
    if (isCommitting && !isAnswered(error)) {
      client.release(true);
      throw lostCommit(error);
    }
    const isUsable = await rollBack(client, error);
    client.release(!isUsable);
    if (isConflict(error) || (isOfConnection(error) && !isTimeout(error))) throw new Undone(error);
    throw error;
  }
}

/**
 * One statement through a pooler. What reads is sent in one go; what writes is committed when the server was found to be in
 * order.
 */
async function askInTransaction(
  client: pg.PoolClient,
  way: Way,
  writes: boolean,
  ...asked: Parameters<Sql["query"]>
): Promise<Awaited<ReturnType<Sql["query"]>>> {
  try {
    const all = [way.begin(client), ask(client, ...way.toAsk(asked)), ...(writes ? [] : [client.query("COMMIT")])];
    for (const one of all) one.catch(() => {});
    const [, found] = await Promise.all(all);
    if (writes) await client.query("COMMIT");
    return found as Awaited<ReturnType<Sql["query"]>>;
  } catch (error) {
    // Where nothing is begun any more, it is a notice.
    await rollBack(client, error);
    throw error;
  }
}

/** Whether the connection can be used again. */
async function rollBack(client: pg.PoolClient, error: unknown): Promise<boolean> {
  if (isOfConnection(error)) return false;
  return client.query("ROLLBACK").then(
    () => true,
    () => false,
  );
}

/** Told to who asked while the server counts as away: nothing was asked of it, so it says nothing new about it. */
const reasonsOfAway = new WeakSet<object>();

/** Whoever asked has waited long enough. */
const isTimeout = (error: unknown): boolean => (error as Error | undefined)?.message === "Query read timeout";

async function ask<Row extends object>(
  client: pg.Client | pg.PoolClient,
  text: string,
  values?: readonly unknown[],
  name?: string,
): Promise<{ rows: Row[]; rowCount: number }> {
  const { rows, rowCount } = await client.query<Row>({ text, values: values as unknown[], name });
  return { rows, rowCount: rowCount ?? 0 };
}

interface Pool {
  /** A connection that can be used, behind whoever asked before. */
  take(): Promise<pg.PoolClient>;
  /**
   * The server counts as away, and connections that have brought nothing since then are cut: those that lie idle would keep
   * the next ones who ask waiting for as long again, and so would those that have just been asked.
   * @param silentSince as `performance.now()` gives it
   */
  drop(silentSince: number, reason: unknown): void;
  end(): Promise<void>;
}

/** pg-pool's words for whoever has waited too long for a connection of others to become free. */
const isQueueTimeout = (error: unknown): boolean =>
  (error as Error | undefined)?.message === "timeout exceeded when trying to connect";

/** The server answers: it is at work for others. */
const busy = () =>
  new AppError("store_unavailable", "The database is busy with other searches and pages.", {
    hint: "Try again in a moment. Alerts are taken and delivered meanwhile.",
    retryAfterMs: 2_000,
  });

interface PoolOptions {
  /** What to say when all connections are taken for too long. Default: the server counts as away then. */
  toBusy?(): AppError;
  /** Asked while the server gives this one no connection at all, as it has too few. Default: there is none. */
  other?: Pool;
}

/**
 * While the server is away, it is asked at growing intervals, and whoever comes meanwhile is told at once. A server that gives
 * fewer connections than it may have is used over those that it gives.
 */
function createPool(
  settings: pg.PoolConfig & { max: number },
  prepare: (client: pg.PoolClient) => Promise<void>,
  onAway: (reason: AppError) => void,
  { toBusy, other }: PoolOptions = {},
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
  // What an idle connection ends of; whoever asks next gets another.
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
      if (toBusy !== undefined && isQueueTimeout(error)) throw isAway() ? away?.reason : toBusy();
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

/** Epoch milliseconds. */
const databaseTime = "(extract(epoch FROM clock_timestamp()) * 1000)::float8";

interface ServerSettings {
  now: number;
  version: number;
  fsync: string;
  synchronous_commit: string;
  synchronous_standby_names: string;
  full_page_writes: string;
  read_only: string;
  encoding: string;
  is_standby: boolean;
  pid: number;
}

const lookAtServer = `SELECT ${databaseTime} AS now, current_setting('server_version_num')::int AS version, current_setting('fsync') AS fsync,
  current_setting('synchronous_commit') AS synchronous_commit,
  current_setting('synchronous_standby_names') AS synchronous_standby_names,
  current_setting('full_page_writes') AS full_page_writes, current_setting('transaction_read_only') AS read_only,
  current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby, pg_backend_pid() AS pid`;

interface WayDeps {
  place: string;
  answerWithinMs: number;
  clock: DatabaseClock;
  onAway(reason: AppError): void;
}

/** How the server is reached: by connections of its own, or through a pooler. */
interface Way {
  isPooled(): boolean;
  /**
   * For a new connection: reads back what a 202 rests on, and bounds what a relay that is stopped in the middle of a
   * transaction keeps from the others.
   */
  prepare(client: pg.Client | pg.PoolClient): Promise<void>;
  /** Sent at once, with what is asked next. Rejects where the server must not be used. */
  begin(client: pg.PoolClient): Promise<void>;
  /** Without what only the session of a connection has. */
  toAsk(asked: Parameters<Sql["query"]>): Parameters<Sql["query"]>;
}

/**
 * A pooler is known by the number of the process that its connection is told, which is not the server's. (One that is asked
 * for transactions and one for sessions look alike, and are used alike.) What a session would keep goes with each transaction then, and so
 * does the look at the server: the pooler may have gone on to another, and what somebody else has set for a session is still set
 * for whoever gets it next.
 */
function createWay({ place, answerWithinMs, clock, onAway }: WayDeps): Way {
  let isPooled = false;
  const settings = {
    statement_timeout: Math.round(answerWithinMs * 0.9),
    // Shorter: what waits for a relay that stands still, as a repeat of its key does, is done and not refused.
    idle_in_transaction_session_timeout: Math.round(answerWithinMs * 0.75),
    jit: "off",
    max_parallel_workers_per_gather: 0,
    bytea_output: "hex",
  };
  const set = (how: "SET" | "SET LOCAL") =>
    Object.entries(settings)
      .map(([name, value]) => `${how} ${name} = ${value}`)
      .join("; ");
  const ownDefault = "SET LOCAL synchronous_commit TO DEFAULT";
  const beginPooled = `BEGIN ISOLATION LEVEL READ COMMITTED; ${set("SET LOCAL")}; ${ownDefault}; ${lookAtServer}`;

  async function look(client: pg.Client | pg.PoolClient, text: string): Promise<ServerSettings> {
    const results = (await client.query(text)) as unknown as pg.QueryResult<ServerSettings>[];
    return results.find(({ command }) => command === "SELECT")?.rows[0] as ServerSettings;
  }

  function requireSafe(server: ServerSettings): void {
    const refusal = refuse(server);
    if (refusal === undefined) return;
    const [what, hint] = refusal;
    // A standby becomes the primary by itself in a failover; the rest is for people to mend.
    const retryAfterMs = server.is_standby ? 5_000 : undefined;
    throw new AppError("store_unavailable", `${place} cannot be used: ${what}.`, { hint, retryAfterMs });
  }

  return {
    isPooled: () => isPooled,
    async prepare(client) {
      let server = {} as ServerSettings;
      await clock.compare(async () => {
        server = await look(client, `BEGIN; ${ownDefault}; ${lookAtServer}; END`);
        return server.now;
      });
      isPooled ||= server.pid !== (client as unknown as { processID: number }).processID;
      requireSafe(server);
      if (!isPooled) await client.query(set("SET"));
    },
    async begin(client) {
      if (!isPooled) {
        await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
        return;
      }
      const server = await look(client, beginPooled);
      try {
        requireSafe(server);
      } catch (error) {
        onAway(error as AppError);
        throw error;
      }
    },
    toAsk: ([text, values, name]) => [text, values, isPooled ? undefined : name],
  };
}

/** What is wrong with a server, and what to do; undefined: nothing. */
function refuse(server: ServerSettings): [string, string] | undefined {
  const loses = "it may lose alerts that were answered 202";
  if (server.version < oldestVersion * 10_000)
    return [
      `it runs PostgreSQL ${Math.floor(server.version / 10_000)}`,
      `Upgrade it to PostgreSQL ${oldestVersion} or newer.`,
    ];
  if (server.is_standby) return ["it is a standby", "Name the primary in DATABASE_URL."];
  if (server.read_only === "on")
    return ["it is read-only (default_transaction_read_only = on)", "Let the user of DATABASE_URL write there."];
  if (server.encoding !== "UTF8")
    return [
      `its encoding is ${server.encoding}`,
      "Create it with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`.",
    ];
  if (server.fsync !== "on") return [`it runs with fsync = off, so ${loses}`, "Set `fsync = on` on the server."];
  if (server.full_page_writes !== "on")
    return [`it runs with full_page_writes = off, so ${loses}`, "Set `full_page_writes = on` on the server."];
  const isLocal = server.synchronous_commit === "local" && server.synchronous_standby_names !== "";
  if (server.synchronous_commit === "off" || isLocal)
    return [
      `it runs with synchronous_commit = ${server.synchronous_commit}, so ${loses}`,
      "Set `synchronous_commit = on` for the server, the database and the user of DATABASE_URL.",
    ];
  return undefined;
}
