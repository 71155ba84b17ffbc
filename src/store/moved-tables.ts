import { createHash, hash } from "node:crypto";
import { toText } from "./postgres/parameters.ts";
import { type Column, type ColumnKind, type DriverName, type TableName, tables } from "./tables.ts";
import type { Awaitable } from "./tx.ts";

/** A table that `tocsin move` copies, with PostgreSQL's names. Derived data is made again: search index, sums, fences. */
export interface MovedTable {
  name: string;
  /** Unique. Rows are copied in this order. */
  key: readonly string[];
  columns: readonly MovedColumn[];
  /** Bytes of the row's large columns, as an expression for both databases. Default: no column is large. */
  weight?: string;
  /** For data in another table of PostgreSQL: the query that reads it, and the statement that takes it from `incoming`. */
  postgres?: { read: string; write: string };
  /** For data that SQLite keeps in another form: the query that reads it, and the statement that takes one row. */
  sqlite?: { read: string; write: string };
}

export interface MovedColumn {
  name: string;
  kind: ColumnKind;
  /** The expression in SQLite, where no column has this name. */
  readAs?: string;
  /** The expression in PostgreSQL for the row `t`, where the column alone is not enough. */
  readInPostgres?: string;
  /** The column of SQLite. Default: the same name. `null`: none. */
  writeTo?: string | null;
  /** Each side gives its own number. */
  isRenumbered?: boolean;
}

/** @param otherwise columns that are not copied as they are, and columns of PostgreSQL alone that are copied */
function movedTable(name: TableName, otherwise: Record<string, Omit<MovedColumn, "name" | "kind">> = {}): MovedTable {
  const { key, columns } = tables[name];
  const moved = Object.entries<Column>(columns).filter(([column, { only }]) => only === undefined || otherwise[column]);
  return { name, key, columns: moved.map(([column, { kind }]) => ({ name: column, kind, ...otherwise[column] })) };
}

/** @param part the column with the outcome or the step of the wait: a text of that type in `tallies` of PostgreSQL */
const movedHours = (kind: "outcome" | "wait", part: string, type: string): MovedTable => ({
  ...movedTable(`${kind}_hours`),
  postgres: {
    read: `(SELECT name AS destination, hour, part::${type} AS ${part}, sum(count)::bigint AS count FROM tallies WHERE kind = '${kind}'
      GROUP BY name, hour, part)`,
    write: `INSERT INTO tallies (kind, name, hour, part, count) SELECT '${kind}', destination, hour, ${part}::text, count FROM incoming`,
  },
});

// A vendor without ids has null in PostgreSQL and an empty text in SQLite.
const emptyForNull = (column: string) => ({ readInPostgres: `coalesce(t.${column}, '')` });

export const movedTables: readonly MovedTable[] = [
  { ...movedTable("requests"), weight: "octet_length(body) + octet_length(headers)" },
  {
    ...movedTable("alerts", {
      status: { readAs: "facts ->> '$.status'", writeTo: null },
      version: { readAs: "coalesce(version, 0)", writeTo: null, isRenumbered: true },
      changed_by: {
        readAs: "version",
        readInPostgres: "greatest(t.changed_by, (SELECT c.changed_by FROM alert_changes c WHERE c.seq = t.seq))",
        writeTo: "version",
        isRenumbered: true,
      },
    }),
    weight: "coalesce(octet_length(facts), 0) + coalesce(octet_length(decisions), 0)",
  },
  { ...movedTable("deliveries"), weight: "octet_length(progress)" },
  movedTable("attempts"),
  movedTable("threads", { root_ref: emptyForNull("root_ref"), last_ref: emptyForNull("last_ref") }),
  movedTable("rings"),
  movedTable("group_memories"),
  { ...movedTable("refused_requests"), weight: "octet_length(body) + octet_length(headers)" },
  movedTable("mutes"),
  movedTable("expiring_keys"),
  movedTable("watch_states"),
  movedTable("paces"),
  movedTable("destination_statuses"),
  movedTable("lanes"),
  movedHours("outcome", "outcome", "text"),
  movedHours("wait", "step", "integer"),
  {
    ...movedTable("route_hours"),
    postgres: {
      read: `(SELECT route, hour, sum(alerts)::bigint AS alerts, max(last_at) AS last_at,
        (array_agg(last_id ORDER BY last_at DESC, last_id DESC))[1] AS last_id FROM route_hours GROUP BY route, hour)`,
      write: "INSERT INTO route_hours SELECT route, hour, alerts, last_at, last_id FROM incoming",
    },
  },
  {
    name: "statistics_start",
    key: ["route_hour"],
    columns: [{ name: "route_hour", kind: "int8" }],
    sqlite: {
      read: "(SELECT route_hour FROM statistics_start WHERE route_hour IS NOT NULL)",
      write: "UPDATE statistics_start SET route_hour = ?",
    },
  },
  {
    name: "counts",
    key: ["kind"],
    columns: [
      { name: "kind", kind: "text" },
      { name: "count", kind: "int8" },
    ],
    postgres: {
      read: `(SELECT known.kind, coalesce((SELECT sum(count) FROM tallies t WHERE t.kind = known.kind), 0)::bigint AS count
        FROM (VALUES ('duplicate' COLLATE "C"), ('removed')) AS known (kind))`,
      write: "INSERT INTO tallies (kind, count) SELECT kind, count FROM incoming",
    },
    sqlite: {
      read: `(SELECT 'duplicate' AS kind, count FROM duplicate_count UNION ALL SELECT 'removed', count FROM removed_alerts)`,
      write: "INSERT INTO moved_counts (kind, count) VALUES (?, ?)",
    },
  },
];

