import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import Sqlite, { type Database } from "better-sqlite3";
import { AppError } from "../core/errors.ts";

/** A consistent copy while the original is written to: copied page by page, checked, fsynced, then named. */
export async function copyDatabase(db: Database, to: string): Promise<void> {
  const path = resolve(to);
  if (existsSync(path)) {
    throw new AppError("conflict", `${to} exists already.`, { hint: "Name a file that does not exist." });
  }
  const partial = `${path}.partial`;
  try {
    await db.backup(partial);
    const copy = new Sqlite(partial);
    const verdict = copy.pragma("integrity_check", { simple: true });
    copy.pragma("journal_mode = DELETE");
    copy.close();
    if (verdict !== "ok")
      throw new AppError("failed", `The copy did not pass its integrity check: ${verdict}`);
    syncFile(partial);
    renameSync(partial, path);
    syncFile(dirname(path));
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

function syncFile(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
