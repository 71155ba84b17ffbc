import type { AlertFacts, AlertStatus, Severity } from "../core/alert.ts";
import type { ClaimedDelivery, DueDelivery, Thread } from "../core/delivery-job.ts";
import type { PaceRecord } from "../core/destination-status.ts";
import type { DeliverySummary } from "../core/ports/alert-log.ts";
import type { RefusedSummary } from "../core/ports/refused.ts";
import type { Matcher, Mute } from "../core/rules.ts";
import { columnNames, type Row } from "./tables.ts";

/** What only claims and resends look at. */
type Unread = "claim_fence" | "lease_until" | "resent_by";

/** A row of `deliveries` joined with what planning needs of its alert. */
export interface DeliveryRow extends Omit<Row<"deliveries">, Unread>, Pick<Row<"alerts">, "origin" | "received_at"> {
  alert_id: string;
  alert_key: string;
  severity: Severity;
  status: AlertStatus;
}

const unread: readonly string[] = ["claim_fence", "lease_until", "resent_by"] satisfies Unread[];
const columnsBesideStatus = [
  ...columnNames("deliveries").flatMap((name) => (unread.includes(name) ? [] : [`d.${name}`])),
  "a.id AS alert_id, a.origin, a.received_at, a.alert_key, a.severity",
].join(", ");

/** Columns of `DeliveryRow`; `d` is the delivery, `a` its alert, and `status` says where that has its status. */
export const deliveryColumnsWith = (status: string) => `${columnsBesideStatus}, ${status} AS status`;

/** The same for `toClaimedDelivery`, which reads the facts anyway. */
export const claimedColumns = `${columnsBesideStatus}, a.facts`;

export function toDueDelivery(row: DeliveryRow): DueDelivery {
  return toDelivery(row, row.status);
}

function toDelivery(row: Omit<DeliveryRow, "status">, status: AlertStatus): DueDelivery {
  return {
    seq: row.seq,
    id: row.id,
    alertSeq: row.alert_seq,
    alertId: row.alert_id,
    origin: row.origin,
    destination: row.destination,
    recipient: row.recipient,
    purpose: row.purpose,
    state: row.state,
    reason: row.reason,
    dueAt: row.due_at ?? 0,
    createdAt: row.created_at,
    receivedAt: row.received_at,
    alertKey: row.alert_key,
    severity: row.severity,
    status,
    attempts: row.attempts,
    ambiguous: row.ambiguous,
    form: row.form,
    progress: JSON.parse(row.progress),
    digestId: row.digest_id ?? undefined,
    updates: row.updates,
    freshnessMs: row.freshness_ms ?? undefined,
    insteadOf: row.instead_of ?? undefined,
    insteadBecause: row.instead_because ?? undefined,
    fallbackTo: row.fallback_to ?? undefined,
    lastDetail: row.last_detail ?? undefined,
    lastReason: row.last_reason ?? undefined,
  };
}

export function toClaimedDelivery(row: Omit<DeliveryRow, "status"> & { facts: string }): ClaimedDelivery {
  const facts = JSON.parse(row.facts) as AlertFacts;
  return { facts, ...toDelivery(row, facts.status) };
}

/** What people see of a delivery, and nothing of its alert. */
export type DeliverySummaryRow = Pick<
  DeliveryRow,
  | "id"
  | "destination"
  | "channel"
  | "recipient"
  | "route"
  | "purpose"
  | "state"
  | "reason"
  | "created_at"
  | "due_at"
  | "finished_at"
  | "digest_id"
  | "instead_of"
> & { resent_by_id?: string | null };

export function toDeliverySummary(row: DeliverySummaryRow): DeliverySummary {
  return {
    id: row.id,
    destination: row.destination,
    channel: row.channel,
    recipient: row.recipient,
    route: row.route,
    purpose: row.purpose,
    state: row.state,
    reason: row.reason,
    createdAt: row.created_at,
    dueAt: row.due_at ?? undefined,
    finishedAt: row.finished_at ?? undefined,
    digestId: row.digest_id ?? undefined,
    insteadOf: row.instead_of ?? undefined,
    resentBy: row.resent_by_id ?? undefined,
  };
}

/** Columns of `RefusedSummary`. */
export interface RefusedSummaryRow extends Omit<Row<"refused_requests">, "seq" | "headers" | "body"> {
  body_bytes: number;
}

export function toRefusedSummary(row: RefusedSummaryRow): RefusedSummary {
  const { released_at: releasedAt, alert_ids: alertIds } = row;
  return {
    id: row.id,
    source: row.source,
    receivedAt: row.received_at,
    reason: row.reason,
    detail: row.detail,
    address: row.address,
    contentType: row.content_type ?? undefined,
    items: row.items,
    unkept: row.unkept,
    bodyBytes: row.body_bytes,
    released: releasedAt === null ? undefined : { at: releasedAt, alertIds: JSON.parse(alertIds ?? "[]") as string[] },
  };
}

export function toMute(row: Row<"mutes">): Mute {
  return {
    id: row.id,
    matchers: JSON.parse(row.matchers) as Matcher[],
    reason: row.reason,
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    createdAt: row.created_at,
    createdBy: row.created_by,
  };
}

export function toPace({ key, sent_at, parked_until, parked_why }: Row<"paces">): PaceRecord {
  return {
    key,
    sentAt: JSON.parse(sent_at) as number[],
    parkedUntil: parked_until,
    parkedWhy: parked_why ?? undefined,
  };
}

export function toThread(row: Row<"threads">): Thread {
  return {
    destination: row.destination,
    recipient: row.recipient,
    alertKey: row.alert_key,
    rootRef: row.root_ref || undefined,
    rootAlertSeq: row.root_alert_seq,
    lastRef: row.last_ref || undefined,
    lastAlertSeq: row.last_alert_seq,
    firstAt: row.first_at,
    lastNewAt: row.last_new_at,
    lastAt: row.last_at,
    count: row.count,
    severity: row.severity,
    status: row.status,
    overAt: row.over_at ?? undefined,
  };
}
