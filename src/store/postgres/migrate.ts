import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { AppError } from "../../core/errors.ts";
import { type NumberedFile, readNumberedFiles } from "../numbered-files.ts";
import { continueChanges } from "./changes.ts";
import { hasTable, inTransaction, readMark } from "./moved-log.ts";
import { isConflict, isLocked } from "./store-error.ts";

/**
 * Relays of two versions run on one database during an upgrade, so a migration only adds. Its line `-- Runs with code of N and
 * newer.` names the oldest code that can still run and start on the result (without the line: only its own). The column
 * `migrations.oldest_code` says it to that code, which lacks the file. A migration that changes several existing tables has a
 * line `-- Locks first: a, b.`: it locks them together before it begins.
 */
export interface Migration extends NumberedFile {
  /** The oldest code that also runs on it. */
  oldestCode: number;
  /** The existing tables that the migration changes. Must be given where there are several. Default: none. */
  locks?: string[];
}

const folder = new URL("./migrations/", import.meta.url);

/** The number of the advisory lock of migrations: one relay at a time changes the schema. */
const lock = 8_072_401_173;

/**
 * Accepting and delivering wait behind a migration that waits for a lock. The first try is therefore short. Between tries both
 * continue, and each try is longer. The longest exceeds `deadlock_timeout` (1 s), after which autovacuum gives way.
 */
const shortestTryMs = 300;
const longestTryMs = 2_000;

export interface MigrateOptions {
  /** Default: the files in the folder `migrations` next to this file. */
  migrations?: Migration[];
  /** The caller is moving a log in or out. Every other process is refused until that is done. Default false. */
  isMoving?: boolean;
  /** How long to try to get a migration's locks. Default: 60,000. */
  tryForMs?: number;
}

/**
 * Brings the database to the newest version, each step in a transaction of its own, one relay after the other. Relays of earlier
 * versions run meanwhile.
 * @throws AppError `store_too_new` for a database on which this code cannot run, before anything is written. `store_unavailable`
 * when others do not release a table. An error that names the file when its SQL fails: the database is then as it was before that
 * step.
 */
export async function migrate(client: pg.Client, options: MigrateOptions = {}): Promise<void> {
  const { migrations = readMigrations(), isMoving = false, tryForMs = 60_000 } = options;
  if (!isMoving) await refuseMoving(client);
  while (await migrateOnce(client, migrations, tryForMs));
  await alone(client, () => continueChanges(client));
}

/** For a process that only reads. @throws AppError `store_too_new`, or `failed` when the database is not up to date. */
export async function requireNewest(client: pg.Client, migrations: Migration[] = readMigrations()): Promise<void> {
  const current = await requireKnown(client, migrations.length);
  await refuseMoving(client);
  if (current >= migrations.length) return;
  const found = current === 0 ? "holds no log yet" : `is of version ${current}; this Tocsin reads ${migrations.length}`;
  throw new AppError("failed", `The database ${found}.`, {
    hint: "Start `tocsin serve` of this version once: it brings the database up to date.",
  });
}

/** In order. A missing number is a broken installation. */
export function readMigrations(from: URL = folder): Migration[] {
  return readNumberedFiles(from, "postgres").map((file) => {
    const { number, sql } = file;
    const [, oldest] = /^-- Runs with code of (\d{1,4}) and newer\.$/m.exec(sql) ?? [];
    const [, locks] = /^-- Locks first: ([a-z_]+(?:, [a-z_]+)*)\.$/m.exec(sql) ?? [];
    return { ...file, oldestCode: oldest === undefined ? number : Number(oldest), locks: locks?.split(", ") };
  });
}

/** Runs the next missing migration, if any. */
async function migrateOnce(client: pg.Client, migrations: Migration[], tryForMs: number): Promise<boolean> {
  const until = performance.now() + tryForMs;
  for (let tryMs = shortestTryMs; ; tryMs = Math.min(longestTryMs, tryMs * 2)) {
    if ((await requireKnown(client, migrations.length)) >= migrations.length) return false;
    try {
      return await alone(client, async () => {
        const next = migrations[await requireKnown(client, migrations.length)];
        if (next !== undefined) await run(client, next, tryMs);
        return next !== undefined;
      });
    } catch (error) {
      if (!isLocked(error) && !isConflict(error)) throw error;
      if (performance.now() > until) throw locked(error, await findHolder(client));
      // Both locks, on tables and on migrations, are free for about as long as others have waited.
      await sleep(tryMs * (0.5 + Math.random()));
    }
  }
}

/** One transaction, while no other relay migrates. */
function alone<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  return inTransaction(client, async () => {
    // Set in the transaction: a pooler keeps no settings of a session.
    await client.query("SET LOCAL statement_timeout = 0");
    await client.query("SELECT pg_advisory_xact_lock($1)", [lock]);
    return work();
  });
}

