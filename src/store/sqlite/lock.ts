import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { AppError } from "../../core/errors.ts";
import { makePrivateFolder } from "../../ground/files/private-folder.ts";
import { toOpenError } from "./open-error.ts";
import { Sqlite } from "./sqlite-library.ts";

/**
 * One process per data folder. The lock is SQLite's own file lock, which the operating system lifts when the process
 * ends in whatever way; a lock file with a process id would outlive a SIGKILL.
 *
 * @throws AppError `store_locked` when another process holds it, `store_unavailable` when the folder cannot be used.
 */
export function lockDataFolder(dataDir: string): { release(): void } {
  const path = join(dataDir, "tocsin.lock");
  let db: Database | undefined;
  try {
    makePrivateFolder(dataDir);
    closeSync(openSync(path, "a", 0o600));
    db = new Sqlite(path, { timeout: 0 });
    db.pragma("journal_mode = DELETE");
    // A database with a page is locked without writing; an empty one could not be locked on a full disk.
    if (db.pragma("user_version", { simple: true }) === 0) db.pragma("user_version = 1");
    db.exec("BEGIN EXCLUSIVE");
    const held = db;
    return { release: () => held.close() };
  } catch (error) {
    db?.close();
    if ((error as { code?: string }).code !== "SQLITE_BUSY")
      throw toOpenError(error, `The data folder ${dataDir}`);
    throw new AppError("store_locked", `Another Tocsin already uses the data folder ${dataDir}.`, {
      hint: "Stop it first, or give this one a folder of its own with DATA_DIR.",
    });
  }
}
