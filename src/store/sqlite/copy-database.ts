import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Database } from "better-sqlite3";
import { AppError } from "../../core/errors.ts";
import { renameFile, syncFile } from "../../ground/files/replace-file.ts";
import { Sqlite } from "./sqlite-library.ts";

/** Pages copied before others of this thread get their turn: 4 MiB. */
const pagesPerTurn = 1024;

/**
 * A consistent copy while the original is written to: copied page by page, checked, fsynced, then named. Readable by
 * its owner only, as the original is.
 *
 * It reads through a connection of its own, in one read transaction: a copy that takes each page as it is by then
 * starts anew with every commit of others, and under steady writing never ends (sqlite.org/c3ref/backup_finish.html).
 *
 * @throws AppError `conflict` when there is a file of that name, `invalid_request` when its folder is missing.
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
    // BEGIN alone opens nothing; the first read does.
    source.exec("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1");
    await source.backup(to, { progress: () => pagesPerTurn });
  } finally {
    source.close();
  }
}

function checkCopy(path: string): void {
  const copy = new Sqlite(path);
  try {
    const verdict = checkIntegrity(copy);
    if (verdict !== "ok")
      throw new AppError("failed", `The copy did not pass its integrity check: ${verdict}`, {
        hint: "The database is damaged, or the disk that the copy lies on: docs/backup.md says what to do.",
      });
    // One file is easier to keep than a file with a log.
    copy.pragma("journal_mode = DELETE");
  } finally {
    copy.close();
  }
}

/** "ok", or the first thing that is wrong. Some damage ends the check itself. */
function checkIntegrity(db: Database): string {
  try {
    const found = String(db.pragma("integrity_check(1)", { simple: true }));
    return found.replace("*** in database main ***\n", "").split("\n", 1)[0] ?? found;
  } catch (error) {
    if ((error as { code?: string }).code !== "SQLITE_CORRUPT") throw error;
    return (error as Error).message;
  }
}
