import type { Alert } from "../alert.ts";
import type { DeliveryPurpose, DeliveryState, ReasonCode } from "../delivery.ts";
import type {
  ClaimedDelivery,
  DeliveryProgress,
  DueDelivery,
  NextStep,
  Thread,
  ThreadUpdate,
} from "../delivery-job.ts";
import type { DestinationStatus, PaceRecord } from "../destination-status.ts";
import type { MessageExtras, PlannedDelivery } from "../rules.ts";
import type { AttemptEntry, DeliverySummary } from "./alert-log.ts";
import type { LaneFence } from "./lanes.ts";

export interface ClaimInput {
  /** Chosen by the claimer, and named by every write for the claim. */
  token: string;
  deliverySeqs: number[];
  /** How long nobody else may claim the deliveries, from now by the driver's clock. */
  leaseMs: number;
  /** Set when the deliveries are sent together. */
  digestId?: string;
}

/** The deliveries of one claim, with the earlier messages of the first one's alert key. */
export interface ClaimedTogether {
  token: string;
  deliveries: ClaimedDelivery[];
  thread?: Thread;
}

/** A fallback to make for one delivery. */
export interface FallbackCall {
  deliverySeq: number;
  planned: PlannedDelivery[];
  /** When to call the fallback once more, even if the delivery has ended by then. Absent: never. Epoch milliseconds. */
  againAt?: number;
}

/** What becomes of a delivery without an attempt. */
export type Untried =
  | { state: "failed" | "expired" | "held"; reason: string }
  /** `mutedBy`: see `keptNameOf`. */
  | { state: "muted"; reason: string; mutedBy: string }
  | { state: "waiting" | "held"; reason: string; dueAt: number };

export interface AttemptRecord extends AttemptEntry {
  token: string;
  deliverySeqs: number[];
  reason?: ReasonCode;
  countsAsAttempt: boolean;
  progress: DeliveryProgress;
  /** Absent: this claim has more calls to make. */
  next?: NextStep;
  /** With more calls: how much longer the claim holds, from now by the driver's clock. */
  leaseMs?: number;
  thread?: ThreadUpdate;
  /** What a digest has told of keys, by the delivery that it showed. */
  threads?: Readonly<Record<number, ThreadUpdate>>;
  /** Fallbacks to make, since `next` is final and not `sent`, or ends what was told there. */
  fallbacks?: FallbackCall[];
}

export interface AlertRequest {
  contentType?: string;
  body: Uint8Array;
  /** `item`: the alert's place in the body. */
  alerts: { seq: number; item: number }[];
}

export interface ShownAlert extends Omit<Alert, "seq"> {
  routedAt: number;
  /** What the route adds to the message. */
  extras?: MessageExtras;
}

/** Resends one failed delivery: to its own recipient, or to the destination's present ones. */
export interface ResendCall {
  deliverySeq: number;
  planned: PlannedDelivery[];
  /** The failed delivery's address is gone: only present recipients without the alert get it. */
  onlyNew: boolean;
  /** Makes nothing for this delivery: the release of another one shows its alert too. */
  toldBy?: number;
}

export interface ResentCount {
  made: number;
  /** Failed deliveries that this call has replaced. */
  resent: number;
  /** Failed deliveries whose address is gone, while every other address of the destination has the alert. */
  noRecipient: number;
}

/** Bulk resends since the oldest one that has not ended. */
export interface Resending {
  /** Resends that were not resent again. */
  made: number;
  arrived: number;
  since: number;
}

export interface DestinationCounts {
  destination: string;
  /** Without deliveries that were resent. */
  counts: Partial<Record<DeliveryState, number>>;
  oldestWaitingAt?: number;
  /** The latest end of a delivery that failed or expired and was not resent. Absent: there is none. */
  lastFailedAt?: number;
  /** How many deliveries quiet hours hold, and when the first is sent. Absent: none. */
  heldByQuietHours?: { count: number; until: number };
  /** Absent when no bulk resend waits. */
  resending?: Resending;
}

export interface AbandonedDelivery extends DueDelivery {
  token: string;
}

/** `dueAt`: the end of the quiet hours that hold the delivery. */
export type HeldDelivery = Pick<DueDelivery, "id" | "seq" | "dueAt" | "severity" | "status">;

export interface HeldChange {
  /** All deliveries must be for it. */
  destination: string;
  deliveryIds: string[];
  /** Deliveries whose quiet hours are over at this time stay unchanged. */
  now: number;
  dueAt: number;
  /** Appended to the reasons of the deliveries and the decision. */
  why: string;
  /** A person has named the deliveries: nothing holds them again. Those that may have arrived are repeated. */
  isNamed: boolean;
}