/** In the order of the table's columns, as SQLite has them. */
export type MovedRow = (string | number | Uint8Array | null)[];

/** The key of a row that was copied. */
export type MovedKey = (string | number)[];

/** The other side of a move, and how far the move is. */
export interface MoveMark {
  id: string;
  /** `in`: a log is copied into this database. `out`: its log is copied out. */
  direction: "in" | "out";
  /** `copied`: all rows are there and were compared. */
  state: "copying" | "copied" | "done";
  /** For people. */
  place: string;
  /** A description of the source at the beginning. If it differs later, the source is another log, or was written to. */
  source: string;
  startedAt: number;
  /** For each table: the last copied key, and the number of copied rows. */
  done: Record<string, { after: MovedKey; rows: number }>;
}

/** One side of a move, with what its database says differently. */
export interface MoveSide {
  ask(sql: string, values?: readonly unknown[]): Awaitable<MovedRow[]>;
  driver: DriverName;
  /** The table's name, or a query of its rows. */
  rowsOf(table: MovedTable): string;
  /** A column of the row `t`, in SQLite's form. */
  valueOf(column: MovedColumn): string;
  /** A query whose result differs after every change of the log. */
  lastChange: string;
}

/** The side that takes the log. */
export interface MoveTarget extends MoveSide {
  writePage(table: MovedTable, rows: readonly MovedRow[], mark: MoveMark): Awaitable<void>;
  /** Makes indexes, triggers and sums, which the move does not maintain. `onIndex` gets the number of finished indexes. */
  finish(onIndex: (made: number, all: number) => Promise<void>): Promise<void>;
}

/** A page ends at either limit. Its last row may exceed the bytes. */
const most = { rows: 4_000, bytes: 8 * 1024 * 1024 };

export const keyOf = ({ key, columns }: MovedTable, row: MovedRow): MovedKey =>
  key.map((name) => row[columns.findIndex((column) => column.name === name)] as string | number);

export const hasPositions = ({ columns: [first] }: MovedTable): boolean => first?.name === "seq";

export async function countRows(side: MoveSide, table: MovedTable): Promise<number> {
  const [[count] = []] = await side.ask(`SELECT count(*) FROM ${side.rowsOf(table)} t`);
  return count as number;
}

/** The rows after a key, up to another key. */
export async function readRows(
  side: MoveSide,
  table: MovedTable,
  after?: MovedKey,
  upTo?: MovedKey,
): Promise<MovedRow[]> {
  const { values, where } = between(side, table, after, upTo);
  const list = table.columns.map((column) => side.valueOf(column)).join(", ");
  return side.ask(`SELECT ${list} FROM ${side.rowsOf(table)} t ${where} ORDER BY ${table.key.join(", ")}`, values);
}

export async function readPage(side: MoveSide, table: MovedTable, after?: MovedKey): Promise<MovedRow[]> {
  const { values, where } = between(side, table, after);
  const keys = table.key.join(", ");
  const [upTo] = await side.ask(
    `SELECT ${keys} FROM (
       SELECT ${keys}, sum(bytes) OVER (ORDER BY ${keys}) - bytes AS before FROM (
         SELECT ${keys}, ${table.weight ?? "0"} AS bytes FROM ${side.rowsOf(table)} t ${where} ORDER BY ${keys} LIMIT ${most.rows}) p) w
     WHERE before < ${most.bytes} ORDER BY ${table.key.map((name) => `${name} DESC`).join(", ")} LIMIT 1`,
    values,
  );
  return upTo === undefined ? [] : readRows(side, table, after, upTo as MovedKey);
}

function between({ driver }: MoveSide, { key }: MovedTable, after: MovedKey = [], upTo: MovedKey = []) {
  const values = [...after, ...upTo];
  const places = values.map((_, index) => (driver === "sqlite" ? "?" : `$${index + 1}`));
  const compare = (how: ">" | "<=", ends: string[]) =>
    ends.length === 0 ? [] : `(${key.join(", ")}) ${how} (${ends.join(", ")})`;
  const conditions = [compare(">", places.slice(0, after.length)), compare("<=", places.slice(after.length))].flat();
  return { values, where: conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}` };
}

/** A digest that differs once anything is written to the log. */
export async function describeState(side: MoveSide): Promise<string> {
  const state = createHash("sha256");
  const [[changed] = []] = await side.ask(side.lastChange);
  state.update(`changed ${changed}`);
  for (const table of movedTables) {
    if (hasPositions(table)) state.update(String(await side.ask(`SELECT min(seq), max(seq) FROM ${table.name}`)));
    // A thread changes together with an alert, whose table shows it.
    else if (table.name !== "threads")
      for (const row of await readRows(side, table)) state.update(textOfRow(table, row));
  }
  return state.digest("hex");
}

/** Equal for rows that are equal on both sides. Texts are as PostgreSQL keeps them. */
export const textOfRow = ({ columns }: MovedTable, row: MovedRow): string =>
  columns.flatMap(({ isRenumbered }, index) => (isRenumbered ? [] : textOf(row[index] ?? null))).join(";");

function textOf(value: MovedRow[number]): string {
  if (value === null) return "~";
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? JSON.stringify(toText(value)) : hash("sha256", value, "hex");
}
