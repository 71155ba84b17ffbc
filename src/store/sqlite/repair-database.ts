import { existsSync, statSync } from "node:fs";
import type { Database, Statement } from "better-sqlite3";
import { AppError } from "../../core/errors.ts";
import { syncFile } from "../../ground/files/replace-file.ts";
import { findDamage } from "./copy-database.ts";
import { mendTexts } from "./mend-texts.ts";
import { openDatabase } from "./open-database.ts";
import { prepareRescue, type Rescue, type Row, type UnreadPositions } from "./rescue-rows.ts";
import { removeUnfinished, renewDatabase } from "./restore-database.ts";
import { Sqlite } from "./sqlite-library.ts";

export interface Repair {
  /** The lines of the database's check, at most ten. Empty: no damage, and nothing was done. */
  found: string[];
  /** The new place of the damaged database. Absent: nothing was done. */
  kept?: string;
  tables: RepairedTable[];
  leftOut: LeftOut;
}

export interface RepairedTable {
  name: string;
  rows: number;
  /** Gaps in which rows could not be read. */
  lost: Lost[];
  /** Rows that were left out: they have values that such a row cannot have, or another row's position. */
  unfit: number;
  /** Rows that were saved without a damaged text: an alert's facts or decisions, a request's headers. */
  withoutText: number;
}

/** A gap with an unknown number of rows. Without positions: some rows of a table that has none. */
export interface Lost extends Partial<UnreadPositions> {
  /** For alerts: when the last one before the gap and the first one after it came. Epoch milliseconds. */
  fromAt?: number;
  toAt?: number;
}

/** Rows that were read and mean nothing without lost ones, and missing rows that no gap shows. */
export interface LeftOut {
  /** Deliveries whose alert was lost. */
  deliveries: number;
  /** Those among them that had not ended. Maybe nobody got them. */
  unsent: number;
  withoutBody: number;
  /** Alerts whose decisions name a destination for which they have no delivery: whether it was sent is unknown. */
  withoutDelivery: number;
}

/** Tables that are made from others. */
const madeAnew =
  /^(alerts_search.*|search_parts|search_cursor|delivery_counts|duplicate_count|removed_alerts|sqlite_.*)$/;

/**
 * Checks the database at `path`. Writes a damaged one again next to it, row by row. Indexes, counts and the search are made from
 * the rows. The new database replaces the damaged one only when it passes the same check. The damaged one is kept. No other
 * process may have it open.
 * @throws AppError `not_found` when there is none. `failed` when its list of tables or all of its alerts cannot be read, or the
 * new one is damaged too. Nothing has changed then.
 */
export async function repairDatabase(path: string, now: number): Promise<Repair> {
  if (!existsSync(path))
    throw new AppError("not_found", `there is no database ${path}`, { hint: "it is made when the relay starts" });
  if (statSync(path).size === 0) throw new AppError("failed", `${path} is empty: there is nothing to repair`, { hint });
  const found = findDamage(path);
  removeUnfinished(path);
  if (found.length === 0) return { found, tables: [], leftOut: nothingLeftOut };
  return renewDatabase(path, { why: "repair", from: path, now }, async (draft) => {
    const written = writeAnew(path, draft);
    const left = findDamage(draft);
    if (left.length > 0)
      throw new AppError("failed", `what could be saved of ${path} is not right either: ${left[0]}`, { hint });
    await syncFile(draft);
    return { found, ...written };
  });
}

const nothingLeftOut: LeftOut = { deliveries: 0, unsent: 0, withoutBody: 0, withoutDelivery: 0 };

const hint = "nothing was changed. Restore the last backup: tocsin restore FILE";

