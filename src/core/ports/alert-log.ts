import type { Alert, AlertFacts, AlertOrigin, Severity } from "../alert.ts";
import type { AttemptOutcome, DeliveryState, FailedState } from "../delivery.ts";
import type { DueDelivery } from "../delivery-job.ts";
import type { Decision, PlannedDelivery } from "../rules.ts";
import type { StoredBody } from "./body-reader.ts";

declare const kind: unique symbol;

/** A place in a list, for its next page. Only the driver reads it. A digit, then at most 99 of `\w.-`. */
export type Position = string & { readonly [kind]: "position" };

/** A place among the changes of all alerts, from which they can be followed. Only the driver reads it. */
export type ChangeCursor = string & { readonly [kind]: "change" };

/** Texts are compared without case (ASCII). `has`: some word starts with it. A value is compared if it is a number. */
export type FactCondition =
  | { fact: "token" | "chain" | "status"; is: string }
  | { fact: "metric" | "title"; has: string }
  | { fact: "value"; compare: "<" | "<=" | "=" | ">=" | ">"; number: number };

export interface AlertQuery {
  /** At least one. */
  limit: number;
  /** Alerts older than the one at this position. */
  before?: Position;
  /** Words that must all occur in title, text, facts or fields. */
  q?: string;
  /** Phrases that must all occur there, word for word. */
  phrases?: readonly string[];
  /** Texts that must all occur in the body as it came, without case (ASCII). Slow: bodies have no index. */
  raw?: readonly string[];
  severity?: Severity;
  /**
   * The state of a delivery that was not resent, or of the alert itself. `problem`: a delivery failed, expired or may
   * not have arrived, no route wanted the alert, or routing failed. `damped`: the alert did not ring somewhere.
   */
  state?: DeliveryState | "problem" | "unmatched" | "damped" | "dropped" | "repeat" | "unrouted";
  /** At least one delivery goes there. With `state`: the same delivery has both. */
  destination?: string;
  /** At least one delivery is by this route. With `state` and `destination`: the same delivery has all. */
  route?: string;
  key?: string;
  /** All must hold. */
  facts?: readonly FactCondition[];
  /** Only the newest alert of each key (`AlertSummary.run` counts the others). Repeats only where the original is gone. */
  newestOfKey?: boolean;
  /** The source whose hook the alert came by. */
  source?: string;
  /** Received at or after. */
  fromAt?: number;
  /** Received at or before. */
  toAt?: number;
}

/** The alerts of a key since it was last over, up to this one. */
export interface AlertRun {
  isOver: boolean;
  /** Without the resolving alert. */
  count: number;
  /** Whether older alerts of the run were not counted. */
  isMore: boolean;
  /** When the first counted alert came. */
  sinceAt: number;
}

export interface AlertSummary {
  position: Position;
  id: string;
  /** Grows with each change of the alert. 0 until the first change. */
  version: number;
  origin: AlertOrigin;
  /** The source whose hook the alert came by. Absent: the account's hook, or an alert of the relay itself. */
  source?: string;
  receivedAt: number;
  routedAt?: number;
  /** Absent until the alert is routed. */
  facts?: AlertFacts;
  routingError?: string;
  /** No route wanted it. */
  unmatched: boolean;
  /** A route dropped the alert on purpose, and no other sent it anywhere. Then `unmatched` is false. */
  dropped: boolean;
  /** The first alert with the same bytes. This one was not sent. */
  repeatOf?: string;
  /** Only where `newestOfKey` was asked for. Absent until the alert is routed. */
  run?: AlertRun;
  /** Only where `raw` was asked for: the body around its first occurrence. */
  aroundRaw?: string;
  deliveries: DeliverySummary[];
}

/** Newest first. */
export interface AlertsFound {
  alerts: AlertSummary[];
  /** Set when the time ran out. The search continues at `position`, after about `looked` alerts, back to `receivedAt`. */
  stopped?: { position: Position; receivedAt: number; looked: number };
}

/** The alerts that a part of an id fits, newest first. */
export interface AlertsNamed {
  alerts: AlertSummary[];
  /** How far back ends of ids were searched, epoch milliseconds. Absent: in all kept alerts. */
  searchedTo?: number;
}

/** With `damped.by`: why this delivery does not ring. */
export interface DeliverySummary
  extends Pick<PlannedDelivery, "destination" | "channel" | "recipient" | "route" | "reason" | "extras" | "damped">,
    Pick<DueDelivery, "id" | "purpose" | "state" | "createdAt" | "digestId" | "insteadOf"> {
  dueAt?: number;
  finishedAt?: number;
  /** The delivery that replaces this one, which did not get through. */
  resentBy?: string;
}

