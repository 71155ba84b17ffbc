import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import type { Database } from "better-sqlite3";
import {
  digestOfRow,
  keyOf,
  type MovedKey,
  type MovedRow,
  type MovedTable,
  movedTables,
  rowsADigest,
} from "../moved-tables.ts";
import { openDatabase } from "./open-database.ts";
import { removeDatabase } from "./restore-database.ts";
import { Sqlite } from "./sqlite-library.ts";

const most = { rows: 4_000, bytes: 8 * 1024 * 1024 };

/** SQLite's side of a move. The file is nobody else's meanwhile. */
export interface MovedLog {
  countRows(table: MovedTable): number;
  /** Rows behind a key, up to some thousand or some megabytes. */
  readPage(table: MovedTable, after: MovedKey | undefined): MovedRow[];
  /** Digests of all rows, some ten thousand at a time: where each part ends, and how many rows are in it. */
  digests(table: MovedTable): Generator<{ upTo: MovedKey; count: number; digest: string }>;
  /** Differs when anything was written to the log since. */
  describeState(): string;
  close(): void;
}

/** What is written to it waits in the file `…moving`, until the last step gives it the database's name. */
export interface MovedLogTarget extends MovedLog {
  /** Which move it belongs to, and how far that has come; undefined: it has only just been made. */
  readMark(): string | undefined;
  writeMark(mark: string): void;
  /** The rows of one page, and in the same transaction how far that is. */
  writePage(table: MovedTable, rows: readonly MovedRow[], mark: string): void;
  /** Indexes, triggers and sums from the rows. */
  finish(onIndex: (made: number, all: number) => Promise<void>): Promise<void>;
  /** The last step: nothing in it says any more that it was moved. */
  seal(): void;
}

/** The log at `path`, brought up to date. */
export function openMovedLog(path: string): MovedLog {
  const db = openDatabase({ path });
  return createReading(db);
}

const readFrom = ({ name, sqlite }: MovedTable) => sqlite?.read ?? name;

const selectList = ({ columns }: MovedTable) =>
  columns.map(({ name, readAs }) => (readAs === undefined ? name : `${readAs} AS ${name}`)).join(", ");

function createReading(db: Database): MovedLog {
  const rowsBehind = (table: MovedTable, after: MovedKey | undefined) => {
    const keys = table.key.join(", ");
    const behind = after === undefined ? "" : `WHERE (${keys}) > (${after.map(() => "?").join(", ")})`;
    return db
      .prepare<unknown[], MovedRow>(`SELECT ${selectList(table)} FROM ${readFrom(table)} ${behind} ORDER BY ${keys}`)
      .raw()
      .iterate(...(after ?? [])) as IterableIterator<MovedRow>;
  };
  return {
    countRows: (table) =>
      db
        .prepare<[], number>(`SELECT count(*) FROM ${readFrom(table)}`)
        .pluck()
        .get() ?? 0,

    readPage(table, after) {
      const page: MovedRow[] = [];
      let bytes = 0;
      for (const row of rowsBehind(table, after)) {
        page.push(row);
        bytes += sizeOf(row);
        if (page.length === most.rows || bytes >= most.bytes) break;
      }
      return page;
    },

    *digests(table) {
      let after: MovedKey | undefined;
      for (;;) {
        const hashes: Buffer[] = [];
        let last: MovedRow | undefined;
        for (const row of rowsBehind(table, after)) {
          hashes.push(digestOfRow(table, row));
          last = row;
          if (hashes.length === rowsADigest) break;
        }
        if (last === undefined) return;
        after = keyOf(table, last);
        yield { upTo: after, count: hashes.length, digest: hash("sha256", Buffer.concat(hashes), "hex") };
        if (hashes.length < rowsADigest) return;
      }
    },

    describeState() {
      const parts = movedTables.map((table) => {
        const [last] = table.columns;
        if (last?.name === "seq") {
          const ends = db.prepare(`SELECT min(seq), max(seq) FROM ${table.name}`).raw().get() as MovedRow;
          return `${table.name} ${ends.join()}`;
        }
        if (table.name === "threads") return "";
        const rows = db.prepare(`SELECT ${selectList(table)} FROM ${readFrom(table)} ORDER BY ${table.key.join(", ")}`);
        return `${table.name} ${JSON.stringify(rows.raw().all())}`;
      });
      const newest = db.prepare("SELECT max(version) FROM alerts").pluck().get();
      return hash("sha256", `${parts.join("\n")}\nversion ${newest}`, "hex");
    },

    close: () => db.close(),
  };
}

const sizeOf = (row: MovedRow) =>
  row.reduce<number>((sum, value) => sum + (value === null || typeof value === "number" ? 8 : value.length), 0);

