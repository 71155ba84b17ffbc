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
  /** Newest first: the latest, those right behind the alert, the alert, those before it. */
  events: KeyEvent[];
  /** There may be others before the oldest. */
  hasOlder: boolean;
  /** There are others between the latest and those right behind the alert. */
  hasGap: boolean;
}

/** An alert as it is now, and the place in the stream behind it. */
export interface AlertChange extends AlertSummary {
  cursor: ChangeCursor;
}

/** Steps of time, the newest last. */
export interface TimeSteps {
  /** Where the first begins, epoch milliseconds. */
  fromAt: number;
  /** How long each is, in milliseconds. */
  stepMs: number;
  /** How many. */
  steps: number;
  /** What came before is not counted, though its step has begun by then. */
  receivedFrom?: number;
  /** What came later is not counted, though its step has not ended by then. */
  receivedTo?: number;
  /** Problems are those of alerts of this severity. Default: of all. */
  problemsOf?: Severity;
}

/** What came in one step, as far as it is routed. */
export interface StepCount extends Record<Severity, number> {
  /** Its beginning. */
  at: number;
  /** Alerts for which `state: "problem"` holds, up to 1,000. */
  problems: number;
}

export interface OverTime {
  /** The steps that were counted, newest first. */
  steps: StepCount[];
  /** Older steps were not counted, since the time was over; another call gets more. */
  isMore: boolean;
}

/** What is asked later sees nothing older: two reads may be asked one after the other without waiting between them. */
export interface AlertLog {
  /** Whether a text from outside has the form of this driver's positions. What has it is taken, whatever it says. */
  isPosition(text: string): text is Position;
  isChangeCursor(text: string): text is ChangeCursor;
  /** The newest alerts first. It reads as much as it takes to find them. */
  listAlerts(query: AlertQuery): Promise<AlertSummary[]>;
  /**
   * Lists alerts for a reader who waits: filters that let little through together, or words that few alerts have, are looked for
   * no longer than `mostMs` (a little longer where that is short) and found by going on.
   */
  listAlertsWithin(query: AlertQuery, mostMs: number): Promise<AlertsFound>;
  /** The alerts that stand next to this one in the log; none for an unknown id. */
  neighbours(id: string): Promise<{ newer?: AlertSummary; older?: AlertSummary }>;
  /** Newest alert first, from after `after`. With one state it reads no more than it gives. */
  listFailed(query: FailedQuery, page: { limit: number; after?: Position }): Promise<FailedDelivery[]>;
  /** Counts for each destination, including those that are no longer configured. */
  countFailed(query: FailedQuery): Promise<FailedCount[]>;
  /** Undefined for an unknown id. */
  getAlert(id: string): Promise<AlertDetail | undefined>;
  /**
   * Alerts whose id begins or ends with `part`, which is made of small hexadecimal digits and `-`. Beginnings are found
   * at any age; endings, which no index has, among the newest 100,000.
   */
  findByIdPart(part: string, limit: number): Promise<AlertsNamed>;
  /**
   * Alerts that changed after `after`, or ever, each once, oldest change first. Nothing that was committed before
   * comes behind what was listed: a reader who continues from the last cursor misses no change.
   */
  listChanges(after: ChangeCursor | undefined, limit: number): Promise<AlertChange[]>;
  /**
   * Senders' alerts that have been routed and are no repeats, received at or after `fromAt`, newest first. Fewer than
   * `limit` where their texts are long, and none at the end only.
   */
  listFacts(query: FactsQuery): Promise<StoredFacts[]>;
  /**
   * Alerts as `listFacts` lists them, with their bodies and where they went. Fewer than `limit` where bodies are large, and none
   * at the end only.
   */
  listPast(query: FactsQuery): Promise<(PastAlert & { position: Position })[]>;
  /** Routed alerts that senders sent at or after `fromAt`, newest first; fewer than `limit` at the end only. */
  listArrivals(query: FactsQuery): Promise<StoredArrival[]>;
  /**
   * Routed alerts of senders behind a position, whichever relay has routed them; fewer than `limit` at the end only.
   * @param after undefined: it is only asked how far all is routed
   */
  followArrivals(after: Position | undefined, limit: number): Promise<FollowedArrivals>;
  /**
   * What came with the same alert key, at most `most` or so: half of it before the alert, and a quarter each right
   * behind it and at the end. Empty for an unknown id and for what has not been read.
   */
  keyHistory(id: string, most: number): Promise<KeyHistory>;
  /**
   * For each of these alerts the last values under its key, `most` at most, in one question for a page of the log. What
   * no longer fits into what is read at once is left out; so is an alert that is not there.
   */
  keyValues(ids: readonly string[], most: number): Promise<KeyValues[]>;
  /** An empty log has a cursor as well: every change comes after it. */
  latestChange(): Promise<ChangeCursor>;
  /** False for what lies ahead of the latest change: the log was restored from a copy since. */
  knowsChange(cursor: ChangeCursor): Promise<boolean>;
  /**
   * How many alerts came over time, newest step first, for about `mostMs`. What was counted once is kept, so that each
   * look costs as much as what is new.
   */
  countOverTime(steps: TimeSteps, mostMs: number): Promise<OverTime>;
  /**
   * How many alerts the filters let through, up to `limit`, counted for about `mostMs`. `isMore`: there are that many at
   * least.
   */
  countMatches(query: AlertQuery, mostMs: number): Promise<{ count: number; isMore: boolean }>;
  /** Costs as much for a long log as for a short one. */
  countAlerts(): Promise<AlertCounts>;
  /** Requests that were answered as duplicates of an earlier one, and alerts that are repeats. Costs as much for a long log. */
  countDuplicates(): Promise<number>;
}
