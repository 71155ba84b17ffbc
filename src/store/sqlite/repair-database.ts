import { existsSync, rmSync, statSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { AppError } from "../../core/errors.ts";
import { syncFile } from "../../ground/files/replace-file.ts";
import { openDatabase } from "./open-database.ts";
import { keptName, replaceDatabase } from "./restore-database.ts";
import { Sqlite } from "./sqlite-library.ts";
import { toOpenError } from "./store-error.ts";

export interface Repair {
  /** What the check of the database said, at most ten lines; empty: nothing is wrong, and nothing was done. */
  found: string[];
  /** Where the damaged one lies. Absent: nothing was done. */
  kept?: string;
  /** Rows of each table that could be read, and, where any could not, between which positions. */
  tables: { name: string; rows: number; lost: Lost[] }[];
}

/** Positions behind `after` and before `before` (absent: to the end) could not be read; nobody knows how many were there. */
export interface Lost {
  after: number;
  before?: number;
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
  if (found.length === 0) return { found, tables: [] };
  const beside = `${path}.repairing`;
  const clear = () => {
    for (const ending of ["", "-wal", "-shm"]) rmSync(`${beside}${ending}`, { force: true });
  };
  clear();
  try {
    const tables = writeAnew(path, beside);
    const left = check(beside);
    if (left.length > 0)
      throw new AppError("failed", `what could be saved of ${path} is not right either: ${left[0]}`, { hint });
    await syncFile(beside);
    return { found, tables, kept: await replaceDatabase(beside, path, keptName(path, "repair", now)) };
  } catch (error) {
    clear();
    throw toOpenError(error, path);
  }
}

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

function writeAnew(path: string, beside: string): Repair["tables"] {
  const db = openDatabase({ path: beside });
  try {
    // Rows may be without those they refer to.
    db.pragma("foreign_keys = OFF");
    db.pragma("synchronous = OFF");
    const names = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
      .pluck()
      .all()
      .filter((name) => !madeAnew.test(name as string)) as string[];
    const source = openSource(path, names, db.pragma("user_version", { simple: true }) as number);
    try {
      return db.transaction(() => {
        const made = names.map((name) => ({ name, ...copyTable(source, db, name) }));
        removeOrphans(db);
        countAnew(db);
        return made;
      })();
    } finally {
      source.close();
    }
  } finally {
    db.pragma("wal_checkpoint(TRUNCATE)");
    db.pragma("journal_mode = DELETE");
    db.close();
  }
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

function copyTable(source: Database, db: Database, name: string): { rows: number; lost: Lost[] } {
  const columns = (db.pragma(`table_info(${name})`) as { name: string }[]).map((column) => column.name);
  const insert = db.prepare<unknown[]>(
    `INSERT OR IGNORE INTO ${name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  const take = (row: unknown[]): number => {
    try {
      return insert.run(...row).changes;
    } catch {
      // What was read is not what such a row may hold.
      return 0;
    }
  };
  return columns[0] === "seq"
    ? copyByPosition(source, `SELECT ${columns.join(", ")} FROM ${name} NOT INDEXED`, take)
    : copyAll(source, `SELECT ${columns.join(", ")} FROM ${name}`, take);
}

/** Of the small tables: to the first row that cannot be read. */
function copyAll(source: Database, sql: string, take: (row: unknown[]) => number): { rows: number; lost: Lost[] } {
  let rows = 0;
  try {
    for (const row of source.prepare(sql).raw().iterate() as Iterable<unknown[]>) rows += take(row);
    return { rows, lost: [] };
  } catch (error) {
    if (!isUnreadable((error as { code?: string }).code ?? "")) throw error;
    return { rows, lost: [{ after: rows }] };
  }
}

/** Goes round what cannot be read. A page holds rows of neighbouring positions, so it is left behind by searching its end. */
function copyByPosition(source: Database, sql: string, take: (row: unknown[]) => number) {
  const behind = source.prepare<[number]>(`${sql} WHERE seq > ? ORDER BY seq`).raw();
  const next = source.prepare<[number], unknown[]>(`${sql} WHERE seq > ? ORDER BY seq LIMIT 1`).raw();
  const lost: Lost[] = [];
  let rows = 0;
  let last = 0;
  const canRead = (position: number): boolean => {
    try {
      next.get(position);
      return true;
    } catch (error) {
      if (!isUnreadable((error as { code?: string }).code ?? "")) throw error;
      return false;
    }
  };
  for (;;) {
    try {
      for (const row of behind.iterate(last) as Iterable<unknown[]>) {
        last = row[0] as number;
        rows += take(row);
      }
      return { rows, lost };
    } catch (error) {
      if (!isUnreadable((error as { code?: string }).code ?? "")) throw error;
    }
    const from = firstReadable(last, canRead);
    if (from === undefined) return { rows, lost: [...lost, { after: last }] };
    lost.push({ after: last, before: from + 1 });
    last = from;
  }
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
function removeOrphans(db: Database): void {
  db.exec(`
    DELETE FROM deliveries WHERE alert_seq NOT IN (SELECT seq FROM alerts);
    DELETE FROM attempts WHERE delivery_seq NOT IN (SELECT seq FROM deliveries);
    UPDATE deliveries SET resent_by = NULL WHERE resent_by NOT IN (SELECT seq FROM deliveries);
  `);
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
