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
 * Brings the database to the newest version, each step in a transaction of its own. `user_version` counts the steps.
 *
 * @throws an error that names the file when its SQL fails; the database is then as it was before that step.
 */
export function migrate(db: Database, migrations: Migration[] = readMigrations()): void {
  const current = requireVersion(db, migrations);
  for (const migration of migrations.slice(current)) {
    try {
      db.transaction(() => {
        db.exec(migration.sql);
        db.pragma(`user_version = ${migration.number}`);
      }).immediate();
    } catch (error) {
      const problem = new Error(`${migration.name} failed: ${(error as Error).message}`, { cause: error });
      throw Object.assign(problem, { code: (error as { code?: string }).code });
    }
  }
}
