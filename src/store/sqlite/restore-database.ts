import { copyFileSync, existsSync, linkSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { AppError } from "../../core/errors.ts";
import { restoresStateName } from "../../core/ports/watch.ts";
import { readRoom } from "../../ground/files/disk-room.ts";
import { giveToOwner, renameFile } from "../../ground/files/replace-file.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import { copyDatabase } from "./copy-database.ts";
import { readMigrations, requireVersion } from "./migrate.ts";
import { withSqlite } from "./sqlite-library.ts";
import { isDamage, isDiskFull, toOpenError } from "./store-error.ts";

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
 * Puts a checked copy of the database `from` in the place of the one at `path`, which is kept next to it. Until the last
 * step, the renaming of a file, the former database stands under its name. Nobody else may have it open.
 *
 * @throws AppError `not_found`, `store_too_new`, or what is wrong with the file; nothing has changed then.
 */
export async function restoreDatabase(from: string, path: string, now: number): Promise<Restored> {
  if (!existsSync(from))
    throw new AppError("not_found", `there is no file ${from}`, { hint: "name a file that `tocsin backup` made" });
  if (isSameFile(from, path))
    throw new AppError("invalid_request", `${from} is the database itself, or a second name of it`, {
      hint: "name a file that `tocsin backup` made",
    });
  return renewDatabase(path, { why: "restore", from, now }, async (draft) => {
    await copyDatabase(from, draft);
    const found = look(draft, from);
    noteRestore(draft, { fromAt: found.lastReceivedAt ?? 0, toAt: now });
    return found;
  });
}

const drafts = { restore: "restoring", repair: "repairing" };

/**
 * Puts a new database in the place of the one at `path`, see `replaceDatabase`.
 *
 * @param from what the new one is made of, and what it needs room for
 * @param make makes it in the file of this name
 * @throws AppError where there is no room, and what `make` throws. Nothing has changed then.
 */
export async function renewDatabase<Made>(
  path: string,
  { why, from, now }: { why: keyof typeof drafts; from: string; now: number },
  make: (draft: string) => Promise<Made>,
): Promise<Made & { kept?: string }> {
  removeUnfinished(path);
  const { size } = statSync(from);
  if (readRoom(dirname(path)).freeBytes < size) throw noRoomError(path, undefined, size);
  try {
    const draft = `${path}.${drafts[why]}`;
    const made = await make(draft);
    return { ...made, kept: await replaceDatabase(draft, path, keptName(path, why, now)) };
  } catch (error) {
    removeUnfinished(path);
    throw isWithoutRoom(error) ? noRoomError(path, error) : toOpenError(error, from);
  }
}

/** What a run that was killed has left next to the database. */
export function removeUnfinished(path: string): void {
  for (const doing of Object.values(drafts))
    for (const ending of ["", ".partial", "-wal", "-shm", "-journal"])
      rmSync(`${path}.${doing}${ending}`, { force: true });
  if (existsSync(path)) removeSecondNames(path);
}

/** Before the last step the database has a second name. A process that was killed there has left one that is no copy of it. */
function removeSecondNames(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    const other = join(dirname(path), name);
    // One with a log of changes next to it stays: nothing else has those changes.
    if (!name.startsWith(`${basename(path)}.before-`) || existsSync(`${other}-wal`)) continue;
    if (isSameFile(other, path)) rmSync(other);
  }
}

function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev;
}

const isWithoutRoom = (error: unknown): boolean =>
  isDiskFull(error) || /^(ENOSPC|EDQUOT|EFBIG)$/.test((error as { code?: string } | null)?.code ?? "");

function noRoomError(path: string, cause?: unknown, bytes?: number): AppError {
  const needed = bytes === undefined ? "" : `: it takes ${formatBytes(bytes)}`;
  const message = `there is no room in ${dirname(path)} for a new database${needed}; nothing was changed`;
  const hint = "make room there, or move what an earlier restore or repair has kept (tocsin.db.before-…)";
  return new AppError("failed", message, { hint, cause });
}