/** A new log at `path`, or the one that an interrupted run has left there before its last step. */
export function openMovedLogTarget(path: string): MovedLogTarget {
  if (existsSync(path) && !isUnfinished(path)) removeDatabase(path);
  const db = openDatabase({ path });
  db.pragma("foreign_keys = OFF");
  // A kill loses nothing of it; of a power cut the last pages are copied again.
  db.pragma("synchronous = NORMAL");
  db.pragma("wal_autocheckpoint = 4000");
  db.exec(
    `CREATE TABLE IF NOT EXISTS moving (only INTEGER PRIMARY KEY CHECK (only = 1), mark TEXT) STRICT;
     CREATE TABLE IF NOT EXISTS moving_schema (name TEXT PRIMARY KEY, type TEXT NOT NULL, sql TEXT NOT NULL) STRICT;
     CREATE TABLE IF NOT EXISTS moved_counts (kind TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT;`,
  );
  if (db.prepare("SELECT 1 FROM moving").get() === undefined) db.transaction(() => strip(db)).immediate();
  const saveMark = db.prepare("UPDATE moving SET mark = ?");
  return {
    ...createReading(db),
    readMark: () => db.prepare<[], string | null>("SELECT mark FROM moving").pluck().get() ?? undefined,
    writeMark: (mark) => void saveMark.run(mark),
    writePage(table, rows, mark) {
      const taken = table.columns.flatMap((column, index) =>
        column.writeTo === null ? [] : [{ name: column.writeTo ?? column.name, index }],
      );
      const names = taken.map(({ name }) => name);
      const sql = `INSERT INTO ${table.name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
      const insert = db.prepare(table.sqlite?.write ?? sql);
      db.transaction(() => {
        for (const row of rows) insert.run(...taken.map(({ index }) => row[index] ?? null));
        saveMark.run(mark);
      }).immediate();
    },
    async finish(onIndex) {
      const left = db
        .prepare<[], { name: string; type: string; sql: string }>("SELECT * FROM moving_schema ORDER BY type, name")
        .all();
      const indexes = left.filter(({ type }) => type === "index");
      for (const [made, { sql }] of indexes.entries()) {
        await onIndex(made, indexes.length);
        db.exec(sql.replace(/^CREATE INDEX (IF NOT EXISTS )?/, "CREATE INDEX IF NOT EXISTS "));
      }
      await onIndex(indexes.length, indexes.length);
      db.transaction(() => {
        db.exec(sums);
        for (const { name, type, sql } of left)
          if (type === "trigger") db.exec(`DROP TRIGGER IF EXISTS ${name}; ${sql}`);
      }).immediate();
    },
    seal() {
      db.pragma("synchronous = FULL");
      db.exec("BEGIN; DROP TABLE moved_counts; DROP TABLE moving_schema; DROP TABLE moving; COMMIT");
      db.pragma("wal_checkpoint(TRUNCATE)");
    },
  };
}

function isUnfinished(path: string): boolean {
  const db = new Sqlite(path, { readonly: true });
  try {
    return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'moving'").get() !== undefined;
  } finally {
    db.close();
  }
}

/** What would be kept up to date row by row, to be made from all rows at the end. */
function strip(db: Database): void {
  const tables = movedTables.map(({ name }) => `'${name}'`).join(", ");
  db.exec(
    `INSERT INTO moving_schema SELECT name, type, sql FROM sqlite_schema
       WHERE type IN ('index', 'trigger') AND sql IS NOT NULL AND tbl_name IN (${tables})`,
  );
  const stripped = db.prepare<[], { name: string; type: string }>("SELECT name, type FROM moving_schema").all();
  for (const { name, type } of stripped) db.exec(`DROP ${type} ${name}`);
  db.exec("INSERT INTO moving VALUES (1, NULL)");
}

/** Versions are numbers of a log's own, one for each change: they follow the order in which the changes were made. */
const sums = `
  UPDATE alerts SET version = ordered.place
    FROM (SELECT seq, row_number() OVER (ORDER BY version, seq) AS place FROM alerts WHERE version IS NOT NULL) ordered
    WHERE alerts.seq = ordered.seq;
  DELETE FROM delivery_counts;
  INSERT INTO delivery_counts SELECT destination, state, count(*) FROM deliveries WHERE resent_by IS NULL GROUP BY 1, 2;
  UPDATE duplicate_count SET count = (SELECT coalesce(sum(count), 0) FROM moved_counts WHERE kind = 'duplicate');
  UPDATE removed_alerts SET count = (SELECT coalesce(sum(count), 0) FROM moved_counts WHERE kind = 'removed');`;