/** A write for a lane names its fence. `lost`: another relay holds the group, and only the log of attempts has changed. */
export interface Dispatch {
  /**
   * Deliveries that may be tried now, oldest first. `held` ones whose time has come are included. When there are more
   * than `limit`, manual resends, tests and the relay's notices come first.
   * @param resentFirst whether bulk resends come before all other alerts. Default: after them
   */
  listDue(destination: string, now: number, limit: number, resentFirst?: boolean): Promise<DueDelivery[]>;
  /** Deliveries about alerts of these keys that may be tried now or later, in the order of the log. */
  listByKeys(destination: string, alertKeys: string[], limit: number): Promise<DueDelivery[]>;
  /** When the next waiting delivery becomes due. */
  nextDueAt(destination: string): Promise<number | undefined>;
  /** Counts held deliveries that are due for this recipient and group. Empty group: those that quiet hours have held. */
  countDueTogether(destination: string, recipient: string, group: string | undefined, now: number): Promise<number>;
  /** Returns the deliveries that could still be claimed, with their facts, in the order asked. Saves the paces. */
  claimDeliveries(lane: LaneFence, input: ClaimInput, paces: PaceRecord[]): Promise<ClaimedDelivery[] | "lost">;
  /** Makes several claims in one step. Claims that get no delivery are left out. */
  claimRun(lane: LaneFence, claims: ClaimInput[]): Promise<ClaimedTogether[] | "lost">;
  /** `late`: the claim is no longer held. Only the attempt and the paces are recorded. */
  recordAttempt(lane: LaneFence, record: AttemptRecord, paces: PaceRecord[]): Promise<"recorded" | "late" | "lost">;
  /** Ends waiting deliveries without an attempt, or postpones them to `dueAt`. */
  finishDeliveries(
    lane: LaneFence,
    deliverySeqs: number[],
    next: Untried,
    at: number,
    fallbacks: FallbackCall[],
  ): Promise<"done" | "lost">;
  /** Deliveries that quiet hours hold after this time (or at this time, after this position), in the order of time. */
  listHeld(destination: string, after: Pick<HeldDelivery, "dueAt" | "seq">, limit: number): Promise<HeldDelivery[]>;
  /** Gives held deliveries another time, and moves their fallbacks by as much. Returns how many were still held. */
  rescheduleHeld(change: HeldChange): Promise<number>;
  /** Continues a release that was too large for one step. False: nothing is left. */
  releaseRest(destinations: string[], at: number): Promise<boolean>;
  /** Gives claimed deliveries back without a call. They are due again at `dueAt`. `wasHeld`: quiet hours had held them. */
  releaseClaim(lane: LaneFence, token: string, dueAt: number, wasHeld?: boolean): Promise<"done" | "lost">;
  /** Claims that nobody will end: of an older fence than the given one of their destination, or with a lease that is over. */
  listAbandoned(held: Record<string, number>, limit: number): Promise<AbandonedDelivery[]>;
  /** The most overdue first, as many as one step handles. */
  listFallbacksDue(now: number): Promise<DueDelivery[]>;
  /** Makes deliveries at fallbacks: once for each delivery, and once for all mailboxes of a destination. */
  callFallbacks(fallbacks: FallbackCall[], at: number): Promise<void>;
  /** Adds deliveries of one alert. A `resend` replaces the earlier failures at its destination. Rejects for an unknown alert. */
  addDeliveries(
    alertId: string,
    deliveries: PlannedDelivery[],
    purpose: DeliveryPurpose,
    at: number,
  ): Promise<DeliverySummary[]>;
  /** Resends each failed delivery once, however many callers ask, unless its alert is on its way there again. */
  resendFailed(calls: ResendCall[], at: number): Promise<ResentCount>;
  /** Waiting deliveries of destinations that are no longer configured, by destination. */
  listOrphans(known: string[], limit: number): Promise<DueDelivery[]>;
  /** Fails deliveries to unconfigured destinations, also claimed ones, unless another relay holds their lane. */
  failOrphans(lane: LaneFence, known: string[], at: number): Promise<number | "lost">;
  /** In the order of the alerts, until the bodies reach `maxBytes`. The first always comes. Notices have none. */
  findRequests(alertSeqs: number[], maxBytes: number): Promise<AlertRequest[]>;
  /** Undefined when no message of the key was sent there. */
  findThread(destination: string, recipient: string, alertKey: string): Promise<Thread | undefined>;
  /** Those of the given keys about which a message was sent there. */
  findThreads(destination: string, recipient: string, alertKeys: string[]): Promise<Thread[]>;
  /** Those of the given keys whose last alert at a fallback of this destination is no end. */
  listToldInstead(destination: string, alertKeys: string[]): Promise<string[]>;
  /** The alert that a thread's first message shows, for an edit. Undefined until it is routed. */
  findAlertFacts(alertSeq: number, destination: string): Promise<ShownAlert | undefined>;
  /** Replaces these pace keys and no others. */
  savePaces(lane: LaneFence, paces: PaceRecord[]): Promise<"done" | "lost">;
  saveStatus(lane: LaneFence, status: DestinationStatus): Promise<"done" | "lost">;
  /** The status of all destinations and accounts that were ever called, to inspect a stopped relay. */
  loadStatuses(): Promise<DestinationStatus[]>;
  /** Counts for all destinations that ever had a delivery, in no particular order. */
  countByDestination(): Promise<DestinationCounts[]>;
  /** The relay's own notices at this destination. `failed`: failed or expired, and not resent. */
  countNotices(destination: string): Promise<{ waiting: number; failed: number }>;
}
