import type { AlertFacts } from "../core/alert.ts";
import type { AlertQuery, AlertSummary, FailedDelivery, StoredArrival, StoredFacts } from "../core/ports/alert-log.ts";
import { type Decision, routesThatTook } from "../core/rules.ts";
import { type RunRow, toRun } from "./alert-run.ts";
import { toPosition } from "./positions.ts";
import { type DeliverySummaryRow, toDeliverySummary } from "./rows.ts";
import type { Row } from "./tables.ts";
import type { Dialect } from "./tx.ts";

/** Facts that are given at once, as JSON text: a few milliseconds. */
export const mostFactsBytes = 1024 * 1024;

/** An alert as lists show it. */
export type SummaryRow = Pick<
  Row<"alerts">,
  | "seq"
  | "id"
  | "version"
  | "origin"
  | "source"
  | "received_at"
  | "routed_at"
  | "routing_error"
  | "unmatched"
  | "dropped"
  | "repeat_of"
  | "facts"
>;

/** What lists show of an alert: the columns of its row, and its deliveries as JSON. */
export type ListedRow = SummaryRow & { deliveries: string };

const deliveryColumns = [
  ...["id", "destination", "channel", "recipient", "route", "purpose", "state", "reason"],
  ...["created_at", "due_at", "finished_at", "digest_id", "instead_of"],
] as const satisfies (keyof DeliverySummaryRow)[];

/** Columns of `ListedRow`; `a` is the alert. */
export const listedColumns = (
  sql: Dialect,
) => `a.seq, a.id, ${sql.versionOf("a")} AS version, a.origin, a.source, a.received_at,
  a.routed_at, a.routing_error, a.unmatched, a.dropped, a.repeat_of, a.facts, ${deliveriesOfAlert(sql)}`;

/** The rows in their order as one JSON array. */
export const inOrder = (sql: Dialect, names: readonly string[], rows: string) =>
  `(SELECT ${sql.jsonRowsOf(Object.fromEntries(names.map((name) => [name, `x.${name}`])))} FROM (${rows}) AS x)`;

const deliveriesOfAlert = (sql: Dialect) =>
  `${inOrder(
    sql,
    [...deliveryColumns, "resent_by_id"],
    `SELECT ${deliveryColumns.map((name) => `d.${name}`).join(", ")}, r.id AS resent_by_id
   FROM deliveries d LEFT JOIN deliveries r ON r.seq = d.resent_by WHERE d.alert_seq = a.seq ORDER BY d.seq`,
  )} AS deliveries`;

export function toSummary(row: ListedRow): AlertSummary {
  return {
    position: toPosition(row.seq),
    id: row.id,
    version: row.version ?? 0,
    origin: row.origin,
    source: row.source ?? undefined,
    receivedAt: row.received_at,
    routedAt: row.routed_at ?? undefined,
    facts: row.facts === null ? undefined : (JSON.parse(row.facts) as AlertFacts),
    routingError: row.routing_error ?? undefined,
    unmatched: Boolean(row.unmatched),
    dropped: Boolean(row.dropped),
    repeatOf: row.repeat_of ?? undefined,
    deliveries: (JSON.parse(row.deliveries) as DeliverySummaryRow[]).map(toDeliverySummary),
  };
}

/** What was asked for beside: the last alerts of its key as JSON, and a part of the body. */
export type ShownRow = ListedRow & { run?: string; around?: Uint8Array | null };

export function toShown({ newestOfKey, raw }: AlertQuery): (row: ShownRow) => AlertSummary {
  return (row) => {
    const summary = toSummary(row);
    if (newestOfKey && summary.facts?.alertKey !== undefined)
      summary.run = toRun(JSON.parse(row.run ?? "[]") as RunRow[]);
    if (raw?.[0] !== undefined) summary.aroundRaw = toReadable(row.around ?? new Uint8Array());
    return summary;
  };
}

/** A part of a body, without letters that were cut at the ends. */
const toReadable = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString("utf8")
    .replace(/^\ufffd{1,3}/, "")
    .replace(/\ufffd{1,3}$/, "");

export interface FailedRow {
  seq: number;
  alertSeq: number;
  destination: string;
  recipient: string;
}

export const toFailedDelivery = ({ seq, alertSeq, ...row }: FailedRow): FailedDelivery => ({
  position: toPosition(alertSeq, seq),
  deliverySeq: seq,
  ...row,
});

export type FactsRow = Pick<Row<"alerts">, "seq" | "origin" | "source" | "received_at"> & { facts: string };

export function toStoredFacts({ seq, origin, source, received_at: receivedAt, facts }: FactsRow): StoredFacts {
  return {
    position: toPosition(seq),
    alertSeq: seq,
    origin,
    ...(source !== null && { source }),
    receivedAt,
    facts: JSON.parse(facts) as AlertFacts,
  };
}

/** That an alert came, and what was decided. */
export type ArrivalRow = Pick<Row<"alerts">, "seq" | "id" | "received_at" | "source" | "decisions">;

export function toArrival(row: ArrivalRow): StoredArrival {
  return {
    position: toPosition(row.seq),
    id: row.id,
    receivedAt: row.received_at,
    source: row.source ?? undefined,
    routes: routesThatTook(toDecisions(row.decisions)),
  };
}

export const toDecisions = (decisions: string | null): Decision[] =>
  decisions === null ? [] : (JSON.parse(decisions) as Decision[]);
