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
  /** Chosen by the claimer. Every write for the claim names it. */
  token: string;
  deliverySeqs: number[];
  /** How long no other claimer may take the deliveries, from now by the clock of the driver. */
  leaseMs: number;
  /** Set when the deliveries are sent together. */
  digestId?: string;
}

/** Deliveries under one token, with the earlier messages of the first one's alert key. */
export interface ClaimedTogether {
  token: string;
  deliveries: ClaimedDelivery[];
  thread?: Thread;
}

/** A call of the fallback for one delivery. */
export interface FallbackCall {
  deliverySeq: number;
  planned: PlannedDelivery[];
  /** When to call the fallback again, even if the delivery has ended. Absent: never. Epoch milliseconds. */
  againAt?: number;
}

/** The next state of a delivery without an attempt. */
export type Untried =
  | { state: "failed" | "expired" | "held"; reason: string }
  /** `mutedBy`: see `keptNameOf`. */
  | { state: "muted"; reason: string; mutedBy: string }
  | { state: "waiting" | "held"; reason: string; dueAt: number };

export interface AttemptRecord extends AttemptEntry {
  /** The token of the claim. */
  token: string;
  deliverySeqs: number[];
  reason?: ReasonCode;
  countsAsAttempt: boolean;
  progress: DeliveryProgress;
  /** Absent: this claim makes more calls. */
  next?: NextStep;
  /** With more calls: the claim's extension, from now by the clock of the driver. */
  leaseMs?: number;
  thread?: ThreadUpdate;
  /** Fallbacks to call, because `next` is final and not sent. */
  fallbacks?: FallbackCall[];
}

/** A request with the asked ones among its alerts. */
export interface AlertRequest {
  contentType?: string;
  body: Uint8Array;
  /** `item` is the alert's position in the body. */
  alerts: { seq: number; item: number }[];
}

/** The alert that a sent message shows. */
export interface ShownAlert extends Omit<Alert, "seq"> {
  routedAt: number;
  /** What its route adds to the message: note, title, links. */
  extras?: MessageExtras;
}

/** A resend of one failed delivery: for its own recipient, or for the destination's present ones. */
export interface ResendCall {
  deliverySeq: number;
  planned: PlannedDelivery[];
  /** Recipients that have had the alert get nothing: the others replace an address that is gone. */
  onlyNew: boolean;
  /** The delivery whose release, by a later call, also shows this alert. Nothing is made for this one. */
  toldBy?: number;
}

export interface ResentCount {
  /** New deliveries. */
  made: number;
  /** Failed deliveries that this call has replaced by a resend. */
  resent: number;
  /** Failed deliveries whose address is gone, while all other addresses of the destination have had the alert. */
  noRecipient: number;
}

/** Bulk resends since the oldest that has not ended. */
export interface Resending {
  /** Without deliveries that were resent once more. */
  made: number;
  arrived: number;
  since: number;
}

export interface DestinationCounts {
  destination: string;
  /** Without deliveries that were resent: their resends count. */
  counts: Partial<Record<DeliveryState, number>>;
  oldestWaitingAt?: number;
  /** When the newest delivery ended that failed or expired and was not resent. Absent when there is none. */
  lastFailedAt?: number;
  /** How many deliveries quiet hours hold, and when the first is sent. Absent when there are none. */
  heldByQuietHours?: { count: number; until: number };
  /** Absent when no bulk resend waits. */
  resending?: Resending;
}

/** A claimed delivery with the token of its claim. */
export interface AbandonedDelivery extends DueDelivery {
  token: string;
}

/** A delivery that quiet hours hold until `dueAt`. */
export type HeldDelivery = Pick<DueDelivery, "id" | "seq" | "dueAt" | "severity" | "status">;

export interface HeldChange {
  /** The destination of all deliveries. */
  destination: string;
  deliveryIds: string[];
  /** Deliveries that quiet hours no longer hold at this time stay unchanged. */
  now: number;
  /** The new time of sending. */
  dueAt: number;
  /** Added at the end of the reasons of the deliveries and the decision. */
  why: string;
  /**
   * A person has named the deliveries, so nothing holds them again. Deliveries that may have arrived are included: they are
   * repeated and marked.
   */
  isNamed: boolean;
}

/**
 * The deliveries of a destination, from due to finished. Writes for a lane name their fence. The answer is `lost` when another
 * relay holds the group: then only the log of attempts has changed.
 */
