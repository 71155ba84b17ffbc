import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../core/errors.ts";
import { giveToOwner, renameFile, replaceFile, syncFile } from "../ground/files/replace-file.ts";
import { databasePlace } from "../ground/net/database-place.ts";
import { keptFiles } from "./kept-files.ts";
import {
  countRows,
  describeState,
  keyOf,
  type MovedKey,
  type MovedRow,
  type MovedTable,
  type MoveMark,
  type MoveSide,
  type MoveTarget,
  movedTables,
  readPage,
  readRows,
  textOfRow,
} from "./moved-tables.ts";
import { connect } from "./postgres/connect.ts";
import { migrate } from "./postgres/migrate.ts";
import { MovedDatabase, readMark } from "./postgres/moved-log.ts";
import { isOfConnection, toOpenError } from "./postgres/store-error.ts";
import { openMovedLog, openMovedLogTarget } from "./sqlite/moved-log.ts";
import { keptName, removeDatabase, setDatabaseAside } from "./sqlite/restore-database.ts";
import { toOpenError as toSqliteError } from "./sqlite/store-error.ts";
import { databaseFileName, lockDataFolder } from "./sqlite/threaded-store.ts";

export interface MoveOptions {
  dataDir: string;
  /** The PostgreSQL database's address. */
  url: string;
  now(): number;
  signal: AbortSignal;
  onProgress(progress: MoveProgress): Promise<void>;
}

/** How far a move is: rows, or indexes in the step `indexing`. */
export interface MoveProgress {
  step: "copying" | "indexing" | "comparing";
  table?: string;
  done: number;
  all: number;
}

export interface Moved {
  /** The rows of each table, and a digest that is the same on both sides. */
  tables: { name: string; rows: number; digest: string }[];
  /** Deliveries and alerts that the next relay continues. */
  waiting: number;
  /** Whether this run has continued an interrupted one. */
  isResumed: boolean;
  /** The new place of SQLite's file. */
  kept?: string;
  /** Times (epoch milliseconds) of alerts that were stored much later. A search by time in SQLite may miss them. */
  late?: { from: number; to: number }[];
}

/** The content of `move.json`: the move that the folder belongs to, and the later name of SQLite's file. */
interface Note {
  id: string;
  kept?: string;
}

const notePath = (dataDir: string) => join(dataDir, "move.json");

async function readNote(dataDir: string): Promise<Note | undefined> {
  const text = await readFile(notePath(dataDir), "utf8").catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Note);
}

const writeNote = (dataDir: string, note: Note) => replaceFile(notePath(dataDir), `${JSON.stringify(note)}\n`);

/** Holds both sides alone: no relay has the folder, and no other move has the database. */
async function withBoth<T>(
  { dataDir, url }: MoveOptions,
  work: (database: MovedDatabase, note: Note | undefined, found: MoveMark | undefined) => Promise<T>,
): Promise<T> {
  const lock = lockDataFolder(dataDir);
  try {
    const connections = await connect({ url, name: "tocsin move" });
    const client = await connections.open(true).catch(async (error: unknown) => {
      await connections.close();
      throw error;
    });
    try {
      if (connections.isPooled()) throw pooled(databasePlace(url));
      const database = new MovedDatabase(client);
      await database.lock(() => sleep(250));
      await client.query("SET maintenance_work_mem = '256MB'; SET synchronous_commit = off");
      await migrate(client, { isMoving: true });
      return await work(database, await readNote(dataDir), await readMark(client));
    } catch (error) {
      throw inWords(error, { dataDir, url });
    } finally {
      await client.end().catch(() => {});
      await connections.close();
    }
  } finally {
    lock.release();
  }
}

function markOf(
  { dataDir, now }: Pick<MoveOptions, "dataDir" | "now">,
  known: Pick<MoveMark, "id" | "direction" | "source">,
): MoveMark {
  return { ...known, state: "copying", place: placeOf(dataDir), startedAt: now(), done: {} };
}

const placeOf = (dataDir: string) => `SQLite in ${dataDir} on ${hostname()}`;

