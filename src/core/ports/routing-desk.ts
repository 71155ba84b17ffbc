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
  /** The source whose hook got the request. Absent: the account's hook. */
  source?: string;
  /** Another process began to read the request and recorded nothing: reading may have ended it. One caller gets this mark. */
  isInterrupted?: boolean;
  alerts: {
    seq: number;
    id: string;
    item: number;
    origin: AlertOrigin;
    receivedAt: number;
    /** How often reading or routing has failed. After a failure the request is listed alone. */
    failures: number;
    /** The last failure's reason. */
    error?: string;
  }[];
}

/** A claim to make together with the delivery, for a lane that can call at once. */
export interface PlannedClaim {
  lane: LaneFence;
  token: string;
  leaseMs: number;
}

export interface RoutingRecord {
  alertSeq: number;
  facts: AlertFacts;
  decisions: Decision[];
  deliveries: PlannedDelivery[];
  /** One for each delivery, in order; null makes none. Where the lane is lost, the delivery waits like others. */
  claims?: (PlannedClaim | null)[];
  purpose: DeliveryPurpose;
  routedAt: number;
  /** Where the body identifies its event: the same bytes within this time before are a repeat. Absent: not compared. */
  repeatWindowMs?: number;
  /**
   * For a resolving alert that the rules have judged: its destinations whose messages can be changed. Where a message
   * already shows an end, nothing is sent, or that message shows the later end. Absent: everything is sent.
   */
  endEdits?: string[];
  /** Destinations where the key's last message shows this alert, should it not ring. Default: none. */
  countsIn?: string[];
  /** The plan without the mute that holds the alert until its key is over, for the case that the mute ends first. */
  ifOver?: Pick<RoutingRecord, "decisions" | "deliveries" | "countsIn">;
  /** Compares the bytes although the request has a key, since the sender has not signed it. Default: the key decides. */
  isRepeatDespiteKey?: boolean;
}

/** The routing of an alert that is stored in the same step, and has no position yet. */
export type RoutingDraft = Omit<RoutingRecord, "alertSeq">;

export interface RecordedAlert {
  alertSeq: number;
  /** The first alert, where this one was recorded as its repeat. It then has no decisions or deliveries. */
  repeatOf?: string;
  /** In the order of the record's deliveries. Null: the message was sent before. */
  deliveries: (MadeDelivery | null)[];
}

export interface MadeDelivery {
  seq: number;
  id: string;
  /** Present when the delivery was claimed in the same step. */
  claimed?: ClaimedTogether;
}

/** The relay's own alert. It has no request, and its maker has routed it. */
export interface NoticeRecord extends Pick<RoutingRecord, "facts" | "decisions" | "deliveries"> {
  /** `test`: a person asked for it, and so for its deliveries. Default `notice`. */
  origin?: "notice" | "test";
  /** Written only while its sender holds this lane. Absent: always. */
  lane?: LaneFence;
  id: string;
  at: number;
  /** Saved in the same step: the state must know of a notice exactly when it is sent. */
  watch?: WatchState;
  /** The status that the notice is about, saved in the same step. Only with `lane`. */
  about?: DestinationStatus;
}

/** A list of unrouted requests ends with the body that reaches this size. Reading delays acceptance. */
export const fullListBytes = 4 * 1024 * 1024;

export interface RoutingDesk {
  /**
   * Unrouted alerts, oldest first, in whole requests. The last one may exceed `limit`, and the list ends when bodies of
   * `fullListBytes` are in it. Failed requests come back after their wait, at most one in a list, so they cannot keep
   * new alerts waiting.
   * @param limit 0: only a failed request
   * @param after position: only requests after it, or failed ones. Default 0: all
   * @param isUrgent besides failed ones only those that `looksUrgent`. Goes with `after` 0. Default false
   */
  listUnrouted(limit: number, now: number, after?: number, isUrgent?: boolean): Promise<UnroutedRequest[]>;
  /**
   * Records the routings in order, in one step. Returns the written ones: an alert that is already routed is left out.
   * It also decides on repeats, among alerts of one origin and hook that have no key, or one that decides nothing
   * (`isRepeatDespiteKey`). The original has the same bytes and the same place in its request. It was recorded with
   * `repeatWindowMs`, and is no repeat itself: the first alert that the rules have judged. An alert that was sent
   * unjudged has no repeats. Where a damaged database cannot look up earlier alerts, none is a repeat.
   */
  recordRouting(records: RoutingRecord[]): Promise<RecordedAlert[]>;
  /** Flags those of these alerts that are not routed yet, to be tried again at `retryAt`. */
  recordRoutingFailure(alertSeqs: readonly number[], error: string, retryAt: number): Promise<void>;
  /** With `toOthers` this relay only accepts, and the others route. Absent where there are no others. */
  leaveRouting?(toOthers: boolean): Promise<void>;
  /** `lost`: another relay holds the lane, and nothing was written. */
  recordNotice(notice: NoticeRecord): Promise<"done" | "lost">;
}
