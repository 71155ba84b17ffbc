import { existsSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { type MovedRow, type MoveMark, type MoveSide, type MoveTarget, movedTables } from "../moved-tables.ts";
import { openDatabase } from "./open-database.ts";
import { removeDatabase } from "./restore-database.ts";
import { withSqlite } from "./sqlite-library.ts";

/** SQLite's side of a move: the log at `path`, brought up to date. Nobody else uses the file meanwhile. */
export const openMovedLog = (path: string) => toSide(openDatabase({ path }));

const toSide = (db: Database): MoveSide & { close(): void } => ({
  driver: "sqlite",
  ask: (sql, values = []) =>
    db
      .prepare<unknown[], MovedRow>(sql)
      .raw()
      .all(...values) as unknown as MovedRow[],
  rowsOf: ({ name, sqlite }) => sqlite?.read ?? name,
  valueOf: ({ name, readAs }) => readAs ?? name,
  lastChange: "SELECT max(version) FROM alerts",
  close: () => db.close(),
});

/** A new log at `path`, or the unfinished one of an interrupted run. Its file is `…moving` until the last step. */
export function openMovedLogTarget(path: string) {
  if (existsSync(path) && !isUnfinished(path)) removeDatabase(path);
  const db = openDatabase({ path });
  db.pragma("foreign_keys = OFF");
  // A kill loses nothing. After a power cut the last pages are copied again.
  db.pragma("synchronous = NORMAL");
  db.pragma("wal_autocheckpoint = 4000");
  db.exec(
    `CREATE TABLE IF NOT EXISTS moving (only INTEGER PRIMARY KEY CHECK (only = 1), mark TEXT) STRICT;
     CREATE TABLE IF NOT EXISTS moving_schema (name TEXT PRIMARY KEY, type TEXT NOT NULL, sql TEXT NOT NULL) STRICT;
     CREATE TABLE IF NOT EXISTS moved_counts (kind TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT;`,
  );
  if (db.prepare("SELECT 1 FROM moving").get() === undefined) db.transaction(() => strip(db)).immediate();
  const saveMark = db.prepare("UPDATE moving SET mark = ?");
  const saved = db.prepare<[], string | null>("SELECT mark FROM moving").pluck().get();
  return {
    ...toSide(db),
    /** The progress of the move in this log. */
    done: JSON.parse(saved ?? "{}") as MoveMark["done"],
    writePage(table, rows, { done }) {
      const taken = table.columns.flatMap((column, index) =>
        column.writeTo === null ? [] : [{ name: column.writeTo ?? column.name, index }],
      );
      const names = taken.map(({ name }) => name);
      const sql = `INSERT INTO ${table.name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
      const insert = db.prepare(table.sqlite?.write ?? sql);
      db.transaction(() => {
        for (const row of rows) insert.run(...taken.map(({ index }) => row[index] ?? null));
        saveMark.run(JSON.stringify(done));
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
    /** The last step: removes the marks that the move has left in the database. */
    seal() {
      db.pragma("synchronous = FULL");
      db.exec("BEGIN; DROP TABLE moved_counts; DROP TABLE moving_schema; DROP TABLE moving; COMMIT");
      db.pragma("wal_checkpoint(TRUNCATE)");
    },
  } satisfies MoveTarget & { done: object; seal(): void };
}

function isUnfinished(path: string): boolean {
  const find = "SELECT 1 FROM sqlite_schema WHERE name = 'moving'";
  return withSqlite(path, { readonly: true }, (db) => db.prepare(find).get() !== undefined);
}

/** Drops indexes and triggers. The last step makes them from all rows, which is quicker than row by row. */
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

/** Versions are this log's own numbers of changes, in the order of the changes. */
const sums = `
  UPDATE alerts SET version = ordered.place
    FROM (SELECT seq, row_number() OVER (ORDER BY version, seq) AS place FROM alerts WHERE version IS NOT NULL) ordered
    WHERE alerts.seq = ordered.seq;
  DELETE FROM delivery_counts;
  INSERT INTO delivery_counts SELECT destination, state, count(*) FROM deliveries WHERE resent_by IS NULL GROUP BY 1, 2;
  UPDATE duplicate_count SET count = (SELECT coalesce(sum(count), 0) FROM moved_counts WHERE kind = 'duplicate');
  UPDATE removed_alerts SET count = (SELECT coalesce(sum(count), 0) FROM moved_counts WHERE kind = 'removed');`;
