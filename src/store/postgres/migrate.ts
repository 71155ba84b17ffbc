import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { AppError } from "../../core/errors.ts";
import { continueChanges } from "./changes.ts";

const folder = new URL("./migrations/", import.meta.url);

/** Of the advisory lock that each migration is made under: one relay at a time changes the schema. */
const lock = 8_072_401_173;

interface Migration {
  /** The number before the name: 1 for `0001_….sql`. */
  number: number;
  name: string;
  sql: string;
}

/**
 * Brings the database to the newest version, each step in a transaction of its own, and one relay after the other when
 * several start at once. A relay of the version before may be running meanwhile.
 *
 * @throws AppError `store_too_new` for a database that a newer Tocsin has written, before anything is written; an error that
 * names the file when its SQL fails: the database is then as it was before that step.
 */
export async function migrate(client: pg.Client, migrations: Migration[] = readMigrations()): Promise<void> {
  while (await migrateOnce(client, migrations));
  await alone(client, () => continueChanges(client));
}

/**
 * For whoever only looks: nothing is changed.
 * @throws AppError `store_too_new`, or `failed` for a database that is still to be brought up to date.
 */
export async function requireNewest(client: pg.Client, migrations: Migration[] = readMigrations()): Promise<void> {
  const current = await readVersion(client);
  requireKnown(current, migrations.length);
  if (current === migrations.length) return;
  const found = current === 0 ? "holds no log yet" : `is of version ${current}; this Tocsin reads ${migrations.length}`;
  throw new AppError("failed", `The database ${found}.`, {
    hint: "Start `tocsin serve` of this version once: it brings the database up to date.",
  });
}

function readMigrations(from: URL = folder): Migration[] {
  const files = readdirSync(from).filter((file) => /^\d{4}_.+\.sql$/.test(file));
  return files.sort().map((name, index) => {
    const number = Number(name.slice(0, 4));
    if (number !== index + 1) throw new Error(`migration ${index + 1} is missing before ${name}`);
    return { number, name, sql: readFileSync(new URL(name, from), "utf8") };
  });
}

/** The next one that is missing, if any. */
async function migrateOnce(client: pg.Client, migrations: Migration[]): Promise<boolean> {
  const current = await readVersion(client);
  requireKnown(current, migrations.length);
  if (current === migrations.length) return false;
  return alone(client, async () => {
    const next = migrations[await readVersion(client)];
    if (next !== undefined) await run(client, next);
    return next !== undefined;
  });
}

/** One transaction, in which no other relay is at this. */
async function alone<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [lock]);
    const value = await work();
    await client.query("COMMIT");
    return value;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

async function run(client: pg.Client, { number, name, sql }: Migration): Promise<void> {
  try {
    await client.query("CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, name text NOT NULL)");
    await client.query(sql);
    await client.query("INSERT INTO migrations (number, name) VALUES ($1, $2)", [number, name]);
  } catch (error) {
    (error as Error).message = `${name} failed: ${(error as Error).message}`;
    throw error;
  }
}

/** 0 for a database that no Tocsin has written. */
async function readVersion(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ known: boolean }>("SELECT to_regclass('migrations') IS NOT NULL AS known");
  if (!rows[0]?.known) return 0;
  const { rows: numbers } = await client.query<{ last: number }>(
    "SELECT coalesce(max(number), 0) AS last FROM migrations",
  );
  return numbers[0]?.last ?? 0;
}

function requireKnown(current: number, newest: number): void {
  if (current <= newest) return;
  throw new AppError(
    "store_too_new",
    `The database is of version ${current}; this Tocsin knows versions up to ${newest}.`,
    { hint: "Start the newer Tocsin that wrote it, or restore a backup made before the upgrade." },
  );
}