function inWords(error: unknown, { dataDir, url }: Pick<MoveOptions, "dataDir" | "url">): unknown {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === "string" && code.startsWith("SQLITE_"))
    return toSqliteError(error, `The database ${join(dataDir, databaseFileName)}`);
  const isOfServer = isOfConnection(error) || (error as { severity?: unknown } | null)?.severity !== undefined;
  return isOfServer ? toOpenError(error, `The database ${databasePlace(url)}`) : error;
}

/**
 * Copies the log of SQLite in `dataDir` into an empty PostgreSQL, compares both, and sets SQLite's file aside. No relay starts on
 * either until that is done. A move that was killed continues when this is called again.
 * @throws AppError `not_found`, `conflict` where something else is in the database, `store_locked` while a relay has the folder:
 * nothing has changed then. `failed` when the two sides differ.
 */
export function moveToPostgres(options: MoveOptions): Promise<Moved> {
  const { dataDir, now } = options;
  const path = join(dataDir, databaseFileName);
  return withBoth(options, async (database, note, found) => {
    const isOwn = found?.direction === "in" && found.id === note?.id;
    if (!existsSync(path)) return endMoveTo(database, dataDir, note, isOwn ? found : undefined);
    if (found !== undefined && !isOwn) throw otherMove(found);
    await refuseAlive(database);
    if (!isOwn) await refuseKept(database);
    const log = openMovedLog(path);
    try {
      const source = await describeState(log);
      const isResumed = isOwn && found.source === source;
      // A former run may have been killed right after the note was written. Its mark has this id.
      const mark = isResumed
        ? found
        : markOf(options, { direction: "in", source, id: isOwn ? found.id : randomUUID() });
      await writeNote(dataDir, { id: mark.id });
      if (!isResumed) await database.prepare(mark);
      const tables = await copyAll(options, mark, log, database);
      const waiting = await database.countWaiting();
      await moveSecretsTo(database, dataDir);
      await database.ask("SET synchronous_commit = on");
      await database.writeMark({ ...mark, state: "copied" });
      log.close();
      const kept = keptName(path, "move", now());
      await writeNote(dataDir, { id: mark.id, kept });
      await setDatabaseAside(path, kept);
      await database.dropMark();
      await rm(notePath(dataDir), { force: true });
      return { tables, waiting, isResumed, kept };
    } finally {
      log.close();
    }
  });
}

/** The last step, after the file has its new name: lets relays in. */
async function endMoveTo(
  database: MovedDatabase,
  dataDir: string,
  note: Note | undefined,
  mark: MoveMark | undefined,
): Promise<Moved> {
  const kept = note?.kept;
  if (kept === undefined || !existsSync(kept) || (mark !== undefined && mark.state !== "copied"))
    throw new AppError("not_found", `there is no log of SQLite in ${dataDir}`, {
      hint: "name the folder of the relay with DATA_DIR",
    });
  const moved = await describeMoved(database);
  if (mark !== undefined) await database.dropMark();
  await rm(notePath(dataDir), { force: true });
  return { ...moved, kept };
}

/**
 * Moves the log of PostgreSQL into a `dataDir` without a log. No relay runs on the database, and none starts on it any more.
 * @throws AppError as `moveToPostgres` does
 */
export function moveFromPostgres(options: MoveOptions): Promise<Moved> {
  const { dataDir } = options;
  const path = join(dataDir, databaseFileName);
  const beside = `${path}.moving`;
  return withBoth(options, async (database, note, found) => {
    if (found?.direction === "in") throw otherMove(found);
    const isOwn = found !== undefined && found.id === note?.id;
    if (existsSync(path)) {
      if (isOwn && found.state === "done" && !existsSync(beside)) return endMoveFrom(database, dataDir);
      throw new AppError("conflict", `there is a log of SQLite in ${dataDir} already; nothing was changed`, {
        hint: `name an empty folder with DATA_DIR, or move ${databaseFileName} away`,
      });
    }
    if (found?.state === "done" && !isOwn) throw otherMove(found);
    if (found?.state === "done" && existsSync(beside)) {
      await renameFile(beside, path);
      return endMoveFrom(database, dataDir);
    }
    await refuseAlive(database);
    const source = await describeState(database);
    const isResumed = isOwn && found.source === source && existsSync(beside);
    if (!isResumed) removeDatabase(beside);
    const mark = isResumed ? found : markOf(options, { direction: "out", source, id: randomUUID() });
    await writeNote(dataDir, { id: mark.id });
    await database.writeMark(mark);
    const log = openMovedLogTarget(beside);
    try {
      mark.done = log.done;
      const tables = await copyAll(options, mark, database, log);
      await refuseAlive(database);
      if ((await describeState(database)) !== source)
        throw new AppError("failed", "the log was written to while it was moved", {
          hint: "stop every relay, and run it again",
        });
      await moveSecretsFrom(database, dataDir);
      log.seal();
      log.close();
      await syncFile(beside);
      giveToOwner(beside);
      // Written first: until the file has its name, a relay finds no log. After that it finds one, in SQLite alone.
      await database.ask("SET synchronous_commit = on");
      await database.writeMark({ ...mark, state: "done" });
      await renameFile(beside, path);
      return { ...(await endMoveFrom(database, dataDir)), tables, isResumed };
    } finally {
      log.close();
    }
  });
}