/** Finds deliveries of the matching alerts that failed or were muted, and were not resent. */
export interface FailedQuery extends Omit<AlertQuery, "limit" | "before" | "state"> {
  /** At least one. */
  states: readonly FailedState[];
  /** A mute (`keptNameOf`): its held alerts are found, and `states` is ignored. */
  mute?: string;
  /** For a mute: includes keys that are over since their latest alert. Default false. */
  over?: boolean;
  /** The latest time of failure. The person who was asked did not see later ones. */
  failedUntil: number;
}

export interface FailedDelivery {
  position: Position;
  deliverySeq: number;
  destination: string;
  recipient: string;
  /** For a mute only. */
  alert?: Pick<Alert, "id" | "receivedAt" | "facts">;
}

export interface FailedCount {
  destination: string;
  /** Deliveries and alerts that were found. With a mute: only the latest alert of each key counts. */
  deliveries: number;
  alerts: number;
  /** With a mute: the alerts that were held back in all. */
  heldBack?: number;
  oldestAt: number;
  newestAt: number;
}

export interface AttemptEntry {
  /** When the call began. */
  at: number;
  durationMs: number;
  action: "send" | "edit" | "reply";
  /** 1-based. Most messages are part 1 of 1. */
  part: number;
  parts: number;
  outcome: AttemptOutcome;
  reason?: string;
  detail?: string;
}

export interface AlertDetail extends AlertSummary {
  decisions: Decision[];
  deliveries: (DeliverySummary & { attempts: AttemptEntry[] })[];
  /** Absent for alerts that the relay made: notices, and tests of one destination. */
  request?: {
    receivedAt: number;
    contentType?: string;
    headers: [string, string][];
    body: Uint8Array;
    item: number;
    items: number;
    dedupeKey?: string;
    /** An earlier request had the same key with another body. */
    conflict: boolean;
    /** Later requests that were the same, answered as duplicates by their key or stored as repeats. */
    duplicates: number;
  };
}

export interface AlertCounts {
  /** Every alert ever accepted, and the relay's notices. */
  total: number;
  /** Those that are not removed. */
  kept: number;
  oldestReceivedAt?: number;
  /** When the last kept alert came from a sender. */
  lastReceivedAt?: number;
}

export interface FactsQuery extends Pick<AlertQuery, "before" | "limit"> {
  /** Received at or after. */
  fromAt: number;
}

/** The facts that matchers look at. */
export interface StoredFacts extends Pick<AlertSummary, "position" | "origin" | "source" | "receivedAt"> {
  alertSeq: number;
  facts: AlertFacts;
}

/** A past alert and where it went, to try other rules on it. */
export interface PastAlert extends Pick<AlertSummary, "id" | "receivedAt" | "dropped"> {
  routedAt: number;
  /** Absent where routing failed. */
  title?: string;
  wasUnreadable: boolean;
  decisions: Decision[];
  /** Without resends and replacements of failed deliveries. */
  deliveries: Pick<DeliverySummary, "destination" | "state">[];
  /** Alerts of one request share one object, where they are returned together. */
  body: StoredBody;
  /** The alert's place in the body, from 0. */
  item: number;
}

export interface StoredArrival extends Pick<AlertSummary, "position" | "id" | "receivedAt" | "source"> {
  routes: string[];
}

export interface FollowedArrivals {
  /** The oldest first. */
  arrivals: StoredArrival[];
  /** Routed up to here. Another relay may store an alert before it: to miss none, continue from half a minute ago. */
  routedUpTo: Position;
}

/** One alert of a key, without its texts. It names its subject, as a rule may watch many. */
export interface KeyEvent
  extends Pick<Alert, "id" | "receivedAt">,
    Pick<AlertFacts, "severity" | "status" | "value" | "threshold" | "unit" | "metric" | "token" | "chain"> {
  isRepeat: boolean;
}

export interface KeyValues {
  id: string;
  /** Oldest first, without repeats. As sent, cut at 100 characters. */
  values: { at: number; sent: string }[];
}

/** The alerts of a key, as seen from one of them. */
export interface KeyHistory {
  /** Newest first: the latest of the key, those right after the asked alert, that alert, those before it. */
  events: KeyEvent[];
  /** Whether alerts before the oldest may exist. */
  hasOlder: boolean;
  /** Whether alerts between the latest and the next group are left out. */
  hasGap: boolean;
}