export interface Dispatch {
  /**
   * Deliveries of a destination that may be tried now, oldest first, including `held` ones whose time has come. When there are
   * more than `limit`, manual resends, tests and the relay's own notices come first.
   * @param resentFirst whether bulk resends come before all other alerts. Default: they come last
   */
  listDue(destination: string, now: number, limit: number, resentFirst?: boolean): Promise<DueDelivery[]>;
  /** Deliveries of a destination that may be tried now or later, about alerts of these keys, in the order of the log. */
  listByKeys(destination: string, alertKeys: string[], limit: number): Promise<DueDelivery[]>;
  /** The next time at which a waiting delivery becomes due. */
  nextDueAt(destination: string): Promise<number | undefined>;
  /** Counts held deliveries that are due for this recipient and this group. Without a group: at the end of quiet hours. */
  countDueTogether(destination: string, recipient: string, group: string | undefined, now: number): Promise<number>;
  /**
   * Marks the deliveries that can still be claimed as `sending`, saves the paces as `savePaces` does, and returns these
   * deliveries with their alerts' facts, in the order asked.
   */
  claimDeliveries(lane: LaneFence, input: ClaimInput, paces: PaceRecord[]): Promise<ClaimedDelivery[] | "lost">;
  /**
   * Makes several claims in one step, each as `claimDeliveries` does. Claims that get no delivery are left out. Their calls are
   * made one after another, and each claim ends by itself.
   */
  claimRun(lane: LaneFence, claims: ClaimInput[]): Promise<ClaimedTogether[] | "lost">;
  /** `late`: the claim was no longer held. Only the attempt and the paces are recorded. */
  recordAttempt(lane: LaneFence, record: AttemptRecord, paces: PaceRecord[]): Promise<"recorded" | "late" | "lost">;
  /** Ends waiting deliveries without an attempt (too old, destination dead), or postpones them to `dueAt`. */
  finishDeliveries(
    lane: LaneFence,
    deliverySeqs: number[],
    next: Untried,
    at: number,
    fallbacks: FallbackCall[],
  ): Promise<"done" | "lost">;
  /**
   * Lists the deliveries that quiet hours hold at a destination after this time (and, at that time, after this position), in
   * the order of time.
   */
  listHeld(destination: string, after: Pick<HeldDelivery, "dueAt" | "seq">, limit: number): Promise<HeldDelivery[]>;
  /** Gives held deliveries another time, and moves their fallbacks by the same. Returns how many were still held. */
  rescheduleHeld(change: HeldChange): Promise<number>;
  /**
   * Releases more deliveries of these destinations whose group is due or whose cause is over, where one step could not release
   * all. False: nothing is left.
   */
  releaseRest(destinations: string[], at: number): Promise<boolean>;
  /**
   * Gives claimed deliveries back untried (shutdown before the call). They are due again at `dueAt`.
   *
   * @param wasHeld whether quiet hours had held them, and their message says so. Default false
   */
  releaseClaim(lane: LaneFence, token: string, dueAt: number, wasHeld?: boolean): Promise<"done" | "lost">;
  /**
   * Claims that nobody else will end: made under an older fence than the given one of their destination, or with a lease that
   * has ended.
   */
  listAbandoned(held: Record<string, number>, limit: number): Promise<AbandonedDelivery[]>;
  /** Deliveries whose fallback is due, the most overdue first, as many as one step handles. */
  listFallbacksDue(now: number): Promise<DueDelivery[]>;
  /**
   * Makes deliveries at the fallback destination: once for each delivery, however many relays ask, and once for all mailboxes
   * of a destination.
   */
  callFallbacks(fallbacks: FallbackCall[], at: number): Promise<void>;
  /**
   * Adds deliveries of one alert, as given. A `resend` replaces the earlier failures at its destination, whose `resentBy` is
   * set. Rejects for an unknown alert.
   */
  addDeliveries(
    alertId: string,
    deliveries: PlannedDelivery[],
    purpose: DeliveryPurpose,
    at: number,
  ): Promise<DeliverySummary[]>;
  /**
   * Resends failed deliveries, each once, however many ask. A delivery makes nothing new if it was resent meanwhile, or if its
   * alert is on its way to the same recipient again.
   */
  resendFailed(calls: ResendCall[], at: number): Promise<ResentCount>;
  /** Deliveries that wait for destinations which are no longer configured, by destination. */
  listOrphans(known: string[], limit: number): Promise<DueDelivery[]>;
  /**
   * Fails deliveries to destinations that are no longer configured, also claimed ones. A driver that relays share leaves out
   * those whose lane another relay holds.
   */
  failOrphans(lane: LaneFence, known: string[], at: number): Promise<number | "lost">;
  /**
   * The requests of these alerts, in the order of the alerts, until their bodies are `maxBytes` together. The first comes
   * whatever its size. Notices have no request.
   */
  findRequests(alertSeqs: number[], maxBytes: number): Promise<AlertRequest[]>;
  /** Undefined when no message of this alert key has been sent there. */
  findThread(destination: string, recipient: string, alertKey: string): Promise<Thread | undefined>;
  /** The alert that a thread's first message shows at a destination, for an edit. Undefined until it is routed. */
  findAlertFacts(alertSeq: number, destination: string): Promise<ShownAlert | undefined>;
  /** Saves when the lane's addresses were called last. Replaces these keys and no others. */
  savePaces(lane: LaneFence, paces: PaceRecord[]): Promise<"done" | "lost">;
  /** Replaces the status of this destination or account. */
  saveStatus(lane: LaneFence, status: DestinationStatus): Promise<"done" | "lost">;
  /** The status of every destination and account that was ever called, to inspect a relay that is stopped. */
  loadStatuses(): Promise<DestinationStatus[]>;
  /** The counts of every destination that ever had a delivery, in no particular order. */
  countByDestination(): Promise<DestinationCounts[]>;
  /**
   * Counts the relay's own notices at this destination: those that wait, and those that failed or expired and were not resent.
   */
  countNotices(destination: string): Promise<{ waiting: number; failed: number }>;
}