async function endMoveFrom(database: MovedDatabase, dataDir: string): Promise<Moved> {
  await rm(notePath(dataDir), { force: true });
  return { ...(await describeMoved(database)), late: await database.listLate() };
}

/** The result of a former run that has moved and compared everything. */
async function describeMoved(database: MovedDatabase): Promise<Moved> {
  const tables = [];
  for (const table of movedTables)
    tables.push({ name: table.name, rows: await countRows(database, table), digest: "" });
  return { tables, waiting: await database.countWaiting(), isResumed: true };
}

/**
 * Gives up an interrupted move: relays start again where the log was. @throws AppError `not_found` where none was interrupted,
 * `conflict` where the move belongs to another folder, or only its last step is left.
 */
export function cancelMove(options: MoveOptions, direction: MoveMark["direction"]): Promise<void> {
  const { dataDir } = options;
  const path = join(dataDir, databaseFileName);
  return withBoth(options, async (database, note, mark) => {
    if (mark === undefined || mark.direction !== direction)
      throw new AppError("not_found", "no such move was begun on this database", {
        hint: "there is nothing to give up",
      });
    if (direction === "in" && mark.id !== note?.id) throw otherMove(mark);
    if (direction === "in" && !existsSync(path))
      throw new AppError("conflict", "that move is done but for its last step", {
        hint: "run it again without --cancel; to go back afterwards: tocsin move --from",
      });
    // A relay would then start on either side.
    if (direction === "out" && existsSync(path) && (mark.id === note?.id || mark.place === placeOf(dataDir)))
      throw new AppError("conflict", `that move is done but for its last step: the log is in ${path}`, {
        hint:
          "run it again without --cancel. To go back to PostgreSQL afterwards, move it into an empty database; " +
          "or, when nothing that SQLite has is wanted, move that file away and run this again",
      });
    if (direction === "in") await database.cancel(mark);
    else if (mark.id === note?.id) removeDatabase(`${path}.moving`);
    await database.dropMark();
    if (mark.id === note?.id) await rm(notePath(dataDir), { force: true });
  });
}

/** Senders and people know the secrets of the log that moves. A folder has none where the configuration gives them all. */
async function moveSecretsTo(database: MovedDatabase, dataDir: string): Promise<void> {
  const files = keptFiles(dataDir);
  const names = await files.list();
  const texts = await files.read(...names);
  if (names.length === 0) return;
  await database.replaceKept(names.map((name, index) => [name, texts[index] ?? ""]));
}

/** Secrets that were retired meanwhile must not be accepted any more, so they are included. */
async function moveSecretsFrom(database: MovedDatabase, dataDir: string): Promise<void> {
  const records = await database.readKept();
  const files = keptFiles(dataDir);
  if (records.size === 0) return;
  for (const name of await files.list()) if (!records.has(name)) await files.write(name, undefined);
  for (const [name, text] of records) await files.write(name, text);
}

async function countAll(side: MoveSide): Promise<number> {
  let all = 0;
  for (const table of movedTables) all += await countRows(side, table);
  return all;
}

