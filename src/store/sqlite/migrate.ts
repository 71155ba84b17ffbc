import type { Database } from "better-sqlite3";
import { AppError } from "../../core/errors.ts";
import { type NumberedFile, readNumberedFiles } from "../numbered-files.ts";

const folder = new URL("./migrations/", import.meta.url);

export type Migration = NumberedFile;

/** The first migration makes everything that earlier versions made step by step. */
export const readMigrations = (from: URL = folder): Migration[] => readNumberedFiles(from, "sqlite");

/**
 * Compares the versions before anything is written.
 * @throws AppError `store_too_new` for a database that a newer Tocsin has written. `failed` for one from before the first
 * migration, and with `exactly` for one that is not up to date, since a reader cannot migrate it.
 */
export function requireVersion(
  db: Database,
  migrations: Migration[],
  { exactly = false }: { exactly?: boolean } = {},
): number {
  const current = db.pragma("user_version", { simple: true }) as number;
  const [first = 0, newest = 0] = [migrations[0]?.number, migrations.at(-1)?.number];
  if (current > newest) {
    throw new AppError(
      "store_too_new",
      `The database is of version ${current}; this Tocsin knows versions up to ${newest}.`,
      { hint: "Start the newer Tocsin that wrote it, or restore a backup made before the upgrade." },
    );
  }
  const isTooOld = current > 0 && current < first;
  if (isTooOld || (exactly && current < newest)) {
    const known = isTooOld ? `continues from version ${first} on` : `reads version ${newest}`;
    throw new AppError("failed", `The database is of version ${current}; this Tocsin ${known}.`, {
      hint: isTooOld
        ? "Start the Tocsin of 24 November 2026 (revision 3fde4bbc) once: it brings the database to that version."
        : "Start `tocsin serve` of this version once: it brings the database up to date.",
    });
  }
  return current;
}

/**
 * Brings the database to the newest version, each step in a transaction of its own. The steps of a new database share one commit,
 * so that no page is written and synced for each. `user_version` counts the steps.
 * @throws an error that names the file when its SQL fails. The database is then as it was before that transaction.
 */
export function migrate(db: Database, migrations: Migration[] = readMigrations()): void {
  const current = requireVersion(db, migrations);
  const steps = migrations.filter(({ number }) => number > current);
  for (const together of current === 0 ? [steps] : steps.map((step) => [step]))
    db.transaction(() => {
      for (const step of together) run(db, step);
    }).immediate();
}

function run(db: Database, { name, number, sql }: Migration): void {
  try {
    db.exec(sql);
    db.pragma(`user_version = ${number}`);
  } catch (error) {
    const problem = new Error(`${name} failed: ${(error as Error).message}`, { cause: error });
    throw Object.assign(problem, { code: (error as { code?: string }).code });
  }
}
