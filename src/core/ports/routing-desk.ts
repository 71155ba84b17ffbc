import type { AlertFacts, AlertOrigin } from "../alert.ts";
import type { DeliveryPurpose } from "../delivery.ts";
import type { Decision, PlannedDelivery } from "../rules.ts";
import type { LaneFence } from "./lanes.ts";

export interface UnroutedRequest {
  requestSeq: number;
  contentType?: string;
  body: Uint8Array;
  alerts: {
    seq: number;
    id: string;
    item: number;
    origin: AlertOrigin;
    receivedAt: number;
    /** How often reading or routing it has failed; its request is then listed alone. */
    failures: number;
    /** Why, the last time. */
    error?: string;
  }[];
}

export interface RoutingRecord {
  alertSeq: number;
  facts: AlertFacts;
  decisions: Decision[];
  deliveries: PlannedDelivery[];
  purpose: DeliveryPurpose;
  routedAt: number;
  /**
   * Given when the rules have judged the alert and its body names its own event: the very same bytes within this many
   * milliseconds before are the same event. Absent: the alert is no repeat, and nothing later is a repeat of it.
   */
  repeatWindowMs?: number;
}

/** An alert that was recorded as the repeat of an earlier one: without decisions and deliveries. */
export interface Repeat {
  alertSeq: number;
  /** Id of the first alert. */
  repeatOf: string;
}

/** A notice of the relay itself: an alert without a request, routed by whoever makes it. */
export interface NoticeRecord {
  /** It is written only while its sender holds this lane. Absent: in any case. */
  lane?: LaneFence;
  id: string;
  at: number;
  facts: AlertFacts;
  decisions: Decision[];
  deliveries: PlannedDelivery[];
}

export interface RoutingDesk {
  /**
   * Oldest first, whole requests: the last may go beyond `limit` alerts. Those whose routing has failed come back
   * after their wait and behind all others: at most one such request, at the end of a list that has room.
   */
  listUnrouted(limit: number, now: number): Promise<UnroutedRequest[]>;
  /**
   * In their order, in one step. Which of them are repeats is decided here, among alerts of one origin whose requests
   * have no key: the first has the same bytes and the same place in its request, and was recorded with
   * `repeatWindowMs` and not as a repeat itself. So the first of all is the first that the rules have judged, which
   * is the one accepted first unless reading or routing that one has failed; one that was sent unjudged is nobody's
   * first. When earlier ones cannot be looked up, because the database is damaged there, none is a repeat.
   */
  recordRouting(records: RoutingRecord[]): Promise<Repeat[]>;
  /** Those that are not routed yet stay so, are flagged, and are tried again at `retryAt`. */
  recordRoutingFailure(alertSeqs: readonly number[], error: string, retryAt: number): Promise<void>;
  /** `lost`: another relay holds the lane, and nothing was written. */
  recordNotice(notice: NoticeRecord): Promise<"done" | "lost">;
}
