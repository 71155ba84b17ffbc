import type { AlertFacts, AlertOrigin, AlertStatus, Severity } from "../core/alert.ts";
import type { ChannelType, DeliveryPurpose, DeliveryState, ReasonCode } from "../core/delivery.ts";
import type { ClaimedDelivery, DueDelivery, Thread } from "../core/delivery-job.ts";
import type { PaceRecord } from "../core/destination-status.ts";
import type { MessageForm } from "../core/message.ts";
import type { DeliverySummary, StoredArrival } from "../core/ports/alert-log.ts";
import type { RefusedRequest, RefusedSummary } from "../core/ports/refused.ts";
import { type Decision, type Matcher, type Mute, routesThatTook, type DeliveryUpdates } from "../core/rules.ts";
import { toPosition } from "./positions.ts";

/** A row of `deliveries` joined with what planning needs of its alert. */
export interface DeliveryRow {
  seq: number;
  id: string;
  alert_seq: number;
  alert_id: string;
  origin: AlertOrigin;
  destination: string;
  channel: ChannelType;
  recipient: string;
  route: string;
  purpose: DeliveryPurpose;
  instead_of: string | null;
  instead_because: string | null;
  state: DeliveryState;
  reason: string;
  created_at: number;
  due_at: number | null;
  finished_at: number | null;
  received_at: number;
  alert_key: string;
  severity: Severity;
  status: AlertStatus;
  attempts: number;
  ambiguous: number;
  last_detail: string | null;
  last_reason: ReasonCode | null;
  form: MessageForm;
  progress: string;
  digest_id: string | null;
  updates: DeliveryUpdates;
  freshness_ms: number | null;
  fallback_to: string | null;
  fallback_at: number | null;
  claim_token: string | null;
}

const columnsBesideStatus = `
  d.seq, d.id, d.alert_seq, a.id AS alert_id, a.origin, d.destination, d.channel, d.recipient, d.route, d.purpose,
  d.instead_of, d.instead_because, d.state, d.reason, d.created_at, d.due_at, d.finished_at, a.received_at, a.alert_key,
  a.severity, d.attempts, d.ambiguous, d.last_detail, d.last_reason, d.form, d.progress,
  d.digest_id, d.updates, d.freshness_ms, d.fallback_to, d.fallback_at, d.claim_token`;

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
  return { ...toDelivery(row, facts.status), facts };
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

/** Columns of `DeliverySummaryRow`; `d` is the delivery, `r` the one that was sent in its place. */
export const deliverySummaryColumns = `
  d.id, d.destination, d.channel, d.recipient, d.route, d.purpose, d.state, d.reason, d.created_at, d.due_at, d.finished_at,
  d.digest_id, d.instead_of, r.id AS resent_by_id`;

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
export interface RefusedSummaryRow {
  id: string;
  source: string;
  received_at: number;
  reason: RefusedRequest["reason"];
  detail: string;
  address: string;
  content_type: string | null;
  items: number;
  unkept: number;
  body_bytes: number;
  released_at: number | null;
  alert_ids: string | null;
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

export interface MuteRow {
  id: string;
  matchers: string;
  reason: string;
  starts_at: number;
  ends_at: number;
  created_at: number;
  created_by: string;
}

export function toMute(row: MuteRow): Mute {
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

export interface PaceRow {
  key: string;
  sent_at: string;
  parked_until: number;
  parked_why: string | null;
}

export function toPace({ key, sent_at, parked_until, parked_why }: PaceRow): PaceRecord {
  return {
    key,
    sentAt: JSON.parse(sent_at) as number[],
    parkedUntil: parked_until,
    parkedWhy: parked_why ?? undefined,
  };
}

export interface ThreadRow {
  destination: string;
  recipient: string;
  alert_key: string;
  /** Empty or null: the vendor gives no ids. */
  root_ref: string | null;
  root_alert_seq: number;
  last_ref: string | null;
  last_alert_seq: number;
  first_at: number;
  last_new_at: number;
  last_at: number;
  count: number;
  severity: Severity;
  status: AlertStatus;
  over_at: number | null;
}

export function toThread(row: ThreadRow): Thread {
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

/** That an alert came, and what was decided. */
export interface ArrivalRow {
  seq: number;
  id: string;
  received_at: number;
  source: string | null;
  decisions: string | null;
}

export function toArrival(row: ArrivalRow): StoredArrival {
  return {
    position: toPosition(row.seq),
    id: row.id,
    receivedAt: row.received_at,
    source: row.source ?? undefined,
    routes: row.decisions === null ? [] : routesThatTook(JSON.parse(row.decisions) as Decision[]),
  };
}
