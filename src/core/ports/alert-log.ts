import type { Alert, AlertFacts, AlertOrigin, Severity } from "../alert.ts";
import type { AttemptOutcome, DeliveryState, FailedState } from "../delivery.ts";
import type { DueDelivery } from "../delivery-job.ts";
import type { Decision, PlannedDelivery } from "../rules.ts";
import type { StoredBody } from "./body-reader.ts";

declare const kind: unique symbol;

/**
 * A place in the list that gave it, to go on from there. Opaque: what it says is the driver's own affair. A digit
 * first, then at most 99 of `\w.-`.
 */
export type Position = string & { readonly [kind]: "position" };

/** A place among the changes of all alerts, to follow them from there. Opaque as well. */
export type ChangeCursor = string & { readonly [kind]: "change" };

/**
 * What a fact must be. Texts are compared without regard to the case of ASCII letters; `has` finds the start of any word. A value
 * is compared if it is a number.
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
  /** Words that all must occur in title, text, facts or fields. */
  q?: string;
  /** Each must occur there as well, its words one behind the other. */
  phrases?: readonly string[];
  /**
   * Each must occur in the body as it came, at any place, without regard to the case of ASCII letters. Bodies have no
   * index: they are looked at one by one, newest first.
   */
  raw?: readonly string[];
  severity?: Severity;
  /**
   * A delivery state that at least one delivery of the alert has and was not resent, or one of the alert itself.
   * `problem`: a delivery failed, expired or may not have arrived, no route wanted it, or routing failed. `damped`: it did not ring
   * somewhere.
   */
  state?: DeliveryState | "problem" | "unmatched" | "damped" | "dropped" | "repeat" | "unrouted";
  /** At least one delivery of the alert goes there. With `state`, that same delivery has it. */
  destination?: string;
  /** At least one delivery of the alert is by this route. With `state` and `destination`, that same delivery. */
  route?: string;
  /** Has this alert key. */
  key?: string;
  /** All must hold. */
  facts?: readonly FactCondition[];
  /**
   * Only the newest alert of each key, with how often the key came (`AlertSummary.run`). Repeats do not count: a repeat is
   * listed only where the alert that it repeats is no longer kept.
   */
  newestOfKey?: boolean;
  /** Came by this source's hook. */
  source?: string;
  /** Received at or after. */
  fromAt?: number;
  /** Received at or before. */
  toAt?: number;
}

/** What came under one alert key since it was last over, up to this alert. */
export interface AlertRun {
  /** This alert resolves it. */
  isOver: boolean;
  /** Alerts of the run but for the resolution. */
  count: number;
  /** There are more: only this many are counted, and `sinceAt` is not the first. */
  isMore: boolean;
  /** When the first of those counted came. */
  sinceAt: number;
}

export interface AlertSummary {
  position: Position;
  id: string;
  /** Grows with each change of the alert; 0 until the first. */
  version: number;
  origin: AlertOrigin;
  /** The source whose hook it came by. Absent: the account's, or it is the relay's own. */
  source?: string;
  receivedAt: number;
  routedAt?: number;
  /** Absent until it is routed. */
  facts?: AlertFacts;
  routingError?: string;
  /** No route wanted it. */
  unmatched: boolean;
  /** A route dropped it on purpose, and no other sent it anywhere. Then `unmatched` is false. */
  dropped: boolean;
  /** Id of the first alert, when this one has its bytes and was therefore not sent. */
  repeatOf?: string;
  /** Only where `newestOfKey` was asked for, and absent until it is routed. */
  run?: AlertRun;
  /** Only where `raw` was asked for: the body around the first of it. */
  aroundRaw?: string;
  deliveries: DeliverySummary[];
}

/** Newest first. */
export interface AlertsFound {
  alerts: AlertSummary[];
  /**
   * The time was over before the page was full. Nothing was left out so far: `position` continues there, and
   * `receivedAt` is when the oldest alert came that was looked at, of about this many.
   */
  stopped?: { position: Position; receivedAt: number; looked: number };
}

/** Alerts that a part of an id may mean, newest first. */
export interface AlertsNamed {
  alerts: AlertSummary[];
  /** Endings were compared back to here, epoch milliseconds; absent: of all that are kept. */
  searchedTo?: number;
}

/**
 * `extras`: what its route adds to its message. `damped`: what its message says of the alerts of its key that did not ring; with `by`,
 * why this one does not.
 */
