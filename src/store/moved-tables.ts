import { hash } from "node:crypto";
import { toText } from "./postgres/texts.ts";
import { type Column, type ColumnKind, type TableName, tables } from "./tables.ts";

/**
 * What a log is made of, as `tocsin move` copies it from one database to the other. Tables and columns have their names of PostgreSQL, which
 * are those of SQLite but where it is said. What is made from these (search index, sums of deliveries, fences of claims) is made
 * anew; what only says which processes run stays behind.
 */
export interface MovedTable {
  name: string;
  /** Unique, in the order in which it is copied. */
  key: readonly string[];
  columns: readonly MovedColumn[];
  /** Bytes of the columns that may be large, by the row: an expression of both databases. Default: they are small. */
  weight?: string;
  /** Where PostgreSQL keeps it in another table: what reads it, and what takes it from `incoming`, a table of these columns. */
  postgres?: { read: string; write: string };
  /** Where SQLite has it otherwise: what reads it, and a statement that takes a row. */
  sqlite?: { read: string; write: string };
}

export interface MovedColumn {
  name: string;
  kind: ColumnKind;
  /** How SQLite says it, where it has no column of this name. */
  readAs?: string;
  /** How PostgreSQL says it, of the row `t`, where the column alone does not. */
  readInPostgres?: string;
  /** The column of SQLite that takes it. Default: of this name; `null`: none. */
  writeTo?: string | null;
  /** Both sides give it a number of their own. */
  isRenumbered?: boolean;
}

/** @param otherwise its columns that are not copied as they are, and those of PostgreSQL alone that are copied */
function movedTable(name: TableName, otherwise: Record<string, Omit<MovedColumn, "name" | "kind">> = {}): MovedTable {
  const { key, columns } = tables[name];
  const moved = Object.entries<Column>(columns).filter(([column, { only }]) => only === undefined || otherwise[column]);
  return { name, key, columns: moved.map(([column, { kind }]) => ({ name: column, kind, ...otherwise[column] })) };
}

// Of a vendor that gives no ids.
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
  { ...movedTable("refused_requests"), weight: "octet_length(body) + octet_length(headers)" },
  movedTable("mutes"),
  movedTable("expiring_keys"),
  movedTable("watch_states"),
  movedTable("paces"),
  movedTable("destination_statuses"),
  movedTable("lanes"),
  {
    ...movedTable("outcome_hours"),
    postgres: {
      read: `(SELECT name AS destination, hour, part AS outcome, sum(count)::bigint AS count FROM tallies WHERE kind = 'outcome'
        GROUP BY name, hour, part)`,
      write: `INSERT INTO tallies (kind, name, hour, part, count) SELECT 'outcome', destination, hour, outcome, count FROM incoming`,
    },
  },
  {
    ...movedTable("wait_hours"),
    postgres: {
      read: `(SELECT name AS destination, hour, part::integer AS step, sum(count)::bigint AS count FROM tallies WHERE kind = 'wait'
        GROUP BY name, hour, part)`,
      write: `INSERT INTO tallies (kind, name, hour, part, count) SELECT 'wait', destination, hour, step::text, count FROM incoming`,
    },
  },
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

/** One row of a table in the order of its columns, as SQLite has it. */
export type MovedRow = (string | number | Uint8Array | null)[];

/** Where a table was copied up to: the key of the last row. */
export type MovedKey = (string | number)[];

export const keyOf = ({ key, columns }: MovedTable, row: MovedRow): MovedKey =>
  key.map((name) => row[columns.findIndex((column) => column.name === name)] as string | number);

/** Rows that are compared by one digest. */
export const rowsADigest = 20_000;

/** SHA-256 of a row, of the same text as PostgreSQL makes it of (`digestRange`). */
export function digestOfRow(table: MovedTable, row: MovedRow): Buffer {
  const parts = table.columns.flatMap(({ isRenumbered }, index) => (isRenumbered ? [] : [textOf(row[index] ?? null)]));
  return hash("sha256", parts.join(";"), "buffer");
}

function textOf(value: MovedRow[number]): string {
  if (value === null) return "~";
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") return hash("sha256", value, "hex");
  const stored = toText(value);
  return `${Buffer.byteLength(stored)}:${stored}`;
}
