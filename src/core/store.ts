import type { AlertFacts, AlertOrigin, AlertStatus, Severity } from "./alert.ts";
import type {
  AttemptOutcome,
  ChannelType,
  DeliveryPurpose,
  DeliveryState,
  FailedState,
  ReasonCode,
} from "./delivery.ts";
import type { MessageForm } from "./message.ts";
import type { Decision, Mute, PlannedDelivery, UpdatePolicy } from "./rules.ts";
import type { DigestReason } from "./telling.ts";

/**
 * The store port. Every method is one whole transaction: it has happened, on disk and fsynced, when its promise
 * resolves, or not at all when it rejects. Rejects with `AppError("store_unavailable")` when nothing can be written
 * (disk full) and with plain errors only for bugs.
 */
export interface Store
  extends IntakeStore,
    RoutingStore,
    DeliveryStore,
    LogStore,
    MuteStore,
    ExpiringKeyStore {
  /** Says what committed transactions changed; called after commit, never awaited. */
  onChange(listener: (change: StoreChange) => void): () => void;
  health(): Promise<StoreHealth>;
  /**
   * Housekeeping between two commits, to be asked for about once an hour: empties the write-ahead log into the database,
   * gives free pages back to the disk, a bounded number a time, and removes keys that have expired.
   */
  maintain(): Promise<StoreMaintenance>;
  /** A consistent copy at `path` (must not exist), checked and fsynced before it gets its name. */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}

/** Alerts have changed up to this version; what an event stream resumes by. */
export interface StoreChange {
  version: number;
}

export interface StoreHealth {
  /** A write was committed just now. */
  writable: boolean;
  /** Full disk: new alerts are answered 503 until there is room. */
  diskFull: boolean;
  unrouted: number;
  oldestUnroutedAt?: number;
  databaseBytes: number;
  /** Room on the disk of the database. Absent where that is another machine's. */
  freeBytes?: number;
}

export interface StoreMaintenance {
  /** False when somebody read just then, and part of the log had to stay. */
  logEmptied: boolean;
  pagesFreed: number;
  keysRemoved: number;
}

// ---------------------------------------------------------------- T1: accepting

export interface IncomingRequest {
  receivedAt: number;
  contentType?: string;
  /** `[name, value]` pairs in their order as JSON, credentials masked. */
  headers: string;
  body: Uint8Array;
  /** Checksum and length of the body, to find candidates for a byte-identical one. */
  fingerprint: number;
  /** UUIDv7, one for each alert of the body, in its order. */
  ids: string[];
  origin: AlertOrigin;
  /** The sender's explicit idempotency key, if any. */
  dedupeKey?: string;
  /** What to do when a byte-identical body is found and there is no key: `ask` stores nothing and answers `identical`. */
  identical: "duplicate" | "store" | "ask";
  /** How long keys and bodies are remembered, milliseconds. */
  dedupeWindowMs: number;
}

/** `identical` is answered only to `ask`; the other two mean that the alerts with these ids are on disk. */
export type Acceptance =
  | {
      kind: "accepted";
      ids: string[];
      /** An earlier request had the same key and another body. */
      conflict: boolean;
      /** Why earlier ones could not be looked for: stored as new, though it may be a resend. */
      unchecked?: string;
    }
  | { kind: "duplicate"; ids: string[] }
  | { kind: "identical"; ids: string[] };

export interface IntakeStore {
  acceptRequest(request: IncomingRequest): Promise<Acceptance>;
}

// ---------------------------------------------------------------- T2: routing

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