export interface DeliverySummary
  extends Pick<PlannedDelivery, "destination" | "channel" | "recipient" | "route" | "reason" | "extras" | "damped">,
    Pick<DueDelivery, "id" | "purpose" | "state" | "createdAt" | "digestId" | "insteadOf"> {
  dueAt?: number;
  finishedAt?: number;
  /** This delivery did not get through. The given one, of the same alert, takes its place. */
  resentBy?: string;
}

/** Deliveries that failed, or were muted, and were not resent, of the alerts that the filters let through. */
export interface FailedQuery extends Omit<AlertQuery, "limit" | "before" | "state"> {
  /** At least one. */
  states: readonly FailedState[];
  /** What this mute (`keptNameOf`) has held back, in place of what failed; `states` decide nothing then. */
  mute?: string;
  /** For a mute: also alert keys that had an end, accepted with their latest alert or after it. Default false. */
  over?: boolean;
  /** Failed at or before: what fails later is not what a person was asked about. */
  failedUntil: number;
}

export interface FailedDelivery {
  position: Position;
  deliverySeq: number;
  destination: string;
  recipient: string;
  /** Only of a mute. */
  alert?: Pick<Alert, "id" | "receivedAt" | "facts">;
}

export interface FailedCount {
  destination: string;
  /** `deliveries` and `alerts`; with a mute the latest of each alert key. */
  deliveries: number;
  alerts: number;
  /** With a mute: all the alerts that those stand for. */
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
  /** 1-based; 1 of 1 for most. */
  part: number;
  parts: number;
  outcome: AttemptOutcome;
  reason?: string;
  detail?: string;
}

export interface AlertDetail extends AlertSummary {
  decisions: Decision[];
  deliveries: (DeliverySummary & { attempts: AttemptEntry[] })[];
  /** Absent for what the relay writes itself: notices, and tests of one destination. */
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
    /** Later requests that were the same: answered as duplicates by their key, or stored as repeats. */
    duplicates: number;
  };
}

export interface AlertCounts {
  /** All that were ever accepted, and the relay's own notices. */
  total: number;
  /** Alerts among them that were not removed since. */
  kept: number;
  /** When the oldest kept alert came. */
  oldestReceivedAt?: number;
  /** When the last one came from outside: of what is kept, and neither a test nor a notice of Tocsin's own. */
  lastReceivedAt?: number;
}

export interface FactsQuery extends Pick<AlertQuery, "before" | "limit"> {
  /** Received at or after. */
  fromAt: number;
}

/** What matchers look at, without the alert's deliveries. */
export interface StoredFacts extends Pick<AlertSummary, "position" | "origin" | "source" | "receivedAt"> {
  alertSeq: number;
  facts: AlertFacts;
}

/** An alert as it came and where it went, for those who try other rules on it. */
export interface PastAlert extends Pick<AlertSummary, "id" | "receivedAt" | "dropped"> {
  routedAt: number;
  /** Absent where routing failed. */
  title?: string;
  /** It could not be read when it came. */
  wasUnreadable: boolean;
  decisions: Decision[];
  /** The deliveries that its routes made: neither resends nor those that replace a failed one. */
  deliveries: Pick<DeliverySummary, "destination" | "state">[];
  /** One object for all alerts of a request that are given at once. */
  body: StoredBody;
  /** Its place in the body, from 0. */
  item: number;
}

/** One alert that came, and the routes that took it. */
export interface StoredArrival extends Pick<AlertSummary, "position" | "id" | "receivedAt" | "source"> {
  routes: string[];
}

export interface FollowedArrivals {
  /** The oldest first. */
  arrivals: StoredArrival[];
  /**
   * All that is stored up to here is routed. It does not cover what another relay is storing just then: a caller who wants
   * everything continues from where this was half a minute ago, and gets some of it twice.
   */
  routedUpTo: Position;
}

/** One alert of a key, without its texts. What it was about is said as well: a key may be one rule's that watches many things. */
export interface KeyEvent
  extends Pick<Alert, "id" | "receivedAt">,
    Pick<AlertFacts, "severity" | "status" | "value" | "threshold" | "unit" | "metric" | "token" | "chain"> {
  /** The sender sent an earlier one again: nothing new happened. */
  isRepeat: boolean;
}

/** The values that came under the key of one alert, up to it. */
export interface KeyValues {
  /** The alert's. */
  id: string;
  /** Oldest first, without repeats; the value as sent, cut at 100 characters. */
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