/** `tocsin.db.before-restore-20261121T120000Z`; what was kept in the same second stays as it is. */
export function keptName(path: string, why: string, now: number): string {
  const name = `${path}.before-${why}-${new Date(now).toISOString().replace(/\.\d+|[-:]/g, "")}`;
  for (let number = 1; ; number += 1) {
    const free = number === 1 ? name : `${name}-${number}`;
    if (!existsSync(free)) return free;
  }
}

function look(path: string, from: string): Omit<Restored, "kept"> {
  return withSqlite(path, { readonly: true }, (db) => {
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
  });
}

const mostNoted = 20;

/** The watch over missing alerts must not look for the alerts of that time in this log. */
function noteRestore(path: string, time: { fromAt: number; toAt: number }): void {
  withSqlite(path, {}, (db) => {
    const known = db.prepare<[string], string>("SELECT state FROM watch_states WHERE name = ?").pluck();
    const { times = [] } = JSON.parse(known.get(restoresStateName) ?? "{}") as { times?: unknown[] };
    db.prepare("INSERT OR REPLACE INTO watch_states (name, state) VALUES (?, ?)").run(
      restoresStateName,
      JSON.stringify({ times: [...times, time].slice(-mostNoted) }),
    );
  });
}

/** With its log of changes. */
export function removeDatabase(path: string): void {
  for (const ending of ["", "-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });
}

/** What a process leaves next to the database that belongs to its state alone. */
const companions = ["-wal", "-shm", ".reading", ".claims"];

/**
 * Gives the database `draft` the name `path`, and what stood there the name `kept`. Its log of changes is emptied into
 * it first. A log of one that is too damaged for that is kept next to it: this is the one step behind which a kill leaves
 * the damaged one without what the log had: both are under the names of what was kept then.
 *
 * @throws AppError where the former one is being read, or cannot be written to. Nothing has changed then.
 */
async function replaceDatabase(draft: string, path: string, kept: string): Promise<string | undefined> {
  giveToOwner(draft);
  if (!existsSync(path)) {
    for (const ending of companions) rmSync(`${path}${ending}`, { force: true });
    await renameFile(draft, path);
    return undefined;
  }
  emptyLogInto(path);
  linkOrCopy(path, kept);
  for (const ending of companions)
    if (existsSync(`${path}${ending}`)) renameSync(`${path}${ending}`, `${kept}${ending}`);
  await renameFile(draft, path);
  return kept;
}

/**
 * Gives the database at `path` the name `kept`, with what lies next to it: there is none then.
 * @throws AppError where it is being read. Nothing has changed then.
 */
export async function setDatabaseAside(path: string, kept: string): Promise<void> {
  emptyLogInto(path);
  await renameFile(path, kept);
  for (const ending of companions)
    if (existsSync(`${path}${ending}`)) renameSync(`${path}${ending}`, `${kept}${ending}`);
  rmSync(`${path}.ballast`, { force: true });
}

function emptyLogInto(path: string): void {
  let isRead = false;
  try {
    const [outcome] = withSqlite(path, { timeout: 1_000 }, (db) => db.pragma("wal_checkpoint(TRUNCATE)")) as {
      busy: number;
    }[];
    isRead = outcome?.busy === 1;
  } catch (error) {
    if (!isDamage(error)) throw isWithoutRoom(error) ? noRoomError(path, error) : toOpenError(error, path);
  }
  if (isRead) {
    throw new AppError("store_unavailable", `another program reads ${path} just now; nothing was changed`, {
      hint: "wait until it has ended, or stop it: an export, a backup, a list",
    });
  }
}

/** A second name, so that the first one never leads to nothing. */
function linkOrCopy(path: string, kept: string): void {
  try {
    linkSync(path, kept);
  } catch (error) {
    if (isWithoutRoom(error)) throw error;
    copyFileSync(path, kept);
  }
}
