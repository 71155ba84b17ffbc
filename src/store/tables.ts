import type { AlertOrigin, AlertStatus, Severity } from "../core/alert.ts";
import type { AttemptOutcome, ChannelType, DeliveryPurpose, DeliveryState, ReasonCode } from "../core/delivery.ts";
import type { MessageForm } from "../core/message.ts";
import type { AttemptEntry } from "../core/ports/alert-log.ts";
import type { RefusedRequest } from "../core/ports/refused.ts";
import type { KeyKind } from "../core/ports/shared.ts";
import type { DeliveryUpdates } from "../core/rules.ts";

/**
 * `int4` and `int8`: integers. `flag`: 0 and 1 in SQLite. `time`: epoch milliseconds in SQLite, `timestamptz` in PostgreSQL.
 * `change`: the transaction of a change, in PostgreSQL alone. `texts`: a list, in PostgreSQL alone.
 */
export type ColumnKind = "int4" | "int8" | "text" | "bytes" | "flag" | "time" | "change" | "texts";

export type DriverName = "sqlite" | "postgres";

const integers = { int4: "INTEGER", int8: "INTEGER", flag: "INTEGER", time: "INTEGER" };
/** An empty type is never used: SQLite has no such column. */
export const columnTypes: Record<DriverName, Record<ColumnKind, string>> = {
  sqlite: { ...integers, text: "TEXT", bytes: "BLOB", change: "", texts: "" },
  postgres: {
    ...{ int4: "integer", int8: "bigint", text: "text", bytes: "bytea", flag: "boolean" },
    ...{ time: "timestamptz", change: "xid8", texts: "text[]" },
  },
};

export interface Column<Value = unknown> {
  kind: ColumnKind;
  isNullable?: boolean;
  /** The other database has no such column. */
  only?: DriverName;
  isUnnamed?: boolean;
  /** Read and never compared. In PostgreSQL it needs no byte order. */
  isFree?: boolean;
  /** The column comes with a later migration than the table. */
  isLater?: boolean;
  /** Only of alerts; see `stored`, `routed` and `shown`. */
  isStored?: boolean;
  isRouted?: boolean;
  isShown?: boolean;
  /** The end of the column's definition, for both databases or for each. */
  defined?: string | Partial<Record<DriverName, string>>;
  /** The type of the value, for the compiler alone. */
  value?: Value;
}

const int4: Column<number> = { kind: "int4" };
const int8: Column<number> = { kind: "int8" };
const text: Column<string> = { kind: "text" };
const bytes: Column<Uint8Array> = { kind: "bytes" };
const flag: Column<number | boolean> = { kind: "flag" };
const time: Column<unknown> = { kind: "time" };
const textOf = <Text extends string>(): Column<Text> => ({ kind: "text" });
/** Words and JSON. */
const free: Column<string> = { kind: "text", isFree: true };
const maybe = <Value>(column: Column<Value>): Column<Value | null> => ({ ...column, isNullable: true });

const later = <Value>(column: Column<Value>): Column<Value> => ({ ...column, isLater: true });
const defined = <Of extends Column>(column: Of, as: Column["defined"]): Of => ({ ...column, defined: as });
const unique = defined(text, "UNIQUE");
const zero = "DEFAULT 0";
const off = defined(flag, { sqlite: zero, postgres: "DEFAULT false" });

/** A column that an INSERT does not name. */
type Unnamed<Value> = Column<Value> & { isUnnamed: true };
const made = <Value>(column: Column<Value>): Unnamed<Value> => ({ ...column, isUnnamed: true });
const onPostgres = <Value>(column: Column<Value>): Unnamed<Value> => ({ ...column, isUnnamed: true, only: "postgres" });

