import type pg from "pg";
import { AppError } from "../../core/errors.ts";
import type { DatabaseClock } from "./database-clock.ts";

const oldestVersion = 14;

/** Epoch milliseconds. */
export const databaseTime = "(extract(epoch FROM clock_timestamp()) * 1000)::float8";

const lookedAt = ["fsync", "synchronous_commit", "synchronous_standby_names", "full_page_writes"] as const;

interface ServerSettings extends Record<(typeof lookedAt)[number], string> {
  now: number;
  version: number;
  read_only: string;
  encoding: string;
  is_standby: boolean;
  pid: number;
}

const lookAtServer = `SELECT ${databaseTime} AS now, current_setting('server_version_num')::int AS version,
  ${lookedAt.map((name) => `current_setting('${name}') AS ${name}`).join(", ")}, current_setting('transaction_read_only') AS read_only,
  current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby, pg_backend_pid() AS pid`;

interface WayDeps {
  place: string;
  answerWithinMs: number;
  clock: DatabaseClock;
  onAway(reason: AppError): void;
}

export type Way = ReturnType<typeof createWay>;

/**
 * How the server is reached: directly, or through a pooler.
 *
 * With a pooler, the process number of the connection differs from the server's. Poolers for transactions and for sessions are
 * treated alike. Settings of a session and the check of the server are then sent with each transaction: the pooler may have moved
 * to another server, and a setting of one client lasts for the next one that gets the session.
 */
export function createWay({ place, answerWithinMs, clock, onAway }: WayDeps) {
  let isPooled = false;
  const settings = {
    statement_timeout: Math.round(answerWithinMs * 0.9),
    // Shorter than `answerWithinMs`: a statement that waits for a frozen relay then succeeds.
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
    // A failover turns a standby into the primary by itself. People have to mend other faults.
    const retryAfterMs = server.is_standby ? 5_000 : undefined;
    throw new AppError("store_unavailable", `${place} cannot be used: ${what}.`, { hint, retryAfterMs });
  }

  return {
    isPooled: () => isPooled,
    /** Checks a new connection's settings that a 202 relies on. Limits how long a stopped relay blocks the others. */
    async prepare(client: pg.Client | pg.PoolClient): Promise<void> {
      let server = {} as ServerSettings;
      await clock.compare(async () => {
        server = await look(client, `BEGIN; ${ownDefault}; ${lookAtServer}; END`);
        return server.now;
      });
      isPooled ||= server.pid !== (client as unknown as { processID: number }).processID;
      requireSafe(server);
      if (!isPooled) await client.query(set("SET"));
    },
    /** Sent together with the next statement. Rejects where the server must not be used. */
    async begin(client: pg.PoolClient): Promise<void> {
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
  };
}

/** The fault of a server, and what to do. Undefined: none. */
function refuse(server: ServerSettings): readonly [what: string, hint: string] | undefined {
  const { version, encoding, synchronous_commit: commits } = server;
  const lossy = (setting: string) => `it runs with ${setting}, so it may lose alerts that were answered 202`;
  const isLocal = commits === "local" && server.synchronous_standby_names !== "";
  const mistakes: [isMade: boolean, what: string, hint: string][] = [
    [
      version < oldestVersion * 10_000,
      `it runs PostgreSQL ${Math.floor(version / 10_000)}`,
      `Upgrade it to PostgreSQL ${oldestVersion} or newer.`,
    ],
    [server.is_standby, "it is a standby", "Name the primary in DATABASE_URL."],
    [
      server.read_only === "on",
      "it is read-only (default_transaction_read_only = on)",
      "Let the user of DATABASE_URL write there.",
    ],
    [
      encoding !== "UTF8",
      `its encoding is ${encoding}`,
      "Create it with `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`.",
    ],
    [server.fsync !== "on", lossy("fsync = off"), "Set `fsync = on` on the server."],
    [server.full_page_writes !== "on", lossy("full_page_writes = off"), "Set `full_page_writes = on` on the server."],
    [
      commits === "off" || isLocal,
      lossy(`synchronous_commit = ${commits}`),
      "Set `synchronous_commit = on` for the server, the database and the user of DATABASE_URL.",
    ],
  ];
  const [, ...refusal] = mistakes.find(([isMade]) => isMade) ?? [];
  return refusal.length === 0 ? undefined : (refusal as [string, string]);
}
