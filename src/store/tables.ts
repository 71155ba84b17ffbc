import type { AlertOrigin, AlertStatus, Severity } from "../core/alert.ts";
import type { AttemptOutcome, ChannelType, DeliveryPurpose, DeliveryState, ReasonCode } from "../core/delivery.ts";
import type { MessageForm } from "../core/message.ts";
import type { AttemptEntry } from "../core/ports/alert-log.ts";
import type { RefusedRequest } from "../core/ports/refused.ts";
import type { KeyKind } from "../core/ports/shared.ts";
import type { DeliveryUpdates } from "../core/rules.ts";

/**
 * `int4` and `int8`: integers; `flag`: 0 and 1 in SQLite; `time`: epoch milliseconds in SQLite, `timestamptz` in PostgreSQL; `change`:
 * the transaction of a change in PostgreSQL; `texts`: a list that PostgreSQL alone has.
 */
export type ColumnKind = "int4" | "int8" | "text" | "bytes" | "flag" | "time" | "change" | "texts";

export type DriverName = "sqlite" | "postgres";

export interface Column<Value = unknown> {
  kind: ColumnKind;
  isNullable?: boolean;
  /** The other database has no such column. */
  only?: DriverName;
  isUnnamed?: boolean;
  /** What a row has there, for the compiler alone. */
  value?: Value;
}

const int4: Column<number> = { kind: "int4" };
const int8: Column<number> = { kind: "int8" };
const text: Column<string> = { kind: "text" };
const bytes: Column<Uint8Array> = { kind: "bytes" };
const flag: Column<number | boolean> = { kind: "flag" };
const time: Column<unknown> = { kind: "time" };
const textOf = <Text extends string>(): Column<Text> => ({ kind: "text" });
const maybe = <Value>(column: Column<Value>): Column<Value | null> => ({ ...column, isNullable: true });

/** A column that an INSERT does not name. */
type Unnamed<Value> = Column<Value> & { isUnnamed: true };
const made = <Value>(column: Column<Value>): Unnamed<Value> => ({ ...column, isUnnamed: true });
const onPostgres = <Value>(column: Column<Value>): Unnamed<Value> => ({ ...column, isUnnamed: true, only: "postgres" });

