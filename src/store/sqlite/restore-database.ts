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
  /** The new place of the former database. Absent: there was none. */
  kept?: string;
  alerts: number;
  lastReceivedAt?: number;
  /** Waiting deliveries, which leave at the start, and alerts that wait for routing. */
  waiting: number;
}

/**
 * Replaces the database at `path` by a checked copy of the database `from`. The former one is kept next to it, and has its name
 * until the last step, which renames a file. No other process may have it open.
 * @throws AppError `not_found`, `store_too_new`, or the damage of the file. Nothing has changed then.
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
 * Replaces the database at `path` by a new one, see `replaceDatabase`.
 * @param from the file that the new one is made from. Its size is the room that is needed
 * @param make makes the new one in the file of this name
 * @throws AppError where the disk lacks room, and the error of `make`. Nothing has changed then.
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

/** Removes the files that a killed run has left next to the database. */
export function removeUnfinished(path: string): void {
  for (const doing of Object.values(drafts))
    for (const ending of ["", ".partial", "-wal", "-shm", "-journal"])
      rmSync(`${path}.${doing}${ending}`, { force: true });
  if (existsSync(path)) removeSecondNames(path);
}

const journals = [".reading", ".claims"];

/** Before the last step the database has a second name. A killed process may have left one that is not a copy. */
function removeSecondNames(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    const other = join(dirname(path), name);
    // A name with a write-ahead log next to it stays: nothing else has the changes in that log.
    if (!name.startsWith(`${basename(path)}.before-`) || existsSync(`${other}-wal`)) continue;
    if (!isSameFile(other, path)) continue;
    // These files moved before the last step, and belong to the database at `path` again.
    for (const ending of journals) {
      if (!existsSync(`${other}${ending}`)) continue;
      if (existsSync(`${path}${ending}`)) rmSync(`${other}${ending}`);
      else renameSync(`${other}${ending}`, `${path}${ending}`);
    }
    rmSync(other);
  }
}

function isSameFile(one: string, other: string): boolean {
  // As a plain number, a large one of some file systems would be rounded to another file's.
  const [first, second] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false, bigint: true }));
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

/** `tocsin.db.before-restore-20261121T120000Z`. A number is added where a file of the same second has this name. */
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

/** Notes the time that the copy does not cover: the watch over missing alerts must not look for alerts of that time here. */
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

export function removeDatabase(path: string): void {
  for (const ending of ["", "-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true });
}

/** The endings of files next to a database that are of no use to another one. */
const companions = ["-wal", "-shm", ...journals];

/**
 * Gives the database `draft` the name `path`, and the former one the name `kept`. The former one's write-ahead log is first
 * emptied into it. If it is too damaged for that, its log gets the name of `kept` too. After a kill at this point, the damaged
 * database is at `path` without its log, and both are under the names of `kept`.
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

/** Renames the database at `path` and the files next to it to `kept`. Throws, unchanged, where it is being read. */
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

/** A second name: the first name then always leads to a database. */
function linkOrCopy(path: string, kept: string): void {
  try {
    linkSync(path, kept);
  } catch (error) {
    if (isWithoutRoom(error)) throw error;
    copyFileSync(path, kept);
  }
}