/** A column of an alert that T1 fills, when the alert is accepted. */
const stored = <Of extends Column>(column: Of) => ({ ...column, isStored: true as const });
/** A column that T2 fills, from the value of the same name in the routing, the facts or the alert (`toRoutedColumns`). */
const routed = <Of extends Column>(column: Of) => ({ ...column, isRouted: true as const });
/** A column that lists and pages read into `AlertSummary`, under the same name. */
const shown = <Of extends Column>(column: Of) => ({ ...column, isShown: true as const });

interface Table<Columns extends Record<string, Column>> {
  /** Unique, except in `route_hours` of PostgreSQL, whose rows are added up later. */
  key: readonly (keyof Columns & string)[];
  columns: Columns;
  /** The other database has no such table. */
  only?: DriverName;
}

const table = <Columns extends Record<string, Column>>(
  key: readonly (keyof Columns & string)[],
  columns: Columns,
  only?: DriverName,
): Table<Columns> => ({ key, columns, only });

/**
 * The tables of a log in both databases, and those that PostgreSQL keeps in `tallies`. Rows, inserts, `move` and the table
 * definitions in migrations are made from this. CONTRIBUTING.md says how to add a column.
 */
export const tables = {
  requests: table(["seq"], {
    seq: made(int8),
    received_at: int8,
    content_type: maybe(free),
    headers: free,
    body: bytes,
    fingerprint: int8,
    items: int4,
    dedupe_key: maybe(text),
    conflict: off,
    duplicates: defined(int4, zero),
  }),
  alerts: table(["seq"], {
    seq: made(int8),
    id: shown(stored(unique)),
    // No reference: with one, each removal of a request would read all alerts. A request is removed after its last alert.
    request_seq: maybe(int8),
    item: stored(int4),
    origin: shown(stored(textOf<AlertOrigin>())),
    // The named hook. Null: the account's hook.
    source: shown(stored(maybe(text))),
    received_at: shown(stored(int8)),
    // Grows with each change of the alert.
    version: defined(maybe(int8), { postgres: "NOT NULL DEFAULT 0" }),
    // The transaction of its last change, by `change_number`: all changes below the oldest that still runs are complete.
    changed_by: onPostgres(maybe({ kind: "change" })),
    routed_at: shown(routed(maybe(int8))),
    // The relay that reads and judges the alert, and until when no other relay does, by the database's clock.
    routed_by: onPostgres(maybe(text)),
    routing_until: defined(onPostgres(time), "DEFAULT '-infinity'"),
    route_after: defined(int8, zero),
    route_failures: defined(int4, zero),
    routing_error: shown(maybe(free)),
    // Before routing: `urgent` where the body looks so (`core/looks-urgent.ts`), else null.
    severity: routed(maybe(textOf<Severity | "urgent">())),
    // SQLite reads the status from the facts.
    status: routed(onPostgres(maybe(textOf<AlertStatus>()))),
    alert_key: routed(maybe(text)),
    unmatched: shown(routed(off)),
    dropped: shown(routed(off)),
    // `fingerprint`: of the body, where a later alert may repeat it. `repeat_of`: the first alert, where this one repeats it.
    fingerprint: routed(maybe(int8)),
    repeat_of: shown(routed(maybe(text))),
    // JSON as text: it may hold \u0000, which jsonb refuses. After all columns that are read without it.
    facts: routed(maybe(free)),
    decisions: routed(maybe(free)),
    // Pages ask for these of many alerts of a key at once, so the index of keys holds them.
    value: defined(
      onPostgres(made(maybe(text))),
      "GENERATED ALWAYS AS (left(readable_json(facts) ->> 'value', 100)) STORED",
    ),
    facts_bytes: defined(onPostgres(made(maybe(int4))), "GENERATED ALWAYS AS (octet_length(facts)) STORED"),
  }),
  deliveries: table(["seq"], {
    seq: made(int8),
    id: unique,
    alert_seq: defined(int8, { sqlite: "REFERENCES alerts (seq)" }),
    destination: text,
    channel: textOf<ChannelType>(),
    recipient: text,
    route: text,
    purpose: textOf<DeliveryPurpose>(),
    instead_of: maybe(text),
    // Words that follow "because".
    instead_because: maybe(free),
    state: textOf<DeliveryState>(),
    reason: free,
    created_at: int8,
    // Set exactly while the delivery may be claimed.
    due_at: maybe(int8),
    held_until: later(maybe(int8)),
    finished_at: maybe(int8),
    attempts: defined(int4, zero),
    ambiguous: defined(int4, zero),
    last_detail: maybe(free),
    // A code, which messages put into plain words.
    last_reason: maybe(textOf<ReasonCode>()),
    form: defined(textOf<MessageForm>(), "DEFAULT 'rich'"),
    progress: defined(free, `DEFAULT '{"refs":[]}'`),
    digest_id: maybe(text),
    updates: textOf<DeliveryUpdates>(),
    damped: later(maybe(text)),
    freshness_ms: maybe(int8),
    extras: later(maybe(text)),
    group_name: later(maybe(text)),
    fallback_to: maybe(text),
    fallback_at: maybe(int8),
    claim_token: maybe(text),
    claim_fence: defined(int8, zero),
    lease_until: maybe(time),
    // A delivery that failed and was resent counts as its resend does.
    resent_by: maybe(int8),
    mute_id: later(maybe(text)),
  }),
  attempts: table(["seq"], {
    seq: made(int8),
    delivery_seq: defined(int8, { sqlite: "REFERENCES deliveries (seq)" }),
    at: int8,
    duration_ms: int8,
    action: textOf<AttemptEntry["action"]>(),
    part: int4,
    parts: int4,
    outcome: textOf<AttemptOutcome>(),
    reason: maybe(text),
    detail: maybe(free),
  }),
  threads: table(["destination", "recipient", "alert_key"], {
    destination: text,
    recipient: text,
    alert_key: text,
    // A vendor without ids has null in PostgreSQL, empty text in SQLite.
    root_ref: defined(maybe(free), { sqlite: "NOT NULL" }),
    root_alert_seq: int8,
    last_ref: defined(maybe(free), { sqlite: "NOT NULL" }),
    last_alert_seq: defined(int8, { sqlite: zero }),
    first_at: int8,
    last_new_at: int8,
    last_at: int8,
    count: int4,
    severity: textOf<Severity>(),
    status: textOf<AlertStatus>(),
    // An alert that fires after its key was over rings as new, also while the resolution waits for the end of quiet hours.
    over_at: maybe(int8),
  }),
  rings: table(["destination", "alert_key"], { destination: text, alert_key: text, memory: free, updated_at: int8 }),
  group_memories: table(["destination", "name"], { destination: text, name: text, memory: free, updated_at: int8 }),
  refused_requests: table(["seq"], {
    seq: made(int8),
    id: unique,
    source: text,
    received_at: int8,
    reason: textOf<RefusedRequest["reason"]>(),
    detail: free,
    address: text,
    content_type: maybe(free),
    headers: free,
    body: bytes,
    items: int4,
    // Requests that were refused and not kept since the previous row: a flood is kept in part.
    unkept: int4,
    released_at: maybe(int8),
    alert_ids: maybe(free),
  }),
  mutes: table(["id"], {
    id: text,
    matchers: free,
    reason: free,
    starts_at: int8,
    ends_at: int8,
    created_at: int8,
    created_by: free,
    until_over: later(maybe(text)),
  }),
  expiring_keys: table(["kind", "key"], { kind: textOf<KeyKind>(), key: text, expires_at: int8 }),
  watch_states: table(["name"], { name: text, state: free }),
  paces: table(["key"], { key: text, sent_at: free, parked_until: int8, parked_why: maybe(free) }),
  destination_statuses: table(["kind", "name"], { kind: text, name: text, status: free }),
  lanes: table(["lane_group"], {
    lane_group: text,
    fence: int8,
    owner: onPostgres(maybe(text)),
    relay: onPostgres(maybe(text)),
    granted_at: onPostgres(maybe(time)),
    lease_until: onPostgres(maybe(time)),
    // The destinations that the relay sends to. A relay with an older configuration leaves their deliveries alone.
    destinations: defined(onPostgres({ kind: "texts" }), "DEFAULT '{}'"),
  }),
  outcome_hours: table(
    ["destination", "hour", "outcome"],
    { destination: text, hour: int8, outcome: text, count: int8 },
    "sqlite",
  ),
  wait_hours: table(
    ["destination", "hour", "step"],
    { destination: text, hour: int8, step: int4, count: int8 },
    "sqlite",
  ),
  route_hours: table(["route", "hour"], { route: text, hour: int8, alerts: int8, last_at: int8, last_id: text }),
};

