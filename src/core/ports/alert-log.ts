import type { Alert, AlertFacts, AlertOrigin, Severity } from "../alert.ts";
import type { AttemptOutcome, DeliveryState, FailedState } from "../delivery.ts";
import type { DueDelivery } from "../delivery-job.ts";
import type { Decision, PlannedDelivery } from "../rules.ts";
import type { StoredBody } from "./body-reader.ts";

declare const kind: unique symbol;

/**
 * A place in the list that gave it, for the next page. Opaque: only the driver reads it. A digit first, then at most 99 of
 * `\w.-`.
 */
export type Position = string & { readonly [kind]: "position" };

/** A place among the changes of all alerts, to follow them from there. Opaque as well. */
export type ChangeCursor = string & { readonly [kind]: "change" };

/**
 * A condition for one fact. Texts are compared without regard to the case of ASCII letters. `has` finds the start of any word.
 * A value is compared if it is a number.
 */
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
  /** Phrases that must each occur there too, with their words in this order. */
  phrases?: readonly string[];
  /**
   * Texts that must each occur anywhere in the body as it came, without regard to the case of ASCII letters. Bodies have no
   * index, so they are searched one by one, newest first.
   */
  raw?: readonly string[];
  severity?: Severity;
  /**
   * A state of at least one delivery that was not resent, or of the alert itself. `problem`: a delivery failed, expired or may
   * not have arrived, no route wanted the alert, or routing failed. `damped`: the alert did not ring somewhere.
   */
  state?: DeliveryState | "problem" | "unmatched" | "damped" | "dropped" | "repeat" | "unrouted";
  /** At least one delivery goes to this destination. With `state`, the same delivery has both. */
  destination?: string;
  /** At least one delivery is by this route. With `state` and `destination`, the same delivery has all. */
  route?: string;
  /** The alert key. */
  key?: string;
  /** Conditions that must all hold. */
  facts?: readonly FactCondition[];
  /**
   * Only the newest alert of each key, with how often the key came (`AlertSummary.run`). A repeat is not counted, and is listed
   * only where the alert that it repeats is no longer kept.
   */
  newestOfKey?: boolean;
  /** The source whose hook the alert came by. */
  source?: string;
  /** Received at or after. */
  fromAt?: number;
  /** Received at or before. */
  toAt?: number;
}

/** The alerts of one key since it was last over, up to this alert. */
export interface AlertRun {
  /** Whether this alert resolves the run. */
  isOver: boolean;
  /** Alerts of the run without the resolution. */
  count: number;
  /** Whether there are more: the count is limited, and `sinceAt` is not the first. */
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
  /** Id of the first alert with the same bytes. This one was therefore not sent. */
  repeatOf?: string;
  /** Only where `newestOfKey` was asked for. Absent until the alert is routed. */
  run?: AlertRun;
  /** Only where `raw` was asked for: the part of the body around its first occurrence. */
  aroundRaw?: string;
  deliveries: DeliverySummary[];
}

/** Newest first. */
export interface AlertsFound {
  alerts: AlertSummary[];
  /**
   * Set when the time ran out before the page was full. Nothing is left out so far, and `position` continues there.
   * `receivedAt` is when the oldest searched alert came, after about `looked` alerts.
   */
  stopped?: { position: Position; receivedAt: number; looked: number };
}

/** The alerts that a part of an id may mean, newest first. */
export interface AlertsNamed {
  alerts: AlertSummary[];
  /** Ends of ids were searched back to here, epoch milliseconds. Absent: in all kept alerts. */
  searchedTo?: number;
}

/**
 * `extras`: the route's additions to the message. `damped`: what the message says of the alerts of its key that did not ring.
 * With `by`: why this one does not ring.
 */
export interface DeliverySummary
  extends Pick<PlannedDelivery, "destination" | "channel" | "recipient" | "route" | "reason" | "extras" | "damped">,
    Pick<DueDelivery, "id" | "purpose" | "state" | "createdAt" | "digestId" | "insteadOf"> {
  dueAt?: number;
  finishedAt?: number;
  /** The delivery of the same alert that replaces this one, which did not get through. */
  resentBy?: string;
}

