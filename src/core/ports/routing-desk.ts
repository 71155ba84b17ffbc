import type { AlertFacts, AlertOrigin } from "../alert.ts";
import type { DeliveryPurpose } from "../delivery.ts";
import type { DestinationStatus } from "../destination-status.ts";
import type { Decision, PlannedDelivery } from "../rules.ts";
import type { ClaimedTogether } from "./dispatch.ts";
import type { LaneFence } from "./lanes.ts";
import type { WatchState } from "./watch.ts";

export interface UnroutedRequest {
  contentType?: string;
  body: Uint8Array;
  /** The source whose hook the request came by. Absent: the account's hook. */
  source?: string;
  /**
   * Another process took the request to read, and neither routed it nor recorded a failure: reading may have ended that
   * process. It is reported once, to the caller that then flags it.
   */
  isInterrupted?: boolean;
  alerts: {
    seq: number;
    id: string;
    item: number;
    origin: AlertOrigin;
    receivedAt: number;
    /** How often reading or routing the alert has failed. Its request is then listed alone. */
    failures: number;
    /** The reason of the last failure. */
    error?: string;
  }[];
}

/** A claim to make with the routing of its delivery, for a lane that can call at once. */
export interface PlannedClaim {
  lane: LaneFence;
  token: string;
  /** See `ClaimInput`. */
  leaseMs: number;
}

export interface RoutingRecord {
  alertSeq: number;
  facts: AlertFacts;
  decisions: Decision[];
  deliveries: PlannedDelivery[];
  /**
   * One claim for each delivery, in its place. Null: none is made. A claim whose lane is lost is not made, and the delivery is
   * due like others.
   */
  claims?: (PlannedClaim | null)[];
  purpose: DeliveryPurpose;
  routedAt: number;
  /**
   * Set when the rules have judged the alert and its body identifies its own event: the same bytes within this many
   * milliseconds before are the same event. Absent: the alert is no repeat, and no later alert is a repeat of it.
   */
  repeatWindowMs?: number;
  /**
   * Set when the alert is over and the rules have judged it: its destinations whose messages can be changed. If an earlier
   * message already shows the end, nothing is sent, or that message shows the later end. Absent: everything is sent.
   */
  endEdits?: string[];
  /** Destinations where the alert may not ring and the last message of its key then shows it. Default: none. */
  countsIn?: string[];
  /**
   * Set when a mute until the key is over holds the alert: the plan without that mute. It applies if an end of the key that is
   * routed before has ended the mute. Absent: no such mute holds the alert.
   */
  ifOver?: Pick<RoutingRecord, "decisions" | "deliveries" | "countsIn">;
  /** The bytes are compared although the request has a key: its sender has not signed the key. Default: the key decides. */
  isRepeatDespiteKey?: boolean;
}

/** A routing record for an alert without a position: it is stored in the same step. */
export type RoutingDraft = Omit<RoutingRecord, "alertSeq">;

/** An alert whose routing was written. */
export interface RecordedAlert {
  alertSeq: number;
  /** Id of the first alert, when this one was recorded as its repeat, without decisions and deliveries. */
  repeatOf?: string;
  /** The made deliveries, in the order of the record's, so nobody has to look them up. Null: its message was sent before. */
  deliveries: (MadeDelivery | null)[];
}

export interface MadeDelivery {
  seq: number;
  id: string;
  /** Set when the delivery was claimed in the same step. */
  claimed?: ClaimedTogether;
}

/** The relay's own alert, without a request, routed by its maker. */
export interface NoticeRecord extends Pick<RoutingRecord, "facts" | "decisions" | "deliveries"> {
  /** `test`: a person asked for it. Its deliveries have the same purpose. Default `notice`. */
  origin?: "notice" | "test";
  /** The notice is written only while its sender holds this lane. Absent: always. */
  lane?: LaneFence;
  id: string;
  at: number;
  /** Saved in the same step, so the state records a notice exactly when it is sent. */
  watch?: WatchState;
  /** The status of the destination or account that the notice is about, saved in the same step. Only with `lane`. */
  about?: DestinationStatus;
}

/** A list of unrouted requests ends with the body that reaches this size, since reading delays acceptance. */
export const fullListBytes = 4 * 1024 * 1024;

export interface RoutingDesk {
  /**
   * Unrouted alerts, oldest first, in whole requests: the last may exceed `limit`, and the list ends when bodies of
   * `fullListBytes` are listed. Requests whose routing failed return after their wait. Each list ends with at most one of them,
   * so new alerts never keep them waiting forever.
   * @param limit 0: only a request that has failed
   * @param after position: only requests accepted after it, or failed ones. Default 0: all
   */
  listUnrouted(limit: number, now: number, after?: number): Promise<UnroutedRequest[]>;
  /**
   * Records the routings in their order, in one step. Returns the written ones: an alert that is routed already stays unchanged
   * and is left out. Repeats are decided here, among alerts of one origin and hook whose requests have no key, or one that
   * decides nothing (`isRepeatDespiteKey`). The first alert has the same bytes and the same place in its request, and was
   * recorded with `repeatWindowMs` and not as a repeat itself. It is thus the first that the rules have judged: usually the one
   * accepted first, unless reading or routing that one has failed. An alert that was sent unjudged has no repeats. When damage
   * to the database prevents the look-up of earlier alerts, none is a repeat.
   */
  recordRouting(records: RoutingRecord[]): Promise<RecordedAlert[]>;
  /** Flags those of these alerts that are not routed yet. They are tried again at `retryAt`. */
  recordRoutingFailure(alertSeqs: readonly number[], error: string, retryAt: number): Promise<void>;
  /**
   * With `toOthers` this relay only accepts from now on, and other relays route all that it has not routed. Without, it routes
   * again what it accepts. Absent where there are no others.
   */
  leaveRouting?(toOthers: boolean): Promise<void>;
  /** `lost`: another relay holds the lane, and nothing was written. */
  recordNotice(notice: NoticeRecord): Promise<"done" | "lost">;
}