/** An alert as it is now. `cursor`: the place after its change. */
export interface AlertChange extends AlertSummary {
  cursor: ChangeCursor;
}

export interface TimeSteps {
  /** Epoch milliseconds. */
  fromAt: number;
  stepMs: number;
  steps: number;
  /** Earlier alerts do not count, though the first step may begin earlier. */
  receivedFrom?: number;
  /** Later alerts do not count, though the last step may end later. */
  receivedTo?: number;
  /** The severity of the alerts whose problems are counted. Default: all. */
  problemsOf?: Severity;
}

/** The routed alerts that came in one step. */
export interface StepCount extends Record<Severity, number> {
  /** The beginning of the step. */
  at: number;
  /** Alerts in the state `problem`, at most 1,000. */
  problems: number;
}

export interface OverTime {
  steps: StepCount[];
  /** Older steps are missing, since the time was over. Another call counts more. */
  isMore: boolean;
}

/** No call sees an older state than the call before it, so two reads need not wait for each other. */
export interface AlertLog {
  /** Checks only the form: every text in that form is accepted. */
  isPosition(text: string): text is Position;
  isChangeCursor(text: string): text is ChangeCursor;
  /** Newest first. Reads as long as it takes. */
  listAlerts(query: AlertQuery): Promise<AlertSummary[]>;
  /** For a reader who waits: ends after about `mostMs`, and further calls continue the search. */
  listAlertsWithin(query: AlertQuery, mostMs: number): Promise<AlertsFound>;
  /** Empty for an unknown id. */
  neighbours(id: string): Promise<{ newer?: AlertSummary; older?: AlertSummary }>;
  /** Newest alert first, after `after`. With one state it reads no more than it returns. */
  listFailed(query: FailedQuery, page: { limit: number; after?: Position }): Promise<FailedDelivery[]>;
  /** Counts for each destination, also for those that are no longer configured. */
  countFailed(query: FailedQuery): Promise<FailedCount[]>;
  getAlert(id: string): Promise<AlertDetail | undefined>;
  /** Finds by the beginning or end of an id (hexadecimal, `-`). Ends are only searched in the newest 100,000 alerts. */
  findByIdPart(part: string, limit: number): Promise<AlertsNamed>;
  /** Changes after `after` (undefined: all), the oldest first. A reader who continues from the last cursor misses none. */
  listChanges(after: ChangeCursor | undefined, limit: number): Promise<AlertChange[]>;
  /** Routed alerts of senders since `fromAt`, no repeats, newest first. May return fewer than `limit`, none only at the end. */
  listFacts(query: FactsQuery): Promise<StoredFacts[]>;
  /** The same alerts with their bodies and destinations. May return fewer than `limit`, and none only at the end. */
  listPast(query: FactsQuery): Promise<(PastAlert & { position: Position })[]>;
  /** Routed alerts of senders, received at or after `fromAt`, newest first. Returns fewer than `limit` only at the end. */
  listArrivals(query: FactsQuery): Promise<StoredArrival[]>;
  /** Routed alerts of senders after a position. Fewer than `limit` only at the end. Without `after`: only `routedUpTo`. */
  followArrivals(after: Position | undefined, limit: number): Promise<FollowedArrivals>;
  /** About `most` alerts of the key: half before the alert, a quarter right after it, and the latest quarter. */
  keyHistory(id: string, most: number): Promise<KeyHistory>;
  /** The last values under each alert's key, for a page of the log. Unknown alerts and very long values are left out. */
  keyValues(ids: readonly string[], most: number): Promise<KeyValues[]>;
  /** Every later change comes after it. An empty log has one too. */
  latestChange(): Promise<ChangeCursor>;
  /** False for a cursor after the latest change: the log was restored from an older copy. */
  knowsChange(cursor: ChangeCursor): Promise<boolean>;
  /** Newest step first. Takes about `mostMs`. Results are kept, so a later call counts only new alerts. */
  countOverTime(steps: TimeSteps, mostMs: number): Promise<OverTime>;
  /** Counts up to `limit`, for about `mostMs`. `isMore`: there may be more. */
  countMatches(query: AlertQuery, mostMs: number): Promise<{ count: number; isMore: boolean }>;
  /** The cost does not grow with the log. */
  countAlerts(): Promise<AlertCounts>;
  /** Requests that were answered as duplicates, and alerts that are repeats. The cost does not grow with the log. */
  countDuplicates(): Promise<number>;
}
