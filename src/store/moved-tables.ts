import { hash } from "node:crypto";
import { toText } from "./postgres/texts.ts";

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

/**
 * `int4` and `int8`: integers; `flag`: 0 and 1 in SQLite; `time`: epoch milliseconds in SQLite, `timestamptz` in PostgreSQL; `change`: the
 * transaction of a change in PostgreSQL, the version in SQLite.
 */
export type ColumnKind = "int4" | "int8" | "text" | "bytes" | "flag" | "time" | "change";

/** `"seq:int8 id body:bytes"`; a text where nothing is said. */
const columns = (text: string): MovedColumn[] =>
  text
    .trim()
    .split(/\s+/)
    .map((part) => {
      const [name = "", kind = "text"] = part.split(":");
      return { name, kind: kind as ColumnKind };
    });

const hours = "hour:int8";

export const movedTables: readonly MovedTable[] = [
  {
    name: "requests",
    key: ["seq"],
    columns: columns(
      "seq:int8 received_at:int8 content_type headers body:bytes fingerprint:int8 items:int4 dedupe_key conflict:flag duplicates:int4",
    ),
    weight: "octet_length(body) + octet_length(headers)",
  },
  {
    name: "alerts",
    key: ["seq"],
    columns: [
      ...columns(
        `seq:int8 id request_seq:int8 item:int4 origin source received_at:int8 routed_at:int8 route_after:int8 route_failures:int4
         routing_error severity alert_key unmatched:flag dropped:flag facts decisions fingerprint:int8 repeat_of`,
      ),
      { name: "status", kind: "text", readAs: "facts ->> '$.status'", writeTo: null },
      { name: "version", kind: "int8", readAs: "coalesce(version, 0)", writeTo: null, isRenumbered: true },
      {
        name: "changed_by",
        kind: "change",
        readAs: "version",
        readInPostgres: "greatest(t.changed_by, (SELECT c.changed_by FROM alert_changes c WHERE c.seq = t.seq))",
        writeTo: "version",
        isRenumbered: true,
      },
    ],
    weight: "coalesce(octet_length(facts), 0) + coalesce(octet_length(decisions), 0)",
  },
  {
    name: "deliveries",
    key: ["seq"],
    columns: columns(
      `seq:int8 id alert_seq:int8 destination channel recipient route purpose instead_of instead_because state reason created_at:int8
       due_at:int8 finished_at:int8 attempts:int4 ambiguous:int4 last_detail last_reason form progress digest_id updates freshness_ms:int8
       fallback_to fallback_at:int8 claim_token claim_fence:int8 lease_until:time resent_by:int8`,
    ),
    weight: "octet_length(progress)",
  },
  {
    name: "attempts",
    key: ["seq"],
    columns: columns(
      "seq:int8 delivery_seq:int8 at:int8 duration_ms:int8 action part:int4 parts:int4 outcome reason detail",
    ),
  },
  {
    name: "threads",
    key: ["destination", "recipient", "alert_key"],
    columns: columns(
      `destination recipient alert_key root_ref root_alert_seq:int8 last_ref last_alert_seq:int8 first_at:int8 last_new_at:int8
       last_at:int8 count:int4 severity status over_at:int8`,
      // Of a vendor that gives no ids it is null in PostgreSQL and empty in SQLite.
    ).map((column) =>
      column.name.endsWith("_ref") ? { ...column, readInPostgres: `coalesce(t.${column.name}, '')` } : column,
    ),
  },
  {
    name: "refused_requests",
    key: ["seq"],
    columns: columns(
      `seq:int8 id source received_at:int8 reason detail address content_type headers body:bytes items:int4 unkept:int4
       released_at:int8 alert_ids`,
    ),
    weight: "octet_length(body) + octet_length(headers)",
  },
  {
    name: "mutes",
    key: ["id"],
    columns: columns("id matchers reason starts_at:int8 ends_at:int8 created_at:int8 created_by"),
  },
  { name: "expiring_keys", key: ["kind", "key"], columns: columns("kind key expires_at:int8") },
  { name: "watch_states", key: ["name"], columns: columns("name state") },
  { name: "paces", key: ["key"], columns: columns("key sent_at parked_until:int8 parked_why") },
  { name: "destination_statuses", key: ["kind", "name"], columns: columns("kind name status") },
  { name: "lanes", key: ["lane_group"], columns: columns("lane_group fence:int8") },
  {
    name: "outcome_hours",
    key: ["destination", "hour", "outcome"],
    columns: columns(`destination ${hours} outcome count:int8`),
    postgres: {
      read: `(SELECT name AS destination, hour, part AS outcome, sum(count)::bigint AS count FROM tallies WHERE kind = 'outcome'
        GROUP BY name, hour, part)`,
      write: `INSERT INTO tallies (kind, name, hour, part, count) SELECT 'outcome', destination, hour, outcome, count FROM incoming`,
    },
  },
  {
    name: "wait_hours",
    key: ["destination", "hour", "step"],
    columns: columns(`destination ${hours} step:int4 count:int8`),
    postgres: {
      read: `(SELECT name AS destination, hour, part::integer AS step, sum(count)::bigint AS count FROM tallies WHERE kind = 'wait'
        GROUP BY name, hour, part)`,
      write: `INSERT INTO tallies (kind, name, hour, part, count) SELECT 'wait', destination, hour, step::text, count FROM incoming`,
    },
  },
  {
    name: "route_hours",
    key: ["route", "hour"],
    columns: columns(`route ${hours} alerts:int8 last_at:int8 last_id`),
    postgres: {
      read: `(SELECT route, hour, sum(alerts)::bigint AS alerts, max(last_at) AS last_at,
        (array_agg(last_id ORDER BY last_at DESC, last_id DESC))[1] AS last_id FROM route_hours GROUP BY route, hour)`,
      write: "INSERT INTO route_hours SELECT route, hour, alerts, last_at, last_id FROM incoming",
    },
  },
  {
    name: "statistics_start",
    key: ["route_hour"],
    columns: columns("route_hour:int8"),
    sqlite: {
      read: "(SELECT route_hour FROM statistics_start WHERE route_hour IS NOT NULL)",
      write: "UPDATE statistics_start SET route_hour = ?",
    },
  },
  {
    name: "counts",
    key: ["kind"],
    columns: columns("kind count:int8"),
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
