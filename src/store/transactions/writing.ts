import type { AlertFacts } from "../../core/alert.ts";
import type { DeliveryPurpose } from "../../core/delivery.ts";
import type { MadeDelivery, PlannedClaim, RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { Decision, PlannedDelivery } from "../../core/rules.ts";
import { outsideOf, rowOf } from "../rows.ts";
import { type InsertedRow, insertedColumns, type MarkedColumn, markedColumns, type Row } from "../tables.ts";
import type { Dialect, Tx } from "../tx.ts";
import type { Unrouted } from "./repeats.ts";

export interface NewDelivery {
  id: string;
  alertSeq: number;
  planned: PlannedDelivery;
  purpose: DeliveryPurpose;
  at: number;
  insteadOf?: string;
}

/** Columns that take the planned values unchanged. */
const plannedColumns = [
  ...(["destination", "channel", "recipient", "route", "instead_because"] as const),
  ...(["state", "reason", "updates", "freshness_ms"] as const),
];

export function toDeliveryRow({ id, alertSeq, planned, purpose, at, insteadOf }: NewDelivery) {
  const isMuted = planned.state === "muted";
  return {
    id,
    alert_seq: alertSeq,
    purpose,
    ...rowOf(planned, plannedColumns),
    instead_of: insteadOf ?? null,
    created_at: at,
    due_at: isMuted ? null : planned.dueAt,
    finished_at: isMuted ? at : null,
    attempts: 0,
    ambiguous: 0,
    form: "rich",
    progress: '{"refs":[]}',
    digest_id: null,
    damped: planned.damped === undefined ? null : JSON.stringify(planned.damped),
    extras: planned.extras === undefined ? null : JSON.stringify(planned.extras),
    group_name: planned.groupName ?? null,
    fallback_to: planned.fallback?.to ?? null,
    fallback_at: isMuted ? null : (planned.fallback?.at ?? null),
    claim_fence: 0,
    mute_id: planned.mutedBy ?? null,
  } satisfies InsertedRow<"deliveries">;
}

/** Makes deliveries, and gives their positions in the same order. */
export function createMaking(sql: Dialect) {
  const insert = sql.insertion("deliveries");
  const find = sql.statement(
    { ids: "text[]" },
    `SELECT seq, id FROM deliveries WHERE id ${sql.isOneOf(":ids")}`,
    (row: Pick<Row<"deliveries">, "seq" | "id">) => row,
  );
  return async (tx: Tx, deliveries: readonly NewDelivery[]): Promise<MadeDelivery[]> => {
    if (deliveries.length === 0) return [];
    for (const { planned } of deliveries) tx.notes.due.add(planned.destination);
    const ids = deliveries.map(({ id }) => id);
    const [, , made] = await Promise.all([
      tx.insert(insert, deliveries.map(toDeliveryRow), {}),
      tx.changed([...new Set(deliveries.map(({ alertSeq }) => alertSeq))]),
      tx.run(find, { ids }),
    ]);
    const seqOf = new Map(made.map(({ id, seq }) => [id, seq]));
    return ids.map((id) => ({ id, seq: seqOf.get(id) as number }));
  };
}

export interface RoutedDelivery extends NewDelivery {
  /** A claim that is made with the delivery. The transaction holds the row of its lane. */
  claim?: PlannedClaim;
}

/** Columns that a new delivery does not have yet, and its lease, which is by the database's clock. */
const later = [
  ...["attempts", "ambiguous", "last_detail", "last_reason", "form", "progress", "digest_id"],
  ...["lease_until", "resent_by"],
];
/** The columns of `toRoutedRow`. */
export const newColumns = insertedColumns("deliveries").filter(([name]) => !later.includes(name));

/** @returns the row, with `lease_ms`: null where the delivery is not claimed */
export function toRoutedRow({ claim, ...delivery }: RoutedDelivery) {
  const row = toDeliveryRow(delivery);
  if (claim === undefined) return { ...row, claim_token: null, lease_ms: null };
  const { token, lane, leaseMs } = claim;
  return {
    ...row,
    state: "sending" as const,
    due_at: null,
    claim_token: token,
    claim_fence: lane.fence,
    lease_ms: leaseMs,
  };
}

/** The routing of one alert. A repeat has neither decisions nor deliveries. */
export interface RoutedAlert {
  record: RoutingRecord;
  alert: Unrouted;
  decisions: Decision[];
  unmatched: boolean;
  dropped: boolean;
  deliveries: RoutedDelivery[];
}

/** Where a routed column may find its value. */
type Routing = AlertFacts & Unrouted & Omit<RoutingRecord, "deliveries"> & Omit<RoutedAlert, "deliveries">;

const routedColumns = markedColumns("isRouted", "postgres").map((name): [column: string, key: keyof Routing] => [
  name,
  outsideOf(name),
]);

/**
 * A column takes the value of its name from the first of these that has one: the routing, its record, the alert, the facts. It is
 * looked up by itself: spreads of these objects take fifteen times as long.
 */
export function toRoutedColumns(routed: RoutedAlert): Record<string, unknown> {
  const { record, alert, decisions } = routed;
  const sources: Partial<Routing>[] = [routed, record, alert, record.facts];
  const row: Record<string, unknown> = {};
  for (const [column, key] of routedColumns) {
    const value = sources.find((source) => source[key] !== undefined)?.[key];
    row[column] = typeof value === "boolean" ? Number(value) : (value ?? null);
  }
  row.facts = JSON.stringify(record.facts);
  row.decisions = JSON.stringify(decisions);
  return row;
}

export interface NewRequest {
  row: InsertedRow<"requests">;
  /** `routed` absent: the alert waits for routing, the urgent ones first. */
  alerts: {
    row: Pick<InsertedRow<"alerts">, MarkedColumn<"isStored"> | "severity">;
    routed?: RoutedAlert;
  }[];
}

/** The relay of these requests, where several relays share a database. */
export interface AskedBy {
  /** The relay that routes these alerts first. Default: the one that looks first. */
  router?: string;
  /** When the first of them asked, by the database's clock. Epoch milliseconds. */
  askedAt: number;
}

/** The positions of written alerts and deliveries, by id. */
export type Written = ReadonlyMap<string, number>;
