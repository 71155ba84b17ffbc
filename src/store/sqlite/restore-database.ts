import { chownSync, copyFileSync, existsSync, linkSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { AppError } from "../../core/errors.ts";
import { renameFile } from "../../ground/files/replace-file.ts";
import { copyDatabase } from "./copy-database.ts";
import { readMigrations, requireVersion } from "./migrate.ts";
import { Sqlite } from "./sqlite-library.ts";
import { toOpenError } from "./store-error.ts";

export interface Restored {
  /** Where the database lies that was there before. Absent: there was none. */
  kept?: string;
  /** Alerts in it, and when the newest came. */
  alerts: number;
  lastReceivedAt?: number;
  /** Deliveries that wait in it and go out at the start, and alerts that are to be routed yet. */
  waiting: number;
}

/**
 * Puts a checked copy of the database `from` in the place of the one at `path`, which is kept beside it. Until the last
 * step, the renaming of a file, the former database stands under its name. Nobody else may have it open.
 *
 * @throws AppError `not_found`, `store_too_new`, or what is wrong with the file; nothing has changed then.
 */
export async function restoreDatabase(from: string, path: string, now: number): Promise<Restored> {
  if (!existsSync(from))
    throw new AppError("not_found", `there is no file ${from}`, { hint: "name a file that `tocsin backup` made" });
  const beside = `${path}.restoring`;
  rmSync(beside, { force: true });
  try {
    await copyDatabase(from, beside);
    const found = look(beside, from);
    return { ...found, kept: await replaceDatabase(beside, path, keptName(path, "restore", now)) };
  } catch (error) {
    rmSync(beside, { force: true });
    throw toOpenError(error, from);
  }
}

/** `tocsin.db.before-restore-20261121T120000Z` */
export function keptName(path: string, why: string, now: number): string {
  return `${path}.before-${why}-${new Date(now).toISOString().replace(/\.\d+|[-:]/g, "")}`;
}

function look(path: string, from: string): Omit<Restored, "kept"> {
  const db = new Sqlite(path, { readonly: true });
  try {
    const one = (sql: string) => db.prepare<[], number | null>(sql).pluck().get() ?? undefined;
    if (requireVersion(db, readMigrations()) === 0 || !one("SELECT 1 FROM sqlite_schema WHERE name = 'alerts'"))
      throw new AppError("invalid_request", `${from} is a database, but none of Tocsin's`, {
        hint: "name a file that `tocsin backup` made",
      });
    const due = one("SELECT count(*) FROM deliveries WHERE due_at IS NOT NULL OR claim_token IS NOT NULL") ?? 0;
    return {
      alerts: one("SELECT count(*) FROM alerts") ?? 0,
      lastReceivedAt: one("SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1"),
      waiting: due + (one("SELECT count(*) FROM alerts WHERE routed_at IS NULL") ?? 0),
    };
  } finally {
    db.close();
  }
}

/** What a process leaves beside the database that belongs to its state alone. */
const companions = ["-wal", "-shm", ".reading", ".claims"];

/**
 * Gives the database `beside` the name `path`, and what stood there the name `kept`. Its log of changes is emptied into
 * it first; where that fails, since it is damaged, the log is kept beside it.
 */
export async function replaceDatabase(beside: string, path: string, kept: string): Promise<string | undefined> {
  giveToOwner(beside, dirname(path));
  if (!existsSync(path)) {
    for (const ending of companions) rmSync(`${path}${ending}`, { force: true });
    await renameFile(beside, path);
    return undefined;
  }
  emptyLogInto(path);
  linkOrCopy(path, kept);
  for (const ending of companions)
    if (existsSync(`${path}${ending}`)) renameSync(`${path}${ending}`, `${kept}${ending}`);
  await renameFile(beside, path);
  return kept;
}

function emptyLogInto(path: string): void {
  try {
    const db = new Sqlite(path);
    try {
      db.pragma("wal_checkpoint(TRUNCATE)");
    } finally {
      db.close();
    }
  } catch {
    // What cannot be opened is kept as it is, its log with it.
  }
}

/** A second name, so that the first one never leads to nothing. */
function linkOrCopy(path: string, kept: string): void {
  try {
    linkSync(path, kept);
  } catch {
    copyFileSync(path, kept);
  }
}

/** Root restores for the user that the folder belongs to. */
function giveToOwner(path: string, folder: string): void {
  const { uid, gid } = statSync(join(folder, "."));
  if (statSync(path).uid !== uid) chownSync(path, uid, gid);
}