function writeAnew(path: string, draft: string): Pick<Repair, "tables" | "leftOut"> {
  const db = openDatabase({ path: draft });
  try {
    // Rows that others refer to may be missing.
    db.pragma("foreign_keys = OFF");
    db.pragma("synchronous = OFF");
    // A write-ahead log would take as much room again. A rollback journal only has former pages, and all pages here are new.
    db.pragma("journal_mode = DELETE");
    const source = openSource(path, db);
    try {
      return db.transaction(() => {
        const tables = source.tables.map((table) => copyTable(db, table));
        const alerts = tables.find(({ name }) => name === "alerts");
        if (alerts?.rows === 0 && alerts.lost.length > 0)
          throw new AppError("failed", `no alert of ${path} can be read`, { hint });
        for (const gap of alerts?.lost ?? []) addTimes(db, gap);
        const leftOut = removeOrphans(db);
        // After a resend an alert may have no delivery. This is a sign of damage only if deliveries were lost.
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
  if (gap.after === undefined) return;
  const one = (sql: string, seq: number) => db.prepare<[number], number>(sql).pluck().get(seq);
  gap.fromAt = one("SELECT received_at FROM alerts WHERE seq <= ? ORDER BY seq DESC LIMIT 1", gap.after);
  if (gap.before !== undefined)
    gap.toAt = one("SELECT received_at FROM alerts WHERE seq >= ? ORDER BY seq LIMIT 1", gap.before);
}

interface SourceTable {
  name: string;
  columns: string[];
  rescue: Rescue;
}

/** The damaged database, with the tables of the new one, `db`. Throws `failed` where its list of tables is unusable. */
function openSource(path: string, db: Database): { tables: SourceTable[]; close(): void } {
  const version = db.pragma("user_version", { simple: true });
  const names = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
    .pluck()
    .all()
    .filter((name) => !madeAnew.test(name));
  try {
    const source = new Sqlite(path, { readonly: true });
    // Keeps the tables readable where the schema's entry of an index is damaged.
    source.unsafeMode(true);
    source.pragma("writable_schema = ON");
    const found = source.pragma("user_version", { simple: true });
    if (found !== version)
      throw new AppError("failed", `the database is of version ${found}, and this Tocsin repairs version ${version}`, {
        hint: "repair it with the Tocsin that wrote it last, or restore the last backup: tocsin restore FILE",
      });
    const tables = names.map((name): SourceTable => {
      const all = db.pragma(`table_info(${name})`) as { name: string; pk: number }[];
      const columns = all.map((column) => column.name);
      const ofKey = all.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
      const key = ofKey.map((column) => column.name);
      return { name, columns, rescue: prepareRescue(source, { name, columns, key }) };
    });
    return { tables, close: () => source.close() };
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("failed", `the list of tables of ${path} is damaged: ${(error as Error).message}`, { hint });
  }
}

function copyTable(db: Database, { name, columns, rescue }: SourceTable): RepairedTable {
  const table: RepairedTable = { name, rows: 0, lost: [], unfit: 0, withoutText: 0 };
  const insert = db.prepare<unknown[]>(
    `INSERT OR IGNORE INTO ${name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  const take = (row: Row): void => {
    const mended = mendTexts(name, columns, row);
    if (mended === "unfit" || !isTaken(insert, row)) {
      table.unfit += 1;
      return;
    }
    table.rows += 1;
    if (mended === "mended") table.withoutText += 1;
  };
  table.lost = rescue(take);
  return table;
}

/** A row of a damaged page may have values that no such row can have. */
function isTaken(insert: Statement<unknown[]>, row: Row): boolean {
  try {
    return insert.run(...row).changes > 0;
  } catch (error) {
    if (!/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|ERROR)/.test((error as { code?: string }).code ?? "")) throw error;
    return false;
  }
}

/** Removes rows that mean nothing without a lost one. An alert without its body stays. */
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
         SELECT 1 FROM json_each(coalesce(a.decisions, '[]')) d
         WHERE d.value ->> 'destination' IS NOT NULL AND d.value ->> 'result' IN ('deliver', 'held', 'muted', 'damped')
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
