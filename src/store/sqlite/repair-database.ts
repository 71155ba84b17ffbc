import { existsSync, statSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { AppError } from "../../core/errors.ts";
import { syncFile } from "../../ground/files/replace-file.ts";
import { openDatabase } from "./open-database.ts";
import {
  besideFor,
  isWithoutRoom,
  keptName,
  noRoomError,
  removeUnfinished,
  replaceDatabase,
  requireRoom,
} from "./restore-database.ts";
import { Sqlite } from "./sqlite-library.ts";
import { toOpenError } from "./store-error.ts";

export interface Repair {
  /** What the check of the database said, at most ten lines; empty: nothing is wrong, and nothing was done. */
  found: string[];
  /** Where the damaged one lies. Absent: nothing was done. */
  kept?: string;
  /** Rows of each table that were saved, and, where any could not be read, between which positions. */
  tables: { name: string; rows: number; lost: Lost[]; unfit: number }[];
  leftOut: LeftOut;
}

/** Positions behind `after` and before `before` (absent: to the end) could not be read; nobody knows how many were there. */
export interface Lost {
  after: number;
  before?: number;
  /** Of alerts: when the last one before them came and the first one after them. Epoch milliseconds. */
  fromAt?: number;
  toAt?: number;
}

/** What was read and has no meaning without what was lost, and what is missing where nothing says so. */
export interface LeftOut {
  /** Their alert was lost. */
  deliveries: number;
  /** Of these: had not come to their end, so nobody may have got them. */
  unsent: number;
  /** Alerts that are kept and lack the body that they came with. */
  withoutBody: number;
  /** Alerts whose decisions name a destination and that have no delivery there any more: whether it was sent is not known. */
  withoutDelivery: number;
}

/** What is written anew from what it is made of. */
const madeAnew =
  /^(alerts_search.*|search_parts|search_cursor|delivery_counts|duplicate_count|removed_alerts|sqlite_.*)$/;

/**
 * Looks at the database at `path`; a damaged one is written anew, row by row, beside it. Indexes, counts and the search are
 * made from the rows. Only a new one that passes the same check takes the place of the damaged one, which is kept beside
 * it. Nobody else may have it open.
 *
 * @throws AppError `not_found` when there is none; `failed` when its list of tables cannot be read, or the new one is
 * not right either. Nothing has changed then.
 */
export async function repairDatabase(path: string, now: number): Promise<Repair> {
  if (!existsSync(path))
    throw new AppError("not_found", `there is no database ${path}`, { hint: "it is made when the relay starts" });
  if (statSync(path).size === 0) throw new AppError("failed", `${path} is empty: there is nothing to repair`, { hint });
  const found = check(path);
  const beside = besideFor(path, "repairing");
  if (found.length === 0) return { found, tables: [], leftOut: nothingLeftOut };
  requireRoom(path, statSync(path).size);
  try {
    const written = writeAnew(path, beside);
    const left = check(beside);
    if (left.length > 0)
      throw new AppError("failed", `what could be saved of ${path} is not right either: ${left[0]}`, { hint });
    await syncFile(beside);
    return { found, ...written, kept: await replaceDatabase(beside, path, keptName(path, "repair", now)) };
  } catch (error) {
    removeUnfinished(path);
    throw isWithoutRoom(error) ? noRoomError(path, error) : toOpenError(error, path);
  }
}

const nothingLeftOut: LeftOut = { deliveries: 0, unsent: 0, withoutBody: 0, withoutDelivery: 0 };

const hint = "nothing was changed. Restore the last backup: tocsin restore FILE";

/** What is wrong, a line each. */
function check(path: string): string[] {
  try {
    const db = new Sqlite(path);
    try {
      const rows = db.pragma("integrity_check(10)") as { integrity_check: string }[];
      const lines = rows.flatMap((row) => row.integrity_check.split("\n"));
      return lines.filter((line) => line !== "ok" && !line.startsWith("***")).slice(0, 10);
    } finally {
      db.close();
    }
  } catch (error) {
    const { code = "", message } = error as { code?: string; message: string };
    if (!isUnreadable(code)) throw error;
    return [message];
  }
}

const isUnreadable = (code: string) => /^SQLITE_(CORRUPT|IOERR|NOTADB)/.test(code);

function writeAnew(path: string, beside: string): Pick<Repair, "tables" | "leftOut"> {
  const db = openDatabase({ path: beside });
  try {
    // Rows may be without those they refer to.
    db.pragma("foreign_keys = OFF");
    db.pragma("synchronous = OFF");
    // A log of changes would take as much room again; a journal holds what a page had before, and these are new.
    db.pragma("journal_mode = DELETE");
    const names = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
      .pluck()
      .all()
      .filter((name) => !madeAnew.test(name as string)) as string[];
    const source = openSource(path, names, db.pragma("user_version", { simple: true }) as number);
    try {
      return db.transaction(() => {
        const tables = names.map((name) => ({ name, ...copyTable(source, db, name) }));
        for (const gap of tables.find(({ name }) => name === "alerts")?.lost ?? []) addTimes(db, gap);
        const leftOut = removeOrphans(db);
        // A resend, or a destination of then, may leave none of its own: only where some were lost it says something.
        const lostDeliveries = tables.some(({ name, lost, unfit }) => name === "deliveries" && lost.length + unfit > 0);
        if (!lostDeliveries) leftOut.withoutDelivery = 0;
        countAnew(db);
        return { tables, leftOut };
      })();
    } finally {
      source.close();
    }
  } finally {
    db.close();
  }
}

function addTimes(db: Database, gap: Lost): void {
  const one = (sql: string, seq: number) => db.prepare<[number], number>(sql).pluck().get(seq);
  gap.fromAt = one("SELECT received_at FROM alerts WHERE seq <= ? ORDER BY seq DESC LIMIT 1", gap.after);
  if (gap.before !== undefined)
    gap.toAt = one("SELECT received_at FROM alerts WHERE seq >= ? ORDER BY seq LIMIT 1", gap.before);
}

/** @throws AppError `failed` where not even the tables are known, or they are of another version. */
function openSource(path: string, names: string[], version: number): Database {
  try {
    const source = new Sqlite(path, { readonly: true });
    const found = source.pragma("user_version", { simple: true });
    if (found !== version)
      throw new AppError("failed", `the database is of version ${found}, and this Tocsin repairs version ${version}`, {
        hint: "repair it with the Tocsin that wrote it last, or restore the last backup: tocsin restore FILE",
      });
    for (const name of names) source.prepare(`SELECT * FROM ${name}`);
    return source;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("failed", `nothing of ${path} can be read: ${(error as Error).message}`, { hint });
  }
}

type Copied = Omit<Repair["tables"][number], "name">;

/** Takes a row over: whether it could be. What was read of a damaged page may be nothing that such a row may hold. */
type Take = (row: unknown[]) => boolean;

function copyTable(source: Database, db: Database, name: string): Copied {
  const columns = (db.pragma(`table_info(${name})`) as { name: string }[]).map((column) => column.name);
  const insert = db.prepare<unknown[]>(
    `INSERT OR IGNORE INTO ${name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  const take: Take = (row) => {
    try {
      return insert.run(...row).changes > 0;
    } catch (error) {
      if (!/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/.test((error as { code?: string }).code ?? "")) throw error;
      return false;
    }
  };
  return columns[0] === "seq"
    ? copyByPosition(source, `SELECT ${columns.join(", ")} FROM ${name} NOT INDEXED`, take)
    : copyAll(source, `SELECT ${columns.join(", ")} FROM ${name}`, take);
}

/** What it makes of a page that cannot be read: `undefined`. */
function unlessUnreadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!isUnreadable((error as { code?: string }).code ?? "")) throw error;
    return undefined;
  }
}

/** Of the small tables: to the first row that cannot be read. */
function copyAll(source: Database, sql: string, take: Take): Copied {
  const copied: Copied = { rows: 0, lost: [], unfit: 0 };
  const count = (row: unknown[]) => {
    if (take(row)) copied.rows += 1;
    else copied.unfit += 1;
  };
  const isWhole = unlessUnreadable(() => {
    for (const row of source.prepare(sql).raw().iterate() as Iterable<unknown[]>) count(row);
    return true;
  });
  if (!isWhole) copied.lost.push({ after: copied.rows });
  return copied;
}

/** So many positions are looked at one by one where a range cannot be read: some seconds. */
const mostAskedAlone = 200_000;

/**
 * Goes round what cannot be read. A page holds rows of neighbouring positions: the first readable position behind it is
 * found by searching, and those that were jumped over are asked for one by one, since some of their pages may be whole.
 */
function copyByPosition(source: Database, sql: string, take: Take): Copied {
  const behind = source.prepare<[number]>(`${sql} WHERE seq > ? ORDER BY seq`).raw();
  const next = source.prepare<[number], unknown[]>(`${sql} WHERE seq > ? ORDER BY seq LIMIT 1`).raw();
  const alone = source.prepare<[number], unknown[]>(`${sql} WHERE seq = ?`).raw();
  const copied: Copied = { rows: 0, lost: [], unfit: 0 };
  const count = (row: unknown[]) => {
    if (take(row)) copied.rows += 1;
    else copied.unfit += 1;
  };
  let last = 0;
  const lose = (after: number, before?: number) => {
    if (before === undefined || before > after + 1) copied.lost.push({ after, before });
  };
  const canRead = (position: number) => unlessUnreadable(() => ({ row: next.get(position) })) !== undefined;
  const copyOn = () =>
    unlessUnreadable(() => {
      for (const row of behind.iterate(last) as Iterable<unknown[]>) {
        last = row[0] as number;
        count(row);
      }
      return true;
    });
  while (!copyOn()) {
    const from = firstReadable(last, canRead);
    let known = last;
    for (let position = last + 1; position <= Math.min(from ?? Infinity, last + mostAskedAlone); position += 1) {
      const row = unlessUnreadable(() => alone.get(position));
      if (row === undefined) continue;
      count(row);
      lose(known, position);
      known = position;
    }
    if (from === undefined || known < from) lose(known, from && from + 1);
    if (from === undefined) return copied;
    last = from;
  }
  return copied;
}

/** The first position behind which something can be read again, or the end. */
function firstReadable(after: number, canRead: (position: number) => boolean): number | undefined {
  let step = 1;
  while (!canRead(after + step)) {
    step *= 2;
    if (step > 2 ** 48) return undefined;
  }
  let [bad, good] = [after + Math.floor(step / 2), after + step];
  while (good - bad > 1) {
    const middle = Math.floor((bad + good) / 2);
    if (canRead(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/** What is left of something whose owner is lost has no meaning alone. An alert without its body is still an alert. */
function removeOrphans(db: Database): LeftOut {
  const one = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  const ofLostAlerts = "FROM deliveries WHERE alert_seq NOT IN (SELECT seq FROM alerts)";
  const leftOut: LeftOut = {
    deliveries: one(`SELECT count(*) ${ofLostAlerts}`),
    unsent: one(`SELECT count(*) ${ofLostAlerts} AND (due_at IS NOT NULL OR claim_token IS NOT NULL)`),
    withoutBody: one(
      "SELECT count(*) FROM alerts WHERE request_seq IS NOT NULL AND request_seq NOT IN (SELECT seq FROM requests)",
    ),
    withoutDelivery: one(
      `SELECT count(*) FROM alerts a WHERE EXISTS (
         SELECT 1 FROM json_each(iif(json_valid(a.decisions), a.decisions, '[]')) d
         WHERE d.value ->> 'destination' IS NOT NULL AND d.value ->> 'result' IN ('deliver', 'held', 'muted')
           AND NOT EXISTS (SELECT 1 FROM deliveries WHERE alert_seq = a.seq AND destination = d.value ->> 'destination'))`,
    ),
  };
  db.exec(`
    DELETE ${ofLostAlerts};
    DELETE FROM attempts WHERE delivery_seq NOT IN (SELECT seq FROM deliveries);
    UPDATE deliveries SET resent_by = NULL WHERE resent_by NOT IN (SELECT seq FROM deliveries);
  `);
  return leftOut;
}

function countAnew(db: Database): void {
  db.exec(`
    DELETE FROM delivery_counts;
    INSERT INTO delivery_counts
      SELECT destination, state, count(*) FROM deliveries WHERE resent_by IS NULL GROUP BY destination, state;
    UPDATE duplicate_count SET count = (SELECT coalesce(sum(duplicates), 0) FROM requests)
      + (SELECT count(*) FROM alerts WHERE repeat_of IS NOT NULL);
    UPDATE removed_alerts SET count = (SELECT coalesce(max(seq), 0) - count(*) FROM alerts);
  `);
}
