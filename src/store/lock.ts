import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { AppError } from "../core/errors.ts";

/**
 * One process per data folder. The lock is SQLite's own file lock, which the operating system lifts when the process
 * ends in whatever way; a lock file with a process id would outlive a SIGKILL.
 *
 * @throws AppError `store_locked` when another process holds it.
 */
export function lockDataFolder(dataDir: string): { release(): void } {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const db = new Sqlite(join(dataDir, "tocsin.lock"), { timeout: 0 });
  try {
    db.pragma("journal_mode = DELETE");
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
    throw new AppError("store_locked", `Another Tocsin already uses the data folder ${dataDir}.`, {
      hint: "Stop it first, or give this one a folder of its own with DATA_DIR.",
    });
  }
  return { release: () => db.close() };
}
