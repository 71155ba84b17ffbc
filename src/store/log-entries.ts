import type { AlertFacts } from "../core/alert.ts";
import type {
  AlertDetail,
  AlertSummary,
  AttemptEntry,
  FailedDelivery,
  StoredArrival,
  StoredFacts,
} from "../core/ports/alert-log.ts";
import { type Decision, routesThatTook } from "../core/rules.ts";
import { toPosition } from "./positions.ts";
import { type DeliverySummaryRow, toDeliverySummary } from "./rows.ts";
import type { Row } from "./tables.ts";

/** Facts that are given at once, as JSON text: a few milliseconds. */
export const mostFactsBytes = 1024 * 1024;
/** So many ids are compared by their ends: some milliseconds, along the index of ids. */
export const mostEndings = 100_000;

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

/** @param noted changes that its version does not count. */
export function toSummary(row: SummaryRow, deliveries: readonly DeliverySummaryRow[], noted = 0): AlertSummary {
  return {
    position: toPosition(row.seq),
    id: row.id,
    version: (row.version ?? 0) + noted,
    origin: row.origin,
    source: row.source ?? undefined,
    receivedAt: row.received_at,
    routedAt: row.routed_at ?? undefined,
    facts: row.facts === null ? undefined : (JSON.parse(row.facts) as AlertFacts),
    routingError: row.routing_error ?? undefined,
    unmatched: Boolean(row.unmatched),
    dropped: Boolean(row.dropped),
    repeatOf: row.repeat_of ?? undefined,
    deliveries: deliveries.map(toDeliverySummary),
  };
}

export type AttemptRow = Omit<Row<"attempts">, "seq" | "delivery_seq">;

type RequestRow = Omit<Row<"requests">, "seq" | "fingerprint">;

export interface DetailParts {
  decisions: string | null;
  /** In the order of the summary's deliveries. */
  attempts: readonly (readonly AttemptRow[])[];
  /** Absent: it is a notice of the relay itself. */
  request?: RequestRow & { item: number };
  /** How often its body came again as an alert of its own. */
  repeats: number;
}

export function toDetail(summary: AlertSummary, { decisions, attempts, request, repeats }: DetailParts): AlertDetail {
  return {
    ...summary,
    decisions: toDecisions(decisions),
    deliveries: summary.deliveries.map((delivery, index) => ({
      ...delivery,
      attempts: (attempts[index] ?? []).map(toAttempt),
    })),
    request: request && {
      receivedAt: request.received_at,
      contentType: request.content_type ?? undefined,
      headers: JSON.parse(request.headers) as [string, string][],
      body: request.body,
      item: request.item,
      items: request.items,
      dedupeKey: request.dedupe_key ?? undefined,
      conflict: Boolean(request.conflict),
      duplicates: request.duplicates + repeats,
    },
  };
}

function toAttempt(row: AttemptRow): AttemptEntry {
  return {
    at: row.at,
    durationMs: row.duration_ms,
    action: row.action,
    part: row.part,
    parts: row.parts,
    outcome: row.outcome,
    reason: row.reason ?? undefined,
    detail: row.detail ?? undefined,
  };
}

/** A part of a body, without letters that were cut at the ends. */
export const toReadable = (bytes: Uint8Array): string =>
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

const toDecisions = (decisions: string | null): Decision[] =>
  decisions === null ? [] : (JSON.parse(decisions) as Decision[]);
