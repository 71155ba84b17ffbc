import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { AppError } from "../../core/errors.ts";
import { renameFile, syncFile } from "../../ground/files/replace-file.ts";
import { Sqlite, withSqlite } from "./sqlite-library.ts";

/** Pages that are copied before other work of this thread gets its turn: 4 MiB. */
const pagesPerTurn = 1024;

/**
 * A consistent copy of a database that is in use: copied page by page, checked, fsynced, then named. Only its owner can read it.
 *
 * The copy reads in one read transaction of its own connection. Without that, it starts again with every commit of others, and
 * never ends under steady writing (sqlite.org/c3ref/backup_finish.html).
 * @throws AppError `conflict` when a file has that name, `invalid_request` when its folder is missing.
 */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const path = resolve(to);
  refuseExisting(path, to);
  if (!existsSync(dirname(path))) {
    throw new AppError("invalid_request", `The folder of ${to} does not exist.`, {
      hint: "Make it first, or name a file elsewhere.",
    });
  }
  const partial = `${path}.partial`;
  try {
    closeSync(openSync(partial, "w", 0o600));
    await copyPages(from, partial);
    checkCopy(partial);
    await syncFile(partial);
    refuseExisting(path, to);
    await renameFile(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

function refuseExisting(path: string, name: string): void {
  if (!existsSync(path)) return;
  throw new AppError("conflict", `${name} exists already.`, { hint: "Name a file that does not exist." });
}

async function copyPages(from: string, to: string): Promise<void> {
  const source = new Sqlite(from, { readonly: true, fileMustExist: true });
  try {
    // BEGIN alone opens no transaction. The first read does.
    source.exec("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1");
    await source.backup(to, { progress: () => pagesPerTurn });
  } finally {
    source.close();
  }
}

function checkCopy(path: string): void {
  const [damage] = findDamage(path);
  if (damage !== undefined)
    throw new AppError("failed", `The copy did not pass its integrity check: ${damage}`, {
      hint: "The database is damaged, or the disk that the copy lies on: docs/backup.md says what to do.",
    });
  // One file is easier to keep than a file and its log.
  withSqlite(path, {}, (db) => db.pragma("journal_mode = DELETE"));
}

/** The damage of the database, one line each. */
export function findDamage(path: string): string[] {
  try {
    const rows = withSqlite(path, {}, (db) => db.pragma("integrity_check(10)")) as { integrity_check: string }[];
    const lines = rows.flatMap((row) => row.integrity_check.split("\n"));
    return lines.filter((line) => line !== "ok" && !line.startsWith("***")).slice(0, 10);
  } catch (error) {
    const { code = "", message } = error as { code?: string; message: string };
    // SQLite has many codes for damage, for example for an index over damaged JSON or a damaged list of tables.
    if (!code.startsWith("SQLITE_") || /^SQLITE_(BUSY|CANTOPEN|FULL|PERM|READONLY)/.test(code)) throw error;
    return [message];
  }
}