async function run(
  client: pg.Client,
  { number, name, sql, oldestCode, locks = [] }: Migration,
  tryMs: number,
): Promise<void> {
  try {
    if (locks.length > 0) await client.query(lockAll(locks, tryMs));
    await client.query(`SET LOCAL lock_timeout = ${tryMs}`);
    await client.query("CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, name text NOT NULL)");
    await client.query(addOldestCode);
    await client.query(sql);
    await client.query("INSERT INTO migrations (number, name, oldest_code) VALUES ($1, $2, $3)", [
      number,
      name,
      oldestCode,
    ]);
  } catch (error) {
    (error as Error).message = `${name} failed: ${(error as Error).message}`;
    throw error;
  }
}

/**
 * The order in which the relay's transactions mostly lock these tables. A later transaction thus waits at the first table, and
 * holds none of the next. A few lock in another order. They end the try, or the server ends them and they run again.
 */
const lockOrder = (
  "lanes alerts deliveries requests attempts threads rings paces alert_changes tallies route_hours statistics_start " +
  "search_queue alert_words configurations relays"
).split(" ");

function lockAll(tables: readonly string[], tryMs: number): string {
  const known = lockOrder.filter((name) => tables.includes(name));
  const names = [...known, ...tables.filter((name) => !known.includes(name))];
  return `DO $$
    DECLARE
      until timestamptz := clock_timestamp() + interval '${tryMs} milliseconds';
      one text;
    BEGIN
      FOREACH one IN ARRAY ARRAY[${names.map((name) => `'${name}'`).join(", ")}] LOOP
        PERFORM set_config('lock_timeout', greatest(1, round(extract(epoch FROM until - clock_timestamp()) * 1000))::text, true);
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', one);
      END LOOP;
    END $$`;
}

/** The first version did not have the column. Where it exists, the statement waits for no reader of the table, such as a dump. */
const addOldestCode = `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'migrations'::regclass AND attname = 'oldest_code') THEN
    ALTER TABLE migrations ADD COLUMN oldest_code integer;
  END IF; END $$`;

/**
 * The version of the database. 0 for a database that no Tocsin has written.
 * @throws AppError `store_too_new` for a newer version, unless its migrations say that this code can run on it
 */
async function requireKnown(client: pg.Client, newest: number): Promise<number> {
  if (!(await hasTable(client, "migrations"))) return 0;
  // Read as JSON, since a database of the first version does not have the column.
  const { rows: numbers } = await client.query<{ last: number; oldest: number }>(
    `SELECT coalesce(max(number), 0) AS last,
       coalesce(max(coalesce((to_jsonb(m) ->> 'oldest_code')::integer, number)) FILTER (WHERE number > $1), 0) AS oldest
     FROM migrations m`,
    [newest],
  );
  const { last = 0, oldest = 0 } = numbers[0] ?? {};
  if (oldest <= newest) return last;
  throw new AppError(
    "store_too_new",
    `The database is of version ${last}, on which Tocsins that know ${oldest} or more can run; this one knows versions up to ${newest}.`,
    { hint: "Start the newer Tocsin that wrote it, or restore a backup made before the upgrade." },
  );
}

/** Refuses a log that is only partly here, or continues elsewhere: waiting alerts would be lost, or sent twice. */
async function refuseMoving(client: pg.Client): Promise<void> {
  const mark = await readMark(client);
  if (mark === undefined) return;
  const since = new Date(mark.startedAt).toISOString();
  if (mark.state === "done")
    throw new AppError("conflict", `The log of this database was moved to ${mark.place} (${since}).`, {
      hint: "Unset DATABASE_URL to use it there. `tocsin move --from URL --cancel` has this database used again, with what it held then.",
    });
  const way = mark.direction === "in" ? `from ${mark.place} into it` : `out of it to ${mark.place}`;
  const option = mark.direction === "in" ? "--to" : "--from";
  throw new AppError("conflict", `A log is being moved ${way} (begun ${since}), and that has not come to its end.`, {
    hint: `Run the same \`tocsin move ${option} …\` there again: it continues. With --cancel it gives up.`,
  });
}

/** The holder of a table's lock, or the session that has waited longest for it, in words. Undefined: this role sees neither. */
async function findHolder(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ pid: number; name: string; seconds: number }>(
    `SELECT a.pid, coalesce(nullif(a.application_name, ''), a.backend_type) AS name,
       extract(epoch FROM clock_timestamp() - a.xact_start)::integer AS seconds
     FROM pg_stat_activity a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL
       AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'relation' AND l.granted)
     ORDER BY a.xact_start LIMIT 1`,
  );
  const [holder] = rows;
  return holder && `${holder.name}, process ${holder.pid} of the server, in a transaction for ${holder.seconds} s`;
}

function locked(error: unknown, holder: string | undefined): AppError {
  const by = holder === undefined ? "" : ` (${holder})`;
  const message = `The database cannot be brought up to date while others hold its tables${by}.`;
  const hint =
    "Wait for a dump or a long query to end, and start again: nothing was changed, and relays of the version before continue.";
  return new AppError("store_unavailable", message, { hint, cause: error, retryAfterMs: 10_000 });
}