interface Table<Columns extends Record<string, Column>> {
  /** Unique, but for `route_hours` of PostgreSQL, whose rows are added up later. */
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
 * The tables of a log, which both databases have, and those of SQLite that stand in `tallies` of PostgreSQL. Rows, inserts and what `move`
 * copies are made of this. A new column stands here and in one migration for each database.
 */
export const tables = {
  requests: table(["seq"], {
    seq: made(int8),
    received_at: int8,
    content_type: maybe(text),
    headers: text,
    body: bytes,
    fingerprint: int8,
    items: int4,
    dedupe_key: maybe(text),
    conflict: flag,
    duplicates: int4,
  }),
  alerts: table(["seq"], {
    seq: made(int8),
    id: text,
    request_seq: maybe(int8),
    item: int4,
    origin: textOf<AlertOrigin>(),
    source: maybe(text),
    received_at: int8,
    routed_at: maybe(int8),
    routed_by: onPostgres(maybe(text)),
    routing_until: onPostgres(time),
    route_after: int8,
    route_failures: int4,
    routing_error: maybe(text),
    severity: maybe(textOf<Severity>()),
    // SQLite reads it in the facts.
    status: onPostgres(maybe(textOf<AlertStatus>())),
    alert_key: maybe(text),
    unmatched: flag,
    dropped: flag,
    facts: maybe(text),
    decisions: maybe(text),
    fingerprint: maybe(int8),
    repeat_of: maybe(text),
    version: maybe(int8),
    changed_by: onPostgres(maybe({ kind: "change" })),
    value: onPostgres(made(maybe(text))),
    facts_bytes: onPostgres(made(maybe(int4))),
  }),
  deliveries: table(["seq"], {
    seq: made(int8),
    id: text,
    alert_seq: int8,
    destination: text,
    channel: textOf<ChannelType>(),
    recipient: text,
    route: text,
    purpose: textOf<DeliveryPurpose>(),
    instead_of: maybe(text),
    instead_because: maybe(text),
    state: textOf<DeliveryState>(),
    reason: text,
    created_at: int8,
    due_at: maybe(int8),
    held_until: maybe(int8),
    finished_at: maybe(int8),
    attempts: int4,
    ambiguous: int4,
    last_detail: maybe(text),
    last_reason: maybe(textOf<ReasonCode>()),
    form: textOf<MessageForm>(),
    progress: text,
    digest_id: maybe(text),
    updates: textOf<DeliveryUpdates>(),
    damped: maybe(text),
    freshness_ms: maybe(int8),
    extras: maybe(text),
    group_name: maybe(text),
    fallback_to: maybe(text),
    fallback_at: maybe(int8),
    claim_token: maybe(text),
    claim_fence: int8,
    lease_until: maybe(time),
    resent_by: maybe(int8),
    mute_id: maybe(text),
  }),
  attempts: table(["seq"], {
    seq: made(int8),
    delivery_seq: int8,
    at: int8,
    duration_ms: int8,
    action: textOf<AttemptEntry["action"]>(),
    part: int4,
    parts: int4,
    outcome: textOf<AttemptOutcome>(),
    reason: maybe(text),
    detail: maybe(text),
  }),
  threads: table(["destination", "recipient", "alert_key"], {
    destination: text,
    recipient: text,
    alert_key: text,
    // Of a vendor that gives no ids: null in PostgreSQL, empty in SQLite.
    root_ref: maybe(text),
    root_alert_seq: int8,
    last_ref: maybe(text),
    last_alert_seq: int8,
    first_at: int8,
    last_new_at: int8,
    last_at: int8,
    count: int4,
    severity: textOf<Severity>(),
    status: textOf<AlertStatus>(),
    over_at: maybe(int8),
  }),
  rings: table(["destination", "alert_key"], { destination: text, alert_key: text, memory: text, updated_at: int8 }),
  group_memories: table(["destination", "name"], { destination: text, name: text, memory: text, updated_at: int8 }),
  refused_requests: table(["seq"], {
    seq: made(int8),
    id: text,
    source: text,
    received_at: int8,
    reason: textOf<RefusedRequest["reason"]>(),
    detail: text,
    address: text,
    content_type: maybe(text),
    headers: text,
    body: bytes,
    items: int4,
    unkept: int4,
    released_at: maybe(int8),
    alert_ids: maybe(text),
  }),
  mutes: table(["id"], {
    id: text,
    matchers: text,
    reason: text,
    starts_at: int8,
    ends_at: int8,
    created_at: int8,
    created_by: text,
    until_over: maybe(text),
  }),
  expiring_keys: table(["kind", "key"], { kind: textOf<KeyKind>(), key: text, expires_at: int8 }),
  watch_states: table(["name"], { name: text, state: text }),
  paces: table(["key"], { key: text, sent_at: text, parked_until: int8, parked_why: maybe(text) }),
  destination_statuses: table(["kind", "name"], { kind: text, name: text, status: text }),
  lanes: table(["lane_group"], {
    lane_group: text,
    fence: int8,
    owner: onPostgres(maybe(text)),
    relay: onPostgres(maybe(text)),
    granted_at: onPostgres(maybe(time)),
    lease_until: onPostgres(maybe(time)),
    destinations: onPostgres({ kind: "texts" }),
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

/** A row that is inserted: without what the database gives it. What is absent is null. */
export type InsertedRow<Name extends TableName> = Omit<Pick<Row<Name>, Named<Name>>, Nullable<Name>> &
  Partial<Pick<Row<Name>, Nullable<Name>>>;

/** The names of its columns that both databases have, in their order. */
export const columnNames = <Name extends TableName>(name: Name) =>
  Object.entries<Column>(tables[name].columns).flatMap(([column, { only }]) =>
    only === undefined ? [column as keyof Row<Name> & string] : [],
  );

/** The columns of an INSERT. */
export const insertedColumns = (name: TableName): [name: string, kind: ColumnKind][] =>
  Object.entries<Column>(tables[name].columns).flatMap(([column, { kind, isUnnamed }]) =>
    isUnnamed ? [] : [[column, kind]],
  );