export type TableName = keyof typeof tables;

type ColumnsOf<Name extends TableName> = (typeof tables)[Name]["columns"];

/** A row as either database gives it. */
export type Row<Name extends TableName> = {
  [C in keyof ColumnsOf<Name>]: ColumnsOf<Name>[C] extends Column<infer Value> ? Value : never;
};

type Named<Name extends TableName> = {
  [C in keyof ColumnsOf<Name>]: ColumnsOf<Name>[C] extends Unnamed<unknown> ? never : C;
}[keyof ColumnsOf<Name>] &
  keyof Row<Name>;

type Nullable<Name extends TableName> = { [C in Named<Name>]: null extends Row<Name>[C] ? C : never }[Named<Name>];

/** A row to insert, without the columns that the database fills. An absent value is null. */
export type InsertedRow<Name extends TableName> = Omit<Pick<Row<Name>, Named<Name>>, Nullable<Name>> &
  Partial<Pick<Row<Name>, Nullable<Name>>>;

/** The columns that both databases have, in order. */
export const columnNames = <Name extends TableName>(name: Name) =>
  Object.entries<Column>(tables[name].columns).flatMap(([column, { only }]) =>
    only === undefined ? [column as keyof Row<Name> & string] : [],
  );

export const insertedColumns = (name: TableName): [name: string, kind: ColumnKind][] =>
  Object.entries<Column>(tables[name].columns).flatMap(([column, { kind, isUnnamed }]) =>
    isUnnamed ? [] : [[column, kind]],
  );

