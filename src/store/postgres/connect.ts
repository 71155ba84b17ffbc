import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { AppError } from "../../core/errors.ts";
import { databasePlace } from "../../ground/net/database-place.ts";
import type { Database, Notes, Sql, Transaction } from "./database.ts";
import {
  isAnswered,
  isConflict,
  isFull,
  isOfConnection,
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
  /** Default: 10,000. What does not answer for so long counts as gone. Milliseconds. */
  answerWithinMs?: number;
}

export interface Connections extends Database {
  /**
   * A connection of its own beside the others, opened. It is the caller's to end.
   * @param isPatient a statement may take however long it takes. Default false.
   */
  open(isPatient?: boolean): Promise<pg.Client>;
  /** The disk was full at the last change that was refused for it or not, within the last ten seconds. */
  isFull(): boolean;
  /** Waits for what is under way; whatever is asked later is refused. */
  close(): Promise<void>;
}

const mostWriters = 8;
const mostReaders = 4;
const mostTries = 6;
const shortestPauseMs = 100;
const longestPauseMs = 1_000;
const fullForMs = 10_000;
const oldestVersion = 14;

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
  const { url, name, onCommitted = () => {}, answerWithinMs = 10_000 } = options;
  const place = placeOf(url);
  const settings: pg.ClientConfig = {
    connectionString: url,
    fallback_application_name: name,
    types,
    pipeline: true,
    query_timeout: answerWithinMs,
    connectionTimeoutMillis: answerWithinMs / 2,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
  let isClosed = false;
  let fullAt = Number.NEGATIVE_INFINITY;
  const underWay = new Set<Promise<unknown>>();
  const prepare = (client: pg.Client | pg.PoolClient) => prepareSession(client, place, answerWithinMs);
  const writers = createPool({ ...settings, max: mostWriters }, prepare);
  const readers = createPool({ ...settings, max: mostReaders }, prepare);

  /** Counts it as under way, and gives its failure the port's words. */
  function guard<T>(work: () => Promise<T>): Promise<T> {
    if (isClosed) return Promise.reject(new AppError("store_unavailable", "The store is closed."));
    const running = work().catch((error: unknown) => {
      if (isFull(error)) fullAt = performance.now();
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
      const found = await ask(client, ...asked);
      client.release();
      return found;
    } catch (error) {
      const isLost = isOfConnection(error);
      client.release(isLost);
      if (isConflict(error) || (isLost && !mayHaveHappened && !isTimeout(error))) throw new Undone(error);
      throw error;
    }
  };
  const sqlOn = (pool: Pool, mayHaveHappened: boolean) =>
    ({ query: (...asked) => guard(() => retry(() => askOnce(pool, mayHaveHappened, ...asked))) }) as Sql;

  return {
    read: sqlOn(readers, false),
    single: sqlOn(writers, true),
    transaction: (work) =>
      guard(async () => {
        const { value, notes } = await retry(() => runTransaction(writers, work));
        fullAt = Number.NEGATIVE_INFINITY;
        onCommitted(notes);
        return value;
      }),
    async open(isPatient = false) {
      const client = new pg.Client({ ...settings, ...(isPatient && { query_timeout: 0 }) });
      client.on("error", () => {});
      try {
        await client.connect();
        await prepare(client);
        if (isPatient) await client.query("SET statement_timeout = 0");
        return client;
      } catch (error) {
        void client.end().catch(() => {});
        throw toOpenError(error, place);
      }
    },
    isFull: () => performance.now() - fullAt < fullForMs,
    async close() {
      isClosed = true;
      await Promise.allSettled([...underWay]);
      await Promise.all([writers.end(), readers.end()]);
    },
  };
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
      if (tries >= (isConflict(reason) ? mostTries : 2)) throw reason;
      if (isConflict(reason)) await sleep(Math.random() * 10 * tries);
    }
  }
}

async function runTransaction<T>(
  pool: Pool,
  work: (tx: Transaction) => Promise<T>,
): Promise<{ value: T; notes: Notes }> {
  const client = await pool.take();
  const notes: Notes = { due: new Set() };
  let isCommitting = false;
  try {
    // Sent together with the first statement. That one fails as well when this does, since the connection is gone then.
    const begun = client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
    begun.catch(() => {});
    const value = await work({ notes, query: (...asked) => ask(client, ...asked) });
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

/** Whether the connection can be used again. */
async function rollBack(client: pg.PoolClient, error: unknown): Promise<boolean> {
  if (isOfConnection(error)) return false;
  return client.query("ROLLBACK").then(
    () => true,
    () => false,
  );
}

/** Whoever asked has waited long enough. */
const isTimeout = (error: unknown): boolean => (error as Error).message === "Query read timeout";

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
  end(): Promise<void>;
}

/** While the server is away, it is asked at growing intervals, and whoever comes meanwhile is told at once. */
function createPool(settings: pg.PoolConfig, prepare: (client: pg.PoolClient) => Promise<void>): Pool {
  const pool = new pg.Pool({ ...settings, idleTimeoutMillis: 60_000 });
  const prepared = new WeakSet<pg.PoolClient>();
  let pauseMs = shortestPauseMs;
  let away: { until: number; reason: unknown } | undefined;
  // What an idle connection ends of; whoever asks next gets another.
  pool.on("error", () => {});
  pool.on("connect", (client) => {
    client.on("error", () => {});
  });
  return {
    async take() {
      if (away !== undefined && pool.idleCount === 0 && performance.now() < away.until) throw away.reason;
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
        away = { until: performance.now() + pauseMs, reason: toUnavailable(error) };
        pauseMs = Math.min(longestPauseMs, pauseMs * 2);
        throw away.reason;
      }
    },
    end: () => pool.end(),
  };
}

interface ServerSettings {
  version: number;
  fsync: string;
  synchronous_commit: string;
  synchronous_standby_names: string;
  full_page_writes: string;
  read_only: string;
  encoding: string;
  is_standby: boolean;
}

/**
 * Reads back what a 202 rests on, and bounds what a relay that is stopped in the middle of a transaction keeps from the
 * others.
 */
async function prepareSession(client: pg.Client | pg.PoolClient, place: string, answerWithinMs: number): Promise<void> {
  await client.query(
    `SET statement_timeout = ${Math.round(answerWithinMs * 0.9)};
     SET idle_in_transaction_session_timeout = ${answerWithinMs}; SET jit = off; SET max_parallel_workers_per_gather = 0; SET bytea_output = 'hex'`,
  );
  const { rows } = await client.query<ServerSettings>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('synchronous_standby_names') AS synchronous_standby_names,
       current_setting('full_page_writes') AS full_page_writes, current_setting('transaction_read_only') AS read_only,
       current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby`,
  );
  const refusal = refuse(rows[0] as ServerSettings);
  if (refusal === undefined) return;
  const [what, hint] = refusal;
  throw new AppError("store_unavailable", `${place} cannot be used: ${what}.`, { hint, retryAfterMs: 5_000 });
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