/** Copies what the mark does not list as done, and compares everything. */
async function copyAll(
  options: MoveOptions,
  mark: MoveMark,
  source: MoveSide,
  target: MoveTarget,
): Promise<Moved["tables"]> {
  const all = await countAll(source);
  let done = Object.values(mark.done).reduce((sum, { rows }) => sum + rows, 0);
  for (const table of movedTables) {
    for (;;) {
      const { after, rows: before = 0 } = mark.done[table.name] ?? {};
      const rows = await readPage(source, table, after);
      const last = rows.at(-1);
      if (last === undefined) break;
      mark.done[table.name] = { after: keyOf(table, last), rows: before + rows.length };
      await target.writePage(table, rows, mark);
      done += rows.length;
      await report(options, { step: "copying", table: table.name, done, all });
    }
  }
  await target.finish((done, all) => report(options, { step: "indexing", done, all }));
  return compare(options, source, target);
}

/** Reports how far the move is. Throws when the caller has given up. */
async function report({ signal, onProgress }: MoveOptions, progress: MoveProgress): Promise<void> {
  signal.throwIfAborted();
  await onProgress(progress);
}

/** Reads all rows of both sides again. */
async function compare(options: MoveOptions, source: MoveSide, target: MoveSide): Promise<Moved["tables"]> {
  const all = await countAll(source);
  const tables: Moved["tables"] = [];
  let done = 0;
  for (const table of movedTables) {
    const digest = createHash("sha256");
    let after: MovedKey | undefined;
    let rows = 0;
    for (;;) {
      const page = await readPage(source, table, after);
      const last = page.at(-1);
      const others = last
        ? await readRows(target, table, after, keyOf(table, last))
        : await readPage(target, table, after);
      for (let at = 0; at < Math.max(page.length, others.length); at += 1) {
        const [text, other] = [page, others].map((side) => side[at] && textOfRow(table, side[at] as MovedRow));
        if (text === undefined || text !== other) throw differ(table, (page[at] ?? others[at]) as MovedRow);
        digest.update(`${text}\n`);
      }
      if (last === undefined) break;
      after = keyOf(table, last);
      rows += page.length;
      done += page.length;
      await report(options, { step: "comparing", table: table.name, done, all });
    }
    tables.push({ name: table.name, rows, digest: digest.digest("hex") });
  }
  return tables;
}

function differ(table: MovedTable, row: MovedRow): AppError {
  const place = `${table.name} ${keyOf(table, row).join(" ")}`;
  return new AppError("failed", `both sides were compared, and differ: ${place}`, {
    hint: "nothing was given up: the log is where it was. Look at both disks; give up with --cancel, and move it again",
  });
}

function pooled(place: string | undefined): AppError {
  const message = `The address of ${place} leads through a pooler, and a move needs the server itself.`;
  const hint =
    "give the server's own address: behind the option, or as DATABASE_LISTEN_URL, which `move` takes before DATABASE_URL. " +
    "Nothing was changed";
  return new AppError("failed", message, { hint });
}

async function refuseAlive(database: MovedDatabase): Promise<void> {
  const alive = await database.listAlive();
  if (alive.length === 0) return;
  throw new AppError("conflict", `a relay runs on this database (${alive.join(", ")}); nothing was changed`, {
    hint: "stop every relay; one that was killed counts as gone after some seconds",
  });
}

async function refuseKept(database: MovedDatabase): Promise<void> {
  const kept = await database.countKept();
  if (kept.length === 0) return;
  const what = kept.map(([name, count]) => `${count === 1_000 ? "1,000 or more" : count} ${name}`).join(", ");
  throw new AppError("conflict", `there is another log in this database (${what}); nothing was changed`, {
    hint: "move into an empty one: CREATE DATABASE …",
  });
}

function otherMove({ direction, state, place, startedAt }: MoveMark): AppError {
  const since = new Date(startedAt).toISOString();
  const [how, hint] =
    direction === "in"
      ? [`is half-way moved from ${place} into this database`, "run it again there, or give it up there with --cancel"]
      : [
          `${state === "done" ? "was" : "is being"} moved out of this database to ${place}`,
          state === "done"
            ? "move into an empty one: CREATE DATABASE …"
            : "run it again there, or give it up with --cancel",
        ];
  return new AppError("conflict", `a log ${how} (${since}); nothing was changed`, { hint });
}