/** Finds deliveries that failed or were muted, and were not resent, of the alerts that match. */
export interface FailedQuery extends Omit<AlertQuery, "limit" | "before" | "state"> {
  /** At least one. */
  states: readonly FailedState[];
  /** A mute (`keptNameOf`). Its held alerts are found instead of failures, and `states` is not used. */
  mute?: string;
  /** For a mute: also alert keys whose end was accepted with or after their latest alert. Default false. */
  over?: boolean;
  /** Failed at or before. A person who was asked did not see later failures. */
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
  /** Counts of `deliveries` and `alerts`. With a mute: of the latest alert of each key. */
  deliveries: number;
  alerts: number;
  /** With a mute: all alerts that these represent. */
  heldBack?: number;
  /** When the oldest and the newest of the alerts came. */
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
  /** Absent for the relay's own alerts: notices, and tests of one destination. */
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
    /** Later requests that were the same: answered as duplicates by their key, or stored as repeats. */
    duplicates: number;
  };
}

export interface AlertCounts {
  /** All alerts that were ever accepted, and the relay's own notices. */
  total: number;
  /** Alerts among them that were not removed since. */
  kept: number;
  /** When the oldest kept alert came. */
  oldestReceivedAt?: number;
  /** When the last kept alert came from outside. Tests and Tocsin's own notices do not count. */
  lastReceivedAt?: number;
}

export interface FactsQuery extends Pick<AlertQuery, "before" | "limit"> {
  /** Received at or after. */
  fromAt: number;
}

/** The facts that matchers look at, without the alert's deliveries. */
export interface StoredFacts extends Pick<AlertSummary, "position" | "origin" | "source" | "receivedAt"> {
  alertSeq: number;
  facts: AlertFacts;
}

/** A past alert and where it went, for a trial of other rules. */
export interface PastAlert extends Pick<AlertSummary, "id" | "receivedAt" | "dropped"> {
  routedAt: number;
  /** Absent where routing failed. */
  title?: string;
  /** The alert could not be read when it came. */
  wasUnreadable: boolean;
  decisions: Decision[];
  /** The deliveries that the routes made, without resends and replacements of failed ones. */
  deliveries: Pick<DeliverySummary, "destination" | "state">[];
  /** All alerts of a request that are returned together share one object. */
  body: StoredBody;
  /** The alert's place in the body, from 0. */
  item: number;
}

/** An alert that came, and the routes that took it. */
export interface StoredArrival extends Pick<AlertSummary, "position" | "id" | "receivedAt" | "source"> {
  routes: string[];
}

export interface FollowedArrivals {
  /** The oldest first. */
  arrivals: StoredArrival[];
  /**
   * Everything that is stored up to here is routed. Another relay may be storing an alert before it just now. A caller who
   * wants everything continues from the value of half a minute ago, and gets some alerts twice.
   */
  routedUpTo: Position;
}

/** One alert of a key, without its texts. It names its subject, as a key may belong to a rule that watches many. */
export interface KeyEvent
  extends Pick<Alert, "id" | "receivedAt">,
    Pick<AlertFacts, "severity" | "status" | "value" | "threshold" | "unit" | "metric" | "token" | "chain"> {
  /** Whether the sender repeated an earlier alert: nothing new happened. */
  isRepeat: boolean;
}

/** The values under the key of one alert, up to that alert. */
export interface KeyValues {
  /** The alert's id. */
  id: string;
  /** Oldest first, without repeats. Each value is as sent, cut at 100 characters. */
  values: { at: number; sent: string }[];
}

/** What came with the alert key of one alert. */
export interface KeyHistory {
  /** Newest first: the key's latest alerts, those right after the asked one, the asked one, those before it. */
  events: KeyEvent[];
  /** Whether there may be alerts before the oldest. */
  hasOlder: boolean;
  /** Whether there are alerts between the latest and those right after the asked one. */
  hasGap: boolean;
}

/** An alert as it is now, and the place in the stream after its change. */
export interface AlertChange extends AlertSummary {
  cursor: ChangeCursor;
}

/** Steps of time, the newest last. */
export interface TimeSteps {
  /** The beginning of the first step, epoch milliseconds. */
  fromAt: number;
  /** The length of each step, milliseconds. */
  stepMs: number;
  /** The number of steps. */
  steps: number;
  /** Alerts before this time are not counted, even though their step reaches beyond it. */
  receivedFrom?: number;
  /** Alerts after this time are not counted, even though their step began before it. */
  receivedTo?: number;
  /** The severity of the alerts whose problems are counted. Default: all. */
  problemsOf?: Severity;
}

/** The alerts that came in one step and are routed. */
export interface StepCount extends Record<Severity, number> {
  /** The beginning of the step. */
  at: number;
  /** Alerts with `state: "problem"`, at most 1,000. */
  problems: number;
}

