import { readdirSync, readFileSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { AppError } from "../../core/errors.ts";

const folder = new URL("./migrations/", import.meta.url);

export interface Migration {
  /** The number before the name: 1 for `0001_….sql`. */
  number: number;
  name: string;
  sql: string;
}

/** The numbered SQL files beside this one, in their order. A missing number is a broken installation. */
export function readMigrations(from: URL = folder): Migration[] {
  const migrations = readdirSync(from)
    .filter((file) => /^\d{4}_.+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      number: Number(file.slice(0, 4)),
      name: file,
      sql: readFileSync(new URL(file, from), "utf8"),
    }));
  migrations.forEach((migration, index) => {
    if (migration.number !== index + 1) throw new Error(`migration ${index + 1} is missing before ${migration.name}`);
  });
  return migrations;
}

/**
 * Compares before anything is written.
 *
 * @throws AppError `store_too_new` for a database that a newer Tocsin has written; with `exactly`, `failed` for one
 * that still has to be migrated, since whoever only reads cannot do it.
 */
export function requireVersion(
  db: Database,
  migrations: Migration[],
  { exactly = false }: { exactly?: boolean } = {},
): number {
  const current = db.pragma("user_version", { simple: true }) as number;
  if (current > migrations.length) {
    throw new AppError(
      "store_too_new",
      `The database is of version ${current}; this Tocsin knows versions up to ${migrations.length}.`,
      { hint: "Start the newer Tocsin that wrote it, or restore a backup made before the upgrade." },
    );
  }
  if (exactly && current < migrations.length) {
    throw new AppError(
      "failed",
      `The database is of version ${current}; this Tocsin reads version ${migrations.length}.`,
      { hint: "Start `tocsin serve` of this version once: it brings the database up to date." },
    );
  }
  return current;
}

/**
 * Brings the database to the newest version, each step in a transaction of its own; those of a new database share one
 * commit, since pages that each step changes anew would be written and synced again and again. `user_version` counts
 * the steps.
 *
 * @throws an error that names the file when its SQL fails; the database is then as it was before that step.
 */
export function migrate(db: Database, migrations: Migration[] = readMigrations()): void {
  const current = requireVersion(db, migrations);
  const steps = migrations.slice(current);
  const failure = current === 0 ? db.transaction(() => runTogether(db, steps)).immediate() : runEach(db, steps);
  if (failure !== undefined) throw failure;
}

function runTogether(db: Database, steps: Migration[]): Error | undefined {
  const failure = runEach(db, steps);
  // A full disk has rolled back all of it, and there is nothing to commit.
  if (failure !== undefined && !db.inTransaction) throw failure;
  return failure;
}

/** Until one fails: what it is told by. Those before it stay. */
function runEach(db: Database, steps: Migration[]): Error | undefined {
  for (const { name, number, sql } of steps) {
    try {
      // One of them changes what a table was declared with, as https://sqlite.org/lang_altertable.html#otheralter says.
      db.unsafeMode(true);
      db.transaction(() => {
        db.exec(sql);
        db.pragma(`user_version = ${number}`);
      }).immediate();
    } catch (error) {
      const problem = new Error(`${name} failed: ${(error as Error).message}`, { cause: error });
      return Object.assign(problem, { code: (error as { code?: string }).code });
    } finally {
      db.unsafeMode(false);
    }
  }
  return undefined;
}
