import type { AlertFacts, AlertStatus, Severity } from "../core/alert.ts";
import type { ClaimedDelivery, DueDelivery, Thread } from "../core/delivery-job.ts";
import type { PaceRecord } from "../core/destination-status.ts";
import type { DeliverySummary } from "../core/ports/alert-log.ts";
import type { RefusedSummary } from "../core/ports/refused.ts";
import type { Damped } from "../core/ring.ts";
import type { MessageExtras, Mute } from "../core/rules.ts";
import { type Column, columnNames, type Row, tables } from "./tables.ts";

/** The name of a column outside of the database: `alert_seq` is `alertSeq`. */
type Outside<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Outside<Rest>>}`
  : Name;

/** SQLite keeps a flag as a number. */
type Read<Value> = boolean extends Value ? boolean : Value;

type FromRow<R> = {
  [C in keyof R as null extends R[C] ? never : Outside<C & string>]: Read<R[C]>;
} & { [C in keyof R as null extends R[C] ? Outside<C & string> : never]?: NonNullable<R[C]> };

const outside = new Map<string, string>();

export function outsideOf<Name extends string>(name: Name): Outside<Name> {
  let known = outside.get(name);
  if (known === undefined) {
    known = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    outside.set(name, known);
  }
  return known as Outside<Name>;
}

const flags = new Set(
  Object.values(tables).flatMap(({ columns }) =>
    Object.entries<Column>(columns).flatMap(([name, { kind }]) => (kind === "flag" ? [name] : [])),
  ),
);

/** Gives these columns of a row under the names that callers know, without nulls. */
export function fromRow<R extends object, C extends keyof R & string>(
  row: R,
  names: readonly C[],
): FromRow<Pick<R, C>> {
  const object: Record<string, unknown> = {};
  for (const name of names)
    if (row[name] !== null) object[outsideOf(name)] = flags.has(name) ? Boolean(row[name]) : row[name];
  return object as FromRow<Pick<R, C>>;
}

type RowFrom<T, C extends string> = {
  [N in C]: Outside<N> extends keyof T
    ? NonNullable<T[Outside<N>]> | (undefined extends T[Outside<N>] ? null : never)
    : null;
};

/** A row of these columns. An absent value is null. */
export function rowOf<T extends object, C extends string>(object: T, names: readonly C[]): RowFrom<T, C> {
  const row: Record<string, unknown> = {};
  for (const name of names) row[name] = (object as Record<string, unknown>)[outsideOf(name)] ?? null;
  return row as RowFrom<T, C>;
}

/** The columns of a delivery that planning does not need. */
const unplanned = [
  ...(["channel", "route", "finished_at", "fallback_at"] as const),
  ...(["claim_token", "claim_fence", "lease_until", "resent_by"] as const),
];
type Planned = Exclude<keyof Row<"deliveries">, (typeof unplanned)[number]>;
const planned = columnNames("deliveries").filter((name): name is Planned => !unplanned.some((one) => one === name));
const ofAlert = ["alert_id", "origin", "received_at", "alert_key", "severity"] as const;
const ofDelivery = [...planned, ...ofAlert];

/** The columns of a delivery and of its alert that planning needs. */
export interface DeliveryRow extends Pick<Row<"deliveries">, Planned>, Pick<Row<"alerts">, "origin" | "received_at"> {
  alert_id: string;
  alert_key: string;
  severity: Severity;
  status: AlertStatus;
}

const columnsBesideStatus = [
  ...planned.map((name) => `d.${name}`),
  "a.id AS alert_id, a.origin, a.received_at, a.alert_key, a.severity",
].join(", ");

/** Columns of `DeliveryRow` for the delivery `d` and its alert `a`. `status`: the expression for the alert's status. */
export const deliveryColumnsWith = (status: string) => `${columnsBesideStatus}, ${status} AS status`;

/** Without the status, which `toClaimedDelivery` reads from the facts. */
export const claimedColumns = `${columnsBesideStatus}, a.facts`;

export function toDueDelivery(row: DeliveryRow): DueDelivery {
  return { ...toDelivery(row), status: row.status };
}

function toDelivery(row: Omit<DeliveryRow, "status">): Omit<DueDelivery, "status"> {
  const { progress, damped, extras } = row;
  return {
    ...{ dueAt: 0, ...fromRow(row, ofDelivery) },
    ...{ progress: JSON.parse(progress), damped: readJson<Damped>(damped), extras: readJson<MessageExtras>(extras) },
  };
}

export function readJson<T>(text: string | null): T | undefined {
  return text === null ? undefined : JSON.parse(text);
}

export function toClaimedDelivery(row: Omit<DeliveryRow, "status">, facts: AlertFacts): ClaimedDelivery {
  return { ...toDelivery(row), status: facts.status, facts };
}

/** The columns of a delivery that people see, without those of its alert. */
export const summaryColumns = [
  ...(["id", "destination", "channel", "recipient", "route", "purpose", "state", "reason"] as const),
  ...(["created_at", "due_at", "finished_at", "digest_id", "instead_of", "damped", "extras"] as const),
];

export type DeliverySummaryRow = Pick<Row<"deliveries">, (typeof summaryColumns)[number]> & {
  resent_by_id?: string | null;
};

export function toDeliverySummary(row: DeliverySummaryRow): DeliverySummary {
  return {
    ...fromRow(row, summaryColumns),
    extras: readJson<MessageExtras>(row.extras),
    damped: readJson<Damped>(row.damped),
    resentBy: row.resent_by_id ?? undefined,
  };
}

/** The columns of `RefusedSummary`, except state and size. */
export const refusedColumns = [
  ...(["id", "source", "received_at", "reason", "detail", "address", "content_type"] as const),
  ...(["items", "unkept"] as const),
];

export interface RefusedSummaryRow extends Omit<Row<"refused_requests">, "seq" | "headers" | "body"> {
  body_bytes: number;
}

export function toRefusedSummary(row: RefusedSummaryRow): RefusedSummary {
  const { released_at: at, alert_ids: alertIds } = row;
  return {
    ...fromRow(row, [...refusedColumns, "body_bytes"]),
    released: at === null ? undefined : { at, alertIds: JSON.parse(alertIds ?? "[]") as string[] },
  };
}

export const toMute = (row: Row<"mutes">): Mute => ({
  ...fromRow(row, columnNames("mutes")),
  matchers: JSON.parse(row.matchers),
});

export const toPace = (row: Row<"paces">): PaceRecord => ({
  ...fromRow(row, columnNames("paces")),
  sentAt: JSON.parse(row.sent_at),
});

export const toThread = (row: Row<"threads">): Thread => ({
  ...fromRow(row, columnNames("threads")),
  rootRef: row.root_ref || undefined,
  lastRef: row.last_ref || undefined,
});
