import type { AlertFacts, AlertOrigin } from "../alert.ts";
import type { DeliveryPurpose } from "../delivery.ts";
import type { Decision, PlannedDelivery } from "../rules.ts";

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
}

/** A notice of the relay itself: an alert without a request, routed by whoever makes it. */
export interface NoticeRecord {
  id: string;
  at: number;
  facts: AlertFacts;
  decisions: Decision[];
  deliveries: PlannedDelivery[];
}

export interface RoutingDesk {
  /**
   * Oldest first, whole requests: the last may go beyond `limit` alerts. Those whose routing has failed come back after their wait
   * and behind all others: at most one such request, at the end of a list that has room.
   */
  listUnrouted(limit: number, now: number): Promise<UnroutedRequest[]>;
  recordRouting(records: RoutingRecord[]): Promise<void>;
  /** Those that are not routed yet stay so, are flagged, and are tried again at `retryAt`. */
  recordRoutingFailure(alertSeqs: readonly number[], error: string, retryAt: number): Promise<void>;
  recordNotice(notice: NoticeRecord): Promise<void>;
}
