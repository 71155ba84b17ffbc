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
  /** The source whose hook it came by. Absent: the account's. */
  source?: string;
  /**
   * Another process was given it to read, and did neither route it nor say that it has failed: reading it may have been the end of
   * that one. It is said once, to the caller that then flags it.
   */
  isInterrupted?: boolean;
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

/** A claim to make with the routing of its delivery, for a lane that would call at once. */
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
   * One claim for each delivery, in its place; null where none is made. A claim whose lane is lost is not made: the delivery is due
   * like others.
   */
  claims?: (PlannedClaim | null)[];
  purpose: DeliveryPurpose;
  routedAt: number;
  /**
   * Given when the rules have judged the alert and its body names its own event: the very same bytes within this many
   * milliseconds before are the same event. Absent: the alert is no repeat, and nothing later is a repeat of it.
   */
  repeatWindowMs?: number;
  /**
   * Given when the alert is over and the rules have judged it: those of its destinations whose messages can be changed. Where the
   * end of the same occurrence was told before, nothing is sent, or such a message shows the later end. Absent: all is sent.
   */
  endEdits?: string[];
  /** The destinations where the alert may not ring and the last message of its key then shows it. Default: none. */
  countsIn?: string[];
  /**
   * Given when a mute until it is over holds the alert back: what is planned without it. It counts where that mute has ended, by an end
   * of the key that is routed before. Absent: no such mute holds it back.
   */
  ifOver?: Pick<RoutingRecord, "decisions" | "deliveries" | "countsIn">;
  /** The request's key is compared besides and decides nothing: its sender has not signed it. Default: a key decides. */
  isRepeatDespiteKey?: boolean;
}

/** The same for an alert that has no position yet: it is stored in the same step. */
export type RoutingDraft = Omit<RoutingRecord, "alertSeq">;

/** An alert whose routing was written. */
export interface RecordedAlert {
  alertSeq: number;
  /** Id of the first alert, when this one was recorded as its repeat: without decisions and deliveries. */
  repeatOf?: string;
  /** What was made of the record's deliveries, in their order, so that nobody has to look for it. Null: it was told before. */
  deliveries: (MadeDelivery | null)[];
}

export interface MadeDelivery {
  seq: number;
  id: string;
  /** It was claimed in the same step. */
  claimed?: ClaimedTogether;
}

/** What the relay says itself: an alert without a request, routed by its maker. */
export interface NoticeRecord extends Pick<RoutingRecord, "facts" | "decisions" | "deliveries"> {
  /** `test`: a person asked for it. The purpose of its deliveries is the same. Default `notice`. */
  origin?: "notice" | "test";
  /** It is written only while its sender holds this lane. Absent: in any case. */
  lane?: LaneFence;
  id: string;
  at: number;
  /** Saved in the same step: a notice that is on record was told, and one that is not was not. */
  watch?: WatchState;
  /** The same of the destination or account that it is about. Only with `lane`. */
  about?: DestinationStatus;
}

/** A list of what waits ends behind the body with which its bodies are as large: reading them takes time from what accepts. */
export const fullListBytes = 4 * 1024 * 1024;

export interface RoutingDesk {
  /**
   * Oldest first, whole requests: the last may go beyond `limit` alerts, and none follows when bodies of `fullListBytes` are
   * listed. Those whose routing has failed come back after their wait and behind all others: at most one such request, at the
   * end of each list, so that what goes on coming in keeps none of them waiting for ever.
   * @param limit 0: only one that has failed
   * @param after position: only what was accepted behind it, or has failed. Default 0: all
   */
  listUnrouted(limit: number, now: number, after?: number): Promise<UnroutedRequest[]>;
  /**
   * Records them in their order, in one step. Returns those that were written: an alert that is routed already is left as it is,
   * and left out. Which of them are repeats is decided here, among alerts of one origin and hook whose requests have no key, or
   * one that decides nothing (`isRepeatDespiteKey`): the first has the same bytes and the same place in its request, and was
   * recorded with `repeatWindowMs` and not as a repeat itself. The first of all is thus the first that the rules have judged: the
   * one accepted first, unless reading or routing that one has failed. An alert that was sent unjudged is nobody's first. When
   * earlier ones cannot be looked up, because the database is damaged there, none is a repeat.
   */
  recordRouting(records: RoutingRecord[]): Promise<RecordedAlert[]>;
  /** Alerts among these that are not routed yet stay so, are flagged, and are tried again at `retryAt`. */
  recordRoutingFailure(alertSeqs: readonly number[], error: string, retryAt: number): Promise<void>;
  /**
   * From now on this relay only accepts: what it has not routed yet, and all that it accepts, is for the others; or it
   * routes again what it accepts itself. Absent where there are no others.
   */
  leaveRouting?(toOthers: boolean): Promise<void>;
  /** `lost`: another relay holds the lane, and nothing was written. */
  recordNotice(notice: NoticeRecord): Promise<"done" | "lost">;
}
