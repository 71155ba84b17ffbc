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
  /** The claimer chooses it; what is written for the claim names it. */
  token: string;
  deliverySeqs: number[];
  /** How long nobody else may take them, from now by the clock of the driver. */
  leaseMs: number;
  /** Set when they are sent together. */
  digestId?: string;
}

/** Deliveries that were claimed under one token, with what was sent before of the alert key of the first. */
export interface ClaimedTogether {
  token: string;
  deliveries: ClaimedDelivery[];
  thread?: Thread;
}

/** What to make at the fallback destination of one delivery. */
export interface FallbackCall {
  deliverySeq: number;
  planned: PlannedDelivery[];
  /** When to call it again, even if the delivery has ended. Absent: not again. Epoch milliseconds. */
  againAt?: number;
}

/** What becomes of a delivery without an attempt. */
export type Untried =
  | { state: "failed" | "expired" | "held"; reason: string }
  /** `mutedBy`: see `keptNameOf`. */
  | { state: "muted"; reason: string; mutedBy: string }
  | { state: "waiting" | "held"; reason: string; dueAt: number };

export interface AttemptRecord extends AttemptEntry {
  /** The claim's. */
  token: string;
  deliverySeqs: number[];
  reason?: ReasonCode;
  countsAsAttempt: boolean;
  progress: DeliveryProgress;
  /** Absent: more calls of this claim follow. */
  next?: NextStep;
  /** With more calls to follow: how long the claim is extended, from now by the clock of the driver. */
  leaseMs?: number;
  thread?: ThreadUpdate;
  /** Deliveries to make at the fallback destination, because `next` is final and not sent. */
  fallbacks?: FallbackCall[];
}

/** One request with those of its alerts that were asked for. */
export interface AlertRequest {
  contentType?: string;
  body: Uint8Array;
  /** `item` is the alert's position in the body. */
  alerts: { seq: number; item: number }[];
}

/** What a message shows that was sent. */
export interface ShownAlert extends Omit<Alert, "seq"> {
  routedAt: number;
  /** What its route added there. */
  extras?: MessageExtras;
}

/** What to make for one delivery that failed: for its own recipient, or for those that the destination has now. */
export interface ResendCall {
  deliverySeq: number;
  planned: PlannedDelivery[];
  /** Nothing for a recipient that has had the alert: they replace an address that is gone. */
  onlyNew: boolean;
  /** Nothing is made for it: the release of this other delivery, by a call behind it, tells it. */
  toldBy?: number;
}

export interface ResentCount {
  /** New deliveries. */
  made: number;
  /** Failed ones that have a resend in their place since this call. */
  resent: number;
  /** Failed ones whose address is gone while all others of the destination have had the alert. */
  noRecipient: number;
}

/** Resends of many since the oldest that has not ended. */
export interface Resending {
  /** Without those that were resent once more. */
  made: number;
  arrived: number;
  since: number;
}

export interface DestinationCounts {
  destination: string;
  /** Without those that were resent: they count as their resend does. */
  counts: Partial<Record<DeliveryState, number>>;
  oldestWaitingAt?: number;
  /** When the newest of those that failed or expired and were not resent ended; absent when there is none. */
  lastFailedAt?: number;
  /** What quiet hours hold, and when the first of it is sent; absent when there is none. */
  heldByQuietHours?: { count: number; until: number };
  /** Absent when none waits. */
  resending?: Resending;
}

/** A claimed delivery with the token of its claim. */
export interface AbandonedDelivery extends DueDelivery {
  token: string;
}

/** A delivery that quiet hours hold. It is sent at `dueAt`. */
export type HeldDelivery = Pick<DueDelivery, "id" | "seq" | "dueAt" | "severity" | "status">;

export interface HeldChange {
  /** Where all of them go. */
  destination: string;
  deliveryIds: string[];
  /** What quiet hours hold no longer at this time stays as it is. */
  now: number;
  /** When they are sent instead. */
  dueAt: number;
  /** Added at the end of their reason and of the decision. */
  why: string;
  /**
   * A person has named them: nothing holds them back again. Also those that are held since nobody knows whether they arrived: they are
   * repeated and marked.
   */
  isNamed: boolean;
}

/**
 * The deliveries of a destination, from due to finished. What writes for a lane says under which fence, and is answered
 * `lost` when another relay holds the group: nothing has changed then but the log of attempts.
 */