type Mark = "isStored" | "isRouted" | "isShown";

/** The columns of an alert with this mark. */
export type MarkedColumn<As extends Mark> = {
  [C in keyof ColumnsOf<"alerts">]: ColumnsOf<"alerts">[C] extends Record<As, true> ? C : never;
}[keyof ColumnsOf<"alerts">];

export const markedColumns = <As extends Mark>(mark: As, driver?: DriverName) =>
  Object.entries<Column>(tables.alerts.columns).flatMap(([name, { only = driver, [mark]: isMarked }]) =>
    isMarked && only === driver ? [name as MarkedColumn<As>] : [],
  );

const positions: Record<DriverName, string> = {
  sqlite: "INTEGER PRIMARY KEY",
  postgres: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
};

/** The text between the brackets of CREATE TABLE: all columns except those of later migrations. */
export function definitionOf(name: TableName, driver: DriverName): string {
  const { columns } = tables[name];
  const key: readonly string[] = tables[name].key;
  const hasPosition = key[0] === "seq";
  const lines = Object.entries<Column>(columns).flatMap(([column, { kind, only = driver, ...one }]) => {
    if (one.isLater || only !== driver) return [];
    if (hasPosition && column === "seq") return [`seq ${positions[driver]}`];
    const isOrdered = driver === "postgres" && kind.startsWith("text") && !one.isFree;
    const end = typeof one.defined === "string" ? one.defined : one.defined?.[driver];
    const words = [column, columnTypes[driver][kind], isOrdered && 'COLLATE "C"', !one.isNullable && "NOT NULL", end];
    return [words.filter(Boolean).join(" ")];
  });
  return [...lines, ...(hasPosition ? [] : [`PRIMARY KEY (${key.join(", ")})`])].join(",\n  ");
}
