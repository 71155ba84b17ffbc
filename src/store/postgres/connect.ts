import pg from "pg";
import type { Now } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { databasePlace } from "../../ground/net/database-place.ts";
import { type Notes, newNotes } from "../signals.ts";
import type { Database, Sql } from "./database.ts";
import { DatabaseClock, type DatabaseClockDeps } from "./database-clock.ts";
import { createPool, type Pool, reasonsOfAway } from "./pool.ts";
import { type How, isTimeout, retry, run } from "./run.ts";
import { createWay, databaseTime } from "./server.ts";
import { isFull, isOfConnection, toOpenError, toStoreError, toUnavailable } from "./store-error.ts";

export interface ConnectOptions {
  /** `postgres://user:password@host:5432/database`. The query may have any option of node-postgres. */
  url: string;
  /** The name under which the server lists the connections. */
  name: string;
  /** Called with the signals of a committed transaction. */
  onCommitted?(notes: Notes): void;
  /** A server that does not answer for so long counts as gone. Default: 8,000. */
  answerWithinMs?: number;
  /** The machine's clock. Default `Date.now`. */
  machineClock?: Now;
  onClockCorrected?: DatabaseClockDeps["onCorrected"];
  /** Called for each question or change that fails since the database is away or full. */
  onAway?(reason: AppError): void;
  /** Called when a transaction was committed. */
  onStored?(): void;
}

const mostWriters = 8;
const mostReaders = 4;
/** Longer than the pause between two looks of the disk watch, which could miss a shorter time. */
const fullForMs = 20_000;
const compareEveryMs = 5_000;

/** The database's name in messages. The error `config_invalid` does not repeat the address, which holds a password. */
export function placeOf(url: string): string {
  const place = databasePlace(url);
  if (place !== undefined) return `The database ${place}`;
  throw new AppError("config_invalid", "DATABASE_URL is not the address of a PostgreSQL database.", {
    hint: "Write postgres://user:password@host:5432/database; characters like @, / and # of a password as %40, %2F, %23.",
  });
}

/** Writes `verify-full`, since later versions of node-postgres will check less for `prefer`, `require` and `verify-ca`. */
export function toConnectionString(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/g, "$1verify-full");
}

/** Reads 8 bytes as numbers: positions, times and counts stay below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    if (oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC) return Number;
    if (oid === 1016) return (text: string) => (text === "{}" ? [] : text.slice(1, -1).split(",").map(Number));
    return pg.types.getTypeParser(oid, format as "text");
  },
};

/**
 * Connections to one PostgreSQL: a few that write, and a few others for what people read, so that a long search delays no alert.
 * Each new connection is checked before use: a server that might lose acknowledged data is refused.
 *
 * - `isPooled`: connections go through a pooler, which may hand each transaction to another connection of the server. Settings of
 *   a session, prepared statements, LISTEN and locks cannot be used then. Known from the first connection on.
 * - `open`: one more connection, which the caller ends. A patient one lets statements take any time.
 * - `openListener`: one for `LISTEN` alone, at another address, which the caller ends.
 * - `now`: see `DatabaseClock`. Compared with each new connection, and every five seconds.
 * - `isFull`: the disk was full for the last change, within the last twenty seconds.
 * - `settled` resolves when the calls in progress have ended. `close` waits for them too, and later calls are refused.
 * @throws AppError `store_unavailable` when it cannot be reached or must not be used, `config_invalid` for a wrong address.
 */
export async function connect(options: ConnectOptions) {
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
  // Reads the files that the address names. Without it the pool would read them for its first caller.
  makeClient(settings, place);
  let isClosed = false;
  let fullAt = Number.NEGATIVE_INFINITY;
  const underWay = new Set<Promise<unknown>>();
  const { machineClock: machine = Date.now, onClockCorrected: onCorrected } = options;
  const clock = new DatabaseClock({ machine, onCorrected });
  const way = createWay({ place, answerWithinMs, clock, onAway });
  const { isPooled, prepare } = way;
  const prepareReader = async (client: pg.Client | pg.PoolClient) => {
    await prepare(client);
    // Each statement of a page names its index, so one plan fits all values. Planning each time would take half of a page's time.
    // Through a pooler the setting would reach the next client.
    if (!isPooled()) await client.query("SET plan_cache_mode = force_generic_plan");
  };
  const writers = createPool({ ...settings, max: mostWriters }, prepare, onAway);
  const readers = createPool({ ...settings, max: mostReaders }, prepareReader, onAway, writers);
  const pools = [writers, readers];

  /** Counts the work as in progress, and turns a failure into the port's error. */
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

  const sqlOn = (pool: Pool, how: How): Sql => ({
    query: (...asked) => guard(() => retry(() => run(pool, way, how, (query) => query(...asked)), mostWriters)),
  });
  const changing =
    (how: How): Database["transaction"] =>
    (work, isCheck = false) =>
      guard(async () => {
        let notes = newNotes();
        const value = await retry(() => {
          notes = newNotes();
          return run(writers, way, how, (query) => work({ notes, query }));
        }, mostWriters);
        if (!isCheck) fullAt = Number.NEGATIVE_INFINITY;
        onStored();
        onCommitted(notes);
        return value;
      });
  const read = sqlOn(readers, "read");
  const askTime = async () =>
    (await read.query<{ now: number }>(`SELECT ${databaseTime} AS now`)).rows[0]?.now as number;
  // While the database is away, the relay uses the last known difference of the clocks.
  const comparing = setInterval(() => void clock.compare(askTime).catch(() => {}), compareEveryMs).unref();

  const settled = async () => void (await Promise.allSettled([...underWay]));

  return {
    read,
    now: clock.now,
    single: sqlOn(writers, "single"),
    transaction: changing("transaction"),
    statement: changing("statement"),
    isPooled,
    open: (isPatient = false) =>
      openClient({ ...settings, ...(isPatient && { query_timeout: 0 }) }, place, async (client) => {
        await prepare(client);
        if (isPatient && !isPooled()) await client.query("SET statement_timeout = 0");
      }).catch((error: unknown) => {
        throw toOpenError(error, place);
      }),
    openListener: (listenUrl: string) =>
      openClient({ ...settings, connectionString: toConnectionString(listenUrl) }, placeOf(listenUrl)),
    settled,
    isFull: () => performance.now() - fullAt < fullForMs,
    async close() {
      isClosed = true;
      clearInterval(comparing);
      await settled();
      await Promise.all(pools.map((pool) => pool.end()));
    },
  };
}

/** @throws the error of `toOpenError` for unreadable files that the address names. */
function makeClient(settings: pg.ClientConfig, place: string): pg.Client {
  try {
    return new pg.Client(settings);
  } catch (error) {
    throw toOpenError(error, place);
  }
}

/** @throws the error of connecting or preparing. No connection is left open then. */
export async function openClient(
  settings: pg.ClientConfig,
  place: string,
  prepare: (client: pg.Client) => Promise<void> = async () => {},
): Promise<pg.Client> {
  const client = makeClient(settings, place);
  // The next statement reports the failure.
  client.on("error", () => {});
  try {
    await client.connect();
    await prepare(client);
    return client;
  } catch (error) {
    void client.end().catch(() => {});
    throw error;
  }
}