export interface RoutingStore {
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

// ---------------------------------------------------------------- T3, T4: delivering

/** A delivery as the engine plans with it. */
export interface DueDelivery {
  seq: number;
  id: string;
  alertSeq: number;
  alertId: string;
  origin: AlertOrigin;
  destination: string;
  recipient: string;
  purpose: DeliveryPurpose;
  state: DeliveryState;
  reason: string;
  dueAt: number;
  createdAt: number;
  receivedAt: number;
  alertKey: string;
  severity: Severity;
  status: AlertStatus;
  /** Counting attempts so far. */
  attempts: number;
  /** How many of them ended ambiguous. */
  ambiguous: number;
  form: MessageForm;
  /** Parts of the message that are known to be delivered, and the vendor's ids of them. */
  progress: DeliveryProgress;
  digestId?: string;
  updates: UpdatePolicy;
  freshnessMs?: number;
  insteadOf?: string;
  /** Why it gets the alert in place of that one, in words that follow "because". */
  insteadBecause?: string;
  /** The destination that stands by, until it has been called upon. */
  fallbackTo?: string;
  /** Why the last attempt did not succeed: for the page, and as a code for "late because". */
  lastDetail?: string;
  lastReason?: ReasonCode;
}

export interface DeliveryProgress {
  /** The vendor's ids of the parts that are delivered, in order; null where the vendor gives none. */
  refs: (string | null)[];
  /** What the parts already sent said of themselves, so that the rest is cut in the same places. */
  madeAt?: number;
  late?: { byMs: number; why: string };
  /** How often the destination has moved during this delivery. */
  moves?: number;
  /** Why the alerts of a digest are told together; a repeat says the same. */
  digestReason?: DigestReason;
}

export interface ClaimInput {
  token: string;
  deliverySeqs: number[];
  now: number;
  leaseUntil: number;
  /** Set when they are told together. */
  digestId?: string;
}

export interface ClaimedDelivery extends DueDelivery {
  facts: AlertFacts;
}

/** What happens to the deliveries of a claim after an attempt; decided purely by the delivery policy. */
export type NextStep =
  | { state: "sent" | "digested"; reason: string }
  | { state: "waiting"; reason: string; dueAt: number; form?: MessageForm }
  | { state: "failed" | "held" | "expired"; reason: string };

/** What to make at the destination that stands by for one delivery. */
export interface FallbackCall {
  deliverySeq: number;
  planned: PlannedDelivery[];
}

export interface AttemptRecord {
  token: string;
  deliverySeqs: number[];
  at: number;
  durationMs: number;
  action: "send" | "edit" | "reply";
  /** 1-based; 1 of 1 for most. */
  part: number;
  parts: number;
  outcome: AttemptOutcome;
  reason?: ReasonCode;
  detail?: string;
  countsAsAttempt: boolean;
  progress: DeliveryProgress;
  /** Absent: more calls of this claim follow. */
  next?: NextStep;
  leaseUntil?: number;
  thread?: ThreadUpdate;
  /** Deliveries to make at the fallback destination, because `next` is final and not sent. */
  fallbacks?: FallbackCall[];
}

/** The messages of one alert key in one chat, to edit or answer them. */
export interface Thread {
  destination: string;
  recipient: string;
  alertKey: string;
  /** The first message of the current occurrence, and the alert that it shows now. No ref where the vendor gives none. */
  rootRef?: string;
  rootAlertSeq: number;
  /** The last message that pinged. */
  lastRef?: string;
  /** The newest alert among those that were sent. */
  lastAlertSeq: number;
  firstAt: number;
  /** When the last message that pinged was sent. */
  lastNewAt: number;
  lastAt: number;
  count: number;
  severity: Severity;
  status: AlertStatus;
  /** When an alert said that it is over, while that has not been sent here: it waits, or went out in a digest. */
  overAt?: number;
}

/** Saving one clears `overAt`. */
export type ThreadUpdate = Omit<Thread, "destination" | "recipient" | "alertKey" | "overAt">;

export type DestinationHealth = "ok" | "degraded" | "down" | "dead" | "paused";

/** What people are to be told of the alerts that one destination did not get though it works. */
export interface UndeliveredTale {
  destination: string;
  /** Without those that are only held. */
  failed: number;
  /** Those that may or may not have arrived. */
  held: number;
  recipients: string[];
  titles: string[];
  /** Of the latest, in plain words. */
  reason: string;
}

/** What is known of one destination (or account) beyond its configuration; survives restarts. */
export interface DestinationStatus {
  name: string;
  health: DestinationHealth;
  reason: string;
  /** The same as a code; absent when it is well, or has been so since before there was one. */
  reasonCode?: ReasonCode;
  since: number;
  /** Failures in a row. */
  failures: number;
  /** The breaker is open until then. */
  openUntil?: number;
  probeAt?: number;
  lastSentAt?: number;
  /** Where a group went when it was upgraded, and the configured id that this is about. */
  moved?: { from: string; to: string };
  /** What people were last told of it on another destination; kept after it is over, so that flapping is not a storm. */
  announced?: {
    health: DestinationHealth;
    at: number;
    /** False while there was no destination that could be told. */
    told: boolean;
    /** It has recovered since. */
    over: boolean;
  };
  /** Of single alerts that did not arrive: what nobody was told of yet, and when people were last told. */
  undelivered?: { tale?: UndeliveredTale; toldAt?: number };
}

/** Times of recent calls under one pace key, and until when the other side asked us to be silent. */
export interface PaceRecord {
  key: string;
  sentAt: number[];
  parkedUntil: number;
  parkedWhy?: string;
}

/** One request with those of its alerts that were asked for. */
export interface AlertRequest {
  contentType?: string;
  body: Uint8Array;
  /** `item` is the alert's position in the body. */
  alerts: { seq: number; item: number }[];
}

/** What to make for one delivery that failed: for its own recipient, or for those that the destination has now. */
export interface ResendCall {
  deliverySeq: number;
  planned: PlannedDelivery[];
}

export interface ResentCount {
  /** New deliveries. */
  made: number;
  /** Failed ones that a resend stands for now and did not before. */
  resent: number;
  /** Failed ones whose address is gone while all others of the destination have had the alert. */
  noRecipient: number;
}

export interface DestinationCounts {
  destination: string;
  /** Without those that were resent: they count as their resend does. */
  counts: Partial<Record<DeliveryState, number>>;
  oldestWaitingAt?: number;
  /** What quiet hours hold, and when the first of it is sent; absent when there is none. */
  heldByQuietHours?: { count: number; until: number };
}

/** A delivery that quiet hours hold. */
export interface HeldDelivery {
  id: string;
  seq: number;
  /** When it is sent, epoch milliseconds. */
  dueAt: number;
  severity: Severity;
  status: AlertStatus;
}

export interface HeldChange {
  deliveryIds: string[];
  /** What quiet hours hold no longer at this time stays as it is. */
  now: number;
  /** When they are sent instead. */
  dueAt: number;
  /** Added to their reason and to the decision, in words that follow what stands there. */
  why: string;
  /** Also those that are held since nobody knows whether they arrived: they are repeated and marked. */
  includesAmbiguous: boolean;
}

export interface DeliveryStore {
  /**
   * Deliveries of a destination that may be tried now, oldest first; `held` ones whose time has come are among them. When
   * there are more than `limit`, what a person asked for by hand and the relay's own notices come first. What is resent
   * together with much else comes last.
   */
  listDue(destination: string, now: number, limit: number): Promise<DueDelivery[]>;
  /** The next time at which one of them becomes due, if any waits. */
  nextDueAt(destination: string): Promise<number | undefined>;
  /** Marks as `sending` those that are still claimable, and returns them with their alerts' facts, in the order asked. */
  claimDeliveries(input: ClaimInput, pace: PaceRecord[]): Promise<ClaimedDelivery[]>;
  /** `late`: the claim was no longer held; the attempt is on the record and changed nothing else. */
  recordAttempt(record: AttemptRecord, pace: PaceRecord[]): Promise<"recorded" | "late">;
  /** Ends waiting deliveries without an attempt: too old, destination dead. */
  finishDeliveries(
    deliverySeqs: number[],
    next: { state: "failed" | "expired" | "held"; reason: string },
    at: number,
    fallbacks: FallbackCall[],
  ): Promise<void>;
  /** What quiet hours hold at a destination beyond this time (and, of that time, this position), in the order of time. */
  listHeld(
    destination: string,
    after: Pick<HeldDelivery, "dueAt" | "seq">,
    limit: number,
  ): Promise<HeldDelivery[]>;
  /** Gives held deliveries another time; their fallbacks wait as long after it as before. How many were still held. */
  rescheduleHeld(change: HeldChange): Promise<number>;
  /** Gives claimed deliveries back untried (shutdown before the call). */
  releaseClaim(token: string, dueAt: number): Promise<void>;
  /** Claims of a process that is gone, or whose lease has ended. */
  listAbandoned(now: number, all: boolean): Promise<(DueDelivery & { token: string })[]>;
  /** Unfinished deliveries whose fallback time has come. */
  listFallbacksDue(now: number): Promise<DueDelivery[]>;
  /**
   * Makes deliveries at the fallback destination: once for each delivery, whoever asks, and once for all mailboxes of one
   * destination that an alert was for.
   */
  callFallbacks(fallbacks: FallbackCall[], at: number): Promise<void>;
  /**
   * More deliveries of one alert, as they were made. A `resend` stands from now on for what did not get through to its
   * destination before: `resentBy` of those is set.
   */
  addDeliveries(
    alertSeq: number,
    deliveries: PlannedDelivery[],
    purpose: DeliveryPurpose,
    at: number,
  ): Promise<DeliverySummary[]>;
  /**
   * Resends deliveries that failed, each once whoever asks: one that was resent meanwhile, or whose alert is on its way
   * to the same recipient again, makes nothing new.
   */
  resendFailed(calls: ResendCall[], at: number): Promise<ResentCount>;
  /** Deliveries that wait for destinations which are no longer configured, oldest first. */
  listOrphans(known: string[], limit: number): Promise<DueDelivery[]>;
  /** Deliveries to destinations that are no longer configured end as failed, with that reason. */
  failOrphans(known: string[], at: number): Promise<number>;
  /**
   * The requests that these alerts came with, in the order of the alerts, until their bodies are `maxBytes` together; the
   * first whatever its size. Notices have none.
   */
  findRequests(alertSeqs: number[], maxBytes: number): Promise<AlertRequest[]>;
  findThread(destination: string, recipient: string, alertKey: string): Promise<Thread | undefined>;
  /** The alert that a thread's first message told, to edit it. */
  findAlertFacts(
    alertSeq: number,
  ): Promise<{ id: string; receivedAt: number; origin: AlertOrigin; facts: AlertFacts } | undefined>;
  loadPaces(): Promise<PaceRecord[]>;
  savePaces(paces: PaceRecord[]): Promise<void>;
  loadStatuses(): Promise<DestinationStatus[]>;
  saveStatus(status: DestinationStatus): Promise<void>;
  countByDestination(): Promise<DestinationCounts[]>;
}

// ---------------------------------------------------------------- the log

export interface AlertQuery {
  limit: number;
  /** Alerts older than this position. */
  beforeSeq?: number;
  /** Words that all must occur in title, text, facts or fields. */
  q?: string;
  severity?: Severity;
  /** A delivery state that at least one delivery of the alert has and was not resent, or `unmatched`, `dropped` or `unrouted`. */
  state?: DeliveryState | "unmatched" | "dropped" | "unrouted";
  destination?: string;
  fromAt?: number;
  toAt?: number;
}

export interface AlertSummary {
  seq: number;
  id: string;
  version: number;
  origin: AlertOrigin;
  receivedAt: number;
  routedAt?: number;
  /** Absent until it is routed. */
  facts?: AlertFacts;
  routingError?: string;
  /** No route wanted it. */
  unmatched: boolean;
  /** A route dropped it on purpose, and no other sent it anywhere. Then `unmatched` is false. */
  dropped: boolean;
  deliveries: DeliverySummary[];
}

export interface DeliverySummary {
  id: string;
  destination: string;
  channel: ChannelType;
  recipient: string;
  route: string;
  purpose: DeliveryPurpose;
  state: DeliveryState;
  reason: string;
  createdAt: number;
  dueAt?: number;
  finishedAt?: number;
  digestId?: string;
  insteadOf?: string;
  /** It did not get through, and this delivery of the same alert stands for it now. */
  resentBy?: string;
}

/** Deliveries that failed and were not resent, of the alerts that the filters let through. */
export interface FailedQuery extends Pick<AlertQuery, "q" | "severity" | "destination" | "fromAt" | "toAt"> {
  /** At least one. */
  states: readonly FailedState[];
  /** Failed at or before: what fails later is not what a person was asked about. */
  failedUntil: number;
}

export interface FailedDelivery {
  seq: number;
  alertSeq: number;
  destination: string;
  recipient: string;
}

export interface FailedCount {
  destination: string;
  deliveries: number;
  alerts: number;
  /** When the oldest and the newest of the alerts came. */
  oldestAt: number;
  newestAt: number;
}

export interface AttemptEntry {
  at: number;
  durationMs: number;
  action: "send" | "edit" | "reply";
  part: number;
  parts: number;
  outcome: AttemptOutcome;
  reason?: string;
  detail?: string;
}

export interface AlertDetail extends AlertSummary {
  decisions: Decision[];
  deliveries: (DeliverySummary & { attempts: AttemptEntry[] })[];
  /** Absent for notices. */
  request?: {
    receivedAt: number;
    contentType?: string;
    headers: [string, string][];
    body: Uint8Array;
    item: number;
    items: number;
    dedupeKey?: string;
    /** An earlier request carried the same key with another body. */
    conflict: boolean;
    /** Later requests that were answered as duplicates of this one. */
    duplicates: number;
  };
}

export interface AlertCounts {
  /** All that were ever accepted, and the relay's own notices. */
  total: number;
  lastReceivedAt?: number;
}

export interface FactsQuery {
  fromAt: number;
  /** Alerts older than this position. */
  beforeSeq?: number;
  limit: number;
}

/** What matchers look at, without the alert's deliveries. */
export interface StoredFacts {
  seq: number;
  origin: AlertOrigin;
  facts: AlertFacts;
}

export interface LogStore {
  listAlerts(query: AlertQuery): Promise<AlertSummary[]>;
  /** Newest alert first, from after `after`. With one state it reads no more than it gives. */
  listFailed(
    query: FailedQuery,
    page: { limit: number; after?: Pick<FailedDelivery, "seq" | "alertSeq"> },
  ): Promise<FailedDelivery[]>;
  /** By destination, those that are no longer configured among them. */
  countFailed(query: FailedQuery): Promise<FailedCount[]>;
  getAlert(id: string): Promise<AlertDetail | undefined>;
  /** Alerts that changed after `version`, oldest change first. */
  listChanges(version: number, limit: number): Promise<AlertSummary[]>;
  /**
   * Senders' alerts that have been routed, received at or after `fromAt`, newest first. Fewer than `limit` where their texts are
   * long, and none at the end only.
   */
  listFacts(query: FactsQuery): Promise<StoredFacts[]>;
  latestVersion(): Promise<number>;
  /** From the newest row, however many there are. */
  countAlerts(): Promise<AlertCounts>;
  /** Requests that were answered as duplicates of an earlier one. Reads an entry for each alert that was repeated. */
  countDuplicates(): Promise<number>;
  /** Brings the search index forward by at most `limit` alerts; how many it took. */
  indexAlerts(limit: number): Promise<number>;
}

// ---------------------------------------------------------------- mutes

export interface MuteStore {
  listMutes(now: number, includeEnded: boolean): Promise<Mute[]>;
  addMute(mute: Mute): Promise<void>;
  /** Ends it now; false when there is none that is active. */
  endMute(id: string, at: number): Promise<boolean>;
}

// ---------------------------------------------------------------- keys that expire

/** The same text may be a key of each kind. */
export type KeyKind = "used-login-code" | "ended-session";

export interface ExpiringKey {
  /** A hash where what it stands for is secret. */
  key: string;
  /** From then on it counts as absent. */
  expiresAt: number;
}

/** A small set of keys that every process on this store shares. */
export interface ExpiringKeyStore {
  /** True when it was absent and is there now: of all who put it, at once or one after another, one gets it. */
  putKeyIfAbsent(kind: KeyKind, entry: ExpiringKey, now: number): Promise<boolean>;
  hasKey(kind: KeyKind, key: string, now: number): Promise<boolean>;
  /** In no particular order. */
  listKeys(kind: KeyKind, now: number): Promise<ExpiringKey[]>;
}