export interface OverTime {
  /** The counted steps, newest first. */
  steps: StepCount[];
  /** Older steps were not counted, since the time was over. Another call counts more. */
  isMore: boolean;
}

/** A later call never sees an older state, so two reads may be asked for without waiting between them. */
export interface AlertLog {
  /**
   * Whether a text from outside has the form of this driver's positions. A text in that form is accepted, whatever its content.
   */
  isPosition(text: string): text is Position;
  isChangeCursor(text: string): text is ChangeCursor;
  /** The newest alerts first. Reads as much as it takes to find them. */
  listAlerts(query: AlertQuery): Promise<AlertSummary[]>;
  /**
   * Lists alerts for a reader who waits. A search that finds little ends after `mostMs` (a little more where that is short),
   * and further calls continue it.
   */
  listAlertsWithin(query: AlertQuery, mostMs: number): Promise<AlertsFound>;
  /** The next newer and the next older alert in the log. Empty for an unknown id. */
  neighbours(id: string): Promise<{ newer?: AlertSummary; older?: AlertSummary }>;
  /** Newest alert first, after `after`. With one state it reads no more than it returns. */
  listFailed(query: FailedQuery, page: { limit: number; after?: Position }): Promise<FailedDelivery[]>;
  /** Counts for each destination, including those that are no longer configured. */
  countFailed(query: FailedQuery): Promise<FailedCount[]>;
  /** Undefined for an unknown id. */
  getAlert(id: string): Promise<AlertDetail | undefined>;
  /**
   * Alerts whose id begins or ends with `part`, which consists of small hexadecimal digits and `-`. Beginnings are found at any
   * age. Ends have no index, so they are found among the newest 100,000.
   */
  findByIdPart(part: string, limit: number): Promise<AlertsNamed>;
  /**
   * Alerts that changed after `after`, or ever, each once, oldest change first. A change that was committed before the call
   * never comes later than the list, so a reader who continues from the last cursor misses none.
   */
  listChanges(after: ChangeCursor | undefined, limit: number): Promise<AlertChange[]>;
  /**
   * Senders' alerts that are routed and no repeats, received at or after `fromAt`, newest first. Returns fewer than `limit`
   * where texts are long, and none only at the end.
   */
  listFacts(query: FactsQuery): Promise<StoredFacts[]>;
  /**
   * The alerts of `listFacts` with their bodies and destinations. Returns fewer than `limit` where bodies are large, and none
   * only at the end.
   */
  listPast(query: FactsQuery): Promise<(PastAlert & { position: Position })[]>;
  /** Routed alerts of senders, received at or after `fromAt`, newest first. Returns fewer than `limit` only at the end. */
  listArrivals(query: FactsQuery): Promise<StoredArrival[]>;
  /**
   * Routed alerts of senders after a position, from every relay. Returns fewer than `limit` only at the end.
   * @param after undefined: only `routedUpTo` is wanted
   */
  followArrivals(after: Position | undefined, limit: number): Promise<FollowedArrivals>;
  /**
   * The alerts with the same key, about `most`: half of them before the alert, a quarter right after it, and a quarter at the
   * end. Empty for an unknown id and for an alert that has not been read.
   */
  keyHistory(id: string, most: number): Promise<KeyHistory>;
  /**
   * For each of these alerts the last values under its key, at most `most`, in one call for a page of the log. Left out are
   * values beyond the size of one read, and unknown alerts.
   */
  keyValues(ids: readonly string[], most: number): Promise<KeyValues[]>;
  /** An empty log has a cursor as well. Every change comes after it. */
  latestChange(): Promise<ChangeCursor>;
  /** False for a cursor after the latest change: the log was restored from an older copy. */
  knowsChange(cursor: ChangeCursor): Promise<boolean>;
  /** Counts alerts over time, newest step first, for about `mostMs`. Counts are kept, so a later call counts only new alerts. */
  countOverTime(steps: TimeSteps, mostMs: number): Promise<OverTime>;
  /** Counts the alerts that match, up to `limit`, for about `mostMs`. `isMore`: the count is a minimum. */
  countMatches(query: AlertQuery, mostMs: number): Promise<{ count: number; isMore: boolean }>;
  /** The cost does not grow with the log. */
  countAlerts(): Promise<AlertCounts>;
  /** Counts requests that were answered as duplicates, and alerts that are repeats. The cost does not grow with the log. */
  countDuplicates(): Promise<number>;
}