export interface Dispatch {
  /**
   * Deliveries of a destination that may be tried now, oldest first; `held` ones whose time has come are among them.
   * When there are more than `limit`, manual resends and tests and the relay's own notices come first.
   * @param resentFirst what is resent together with much else comes before all other alerts. Default: it comes last
   */
  listDue(destination: string, now: number, limit: number, resentFirst?: boolean): Promise<DueDelivery[]>;
  /** What may be tried now or later at a destination about alerts of these keys, in the order of the log. */
  listByKeys(destination: string, alertKeys: string[], limit: number): Promise<DueDelivery[]>;
  /** The next time at which one of them becomes due, if any waits. */
  nextDueAt(destination: string): Promise<number | undefined>;
  /** How many that were held are due for this recipient and this group; without one, at the end of quiet hours. */
  countDueTogether(destination: string, recipient: string, group: string | undefined, now: number): Promise<number>;
  /**
   * Marks as `sending` those that are still claimable, saves the paces as `savePaces` does, and returns them with their
   * alerts' facts, in the order asked.
   */
  claimDeliveries(lane: LaneFence, input: ClaimInput, paces: PaceRecord[]): Promise<ClaimedDelivery[] | "lost">;
  /**
   * Several claims in one step, each as `claimDeliveries` makes it; those that nothing can be taken for are left out.
   * Their calls are made one after another, and each claim ends for itself.
   */
  claimRun(lane: LaneFence, claims: ClaimInput[]): Promise<ClaimedTogether[] | "lost">;
  /** `late`: the claim was no longer held; the attempt is on the record and changed nothing else but the paces. */
  recordAttempt(lane: LaneFence, record: AttemptRecord, paces: PaceRecord[]): Promise<"recorded" | "late" | "lost">;
  /** Several in one step, each as `recordAttempt` does it; the answers in their order. */
  recordAttempts(lane: LaneFence, records: AttemptRecord[]): Promise<("recorded" | "late")[] | "lost">;
  /** Ends waiting deliveries without an attempt (too old, destination dead), or puts them off until `dueAt`. */
  finishDeliveries(
    lane: LaneFence,
    deliverySeqs: number[],
    next: Untried,
    at: number,
    fallbacks: FallbackCall[],
  ): Promise<"done" | "lost">;
  /**
   * What quiet hours hold at a destination beyond this time (and, of that time, this position), in the order of time.
   */
  listHeld(destination: string, after: Pick<HeldDelivery, "dueAt" | "seq">, limit: number): Promise<HeldDelivery[]>;
  /** Gives held deliveries another time; their fallbacks wait as long after it as before. How many were still held. */
  rescheduleHeld(change: HeldChange): Promise<number>;
  /**
   * At these destinations: more of what is due with its group, or since its cause is over, where that was too much for one step. False:
   * nothing is left.
   */
  releaseRest(destinations: string[], at: number): Promise<boolean>;
  /**
   * Gives claimed deliveries back untried (shutdown before the call); they are due again at `dueAt`.
   *
   * @param wasHeld quiet hours had held them, and their message says so. Default false
   */
  releaseClaim(lane: LaneFence, token: string, dueAt: number, wasHeld?: boolean): Promise<"done" | "lost">;
  /**
   * Claims that nobody will end, of destinations with the fence under which each is run now: made under an older one,
   * or with a lease that has ended.
   */
  listAbandoned(held: Record<string, number>, limit: number): Promise<AbandonedDelivery[]>;
  /** Deliveries whose fallback time has come, the most overdue first, as many as are handled at a time. */
  listFallbacksDue(now: number): Promise<DueDelivery[]>;
  /**
   * Makes deliveries at the fallback destination: once for each delivery, however many relays ask, and once for all mailboxes of
   * one destination that an alert was for.
   */
  callFallbacks(fallbacks: FallbackCall[], at: number): Promise<void>;
  /**
   * More deliveries of one alert, as they were made. A `resend` stands from now on for what did not get through to its
   * destination before: `resentBy` of those is set. Rejects for an unknown alert.
   */
  addDeliveries(
    alertId: string,
    deliveries: PlannedDelivery[],
    purpose: DeliveryPurpose,
    at: number,
  ): Promise<DeliverySummary[]>;
  /**
   * Resends deliveries that failed, each once, however many ask: one that was resent meanwhile, or whose alert is on its way
   * to the same recipient again, makes nothing new.
   */
  resendFailed(calls: ResendCall[], at: number): Promise<ResentCount>;
  /** Deliveries that wait for destinations which are no longer configured, destination by destination. */
  listOrphans(known: string[], limit: number): Promise<DueDelivery[]>;
  /**
   * Deliveries to destinations that are no longer configured end as failed, with that reason: claimed ones too, so a
   * driver that relays share leaves alone whose lane another of them holds.
   */
  failOrphans(lane: LaneFence, known: string[], at: number): Promise<number | "lost">;
  /**
   * The requests that these alerts came with, in the order of the alerts, until their bodies are `maxBytes` together;
   * the first whatever its size. Notices have none.
   */
  findRequests(alertSeqs: number[], maxBytes: number): Promise<AlertRequest[]>;
  /** Undefined when no message of this alert key has been sent there. */
  findThread(destination: string, recipient: string, alertKey: string): Promise<Thread | undefined>;
  /** The alert that a thread's first message shows at a destination, to edit it. Undefined until it is routed. */
  findAlertFacts(alertSeq: number, destination: string): Promise<ShownAlert | undefined>;
  /** When the lane's addresses were called last, by key: replaces what is known of these keys and of no others. */
  savePaces(lane: LaneFence, paces: PaceRecord[]): Promise<"done" | "lost">;
  /** Replaces what is known of this destination or account. */
  saveStatus(lane: LaneFence, status: DestinationStatus): Promise<"done" | "lost">;
  /** The status of every destination and account that was ever called, for a look at a relay that is stopped. */
  loadStatuses(): Promise<DestinationStatus[]>;
  /** The counts of every destination that ever had a delivery, in no particular order. */
  countByDestination(): Promise<DestinationCounts[]>;
  /**
   * Counts the relay's own notices at this destination: those that wait, and those that failed or expired and were not resent.
   */
  countNotices(destination: string): Promise<{ waiting: number; failed: number }>;
}
