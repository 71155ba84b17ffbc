import type { AlertFacts, Severity } from "./alert.ts";
import type { ChannelType, FailedState, ReasonCode } from "./delivery.ts";
import type { DestinationHealth } from "./destination-status.ts";
import type { Downtime, GapReport, GapWindow } from "./gaps.ts";
import type { ConfigurationState } from "./judge-configuration.ts";
import type {
  AlertCounts,
  AlertDetail,
  ChangeCursor,
  DeliverySummary,
  FailedCount,
  FailedQuery,
} from "./ports/alert-log.ts";
import type { DestinationCounts } from "./ports/dispatch.ts";
import type { RefusedDetail, RefusedLog } from "./ports/refused.ts";
import type { RetentionRules } from "./ports/retention.ts";
import type { Hearing } from "./ports/signals.ts";
import type { DestinationStatistics } from "./ports/statistics.ts";
import type { WatchVerdict, WatchView } from "./ports/watch.ts";
import type { Decision, Matcher, Mute, Route } from "./rules.ts";
import type { PlaceType } from "./shape.ts";
import type { RefusedReason } from "./source.ts";

/** One destination as the page and the API show it. Holds no secret. */
export interface DestinationView {
  name: string;
  channel: ChannelType;
  /** Chat id or mailboxes; for webhooks the host of the address only. */
  recipients: string[];
  /** The worse of its own health and that of the account it shares. */
  health: DestinationHealth;
  /** Why it is not ok; empty when it is. */
  reason: string;
  /** The same as a code; absent when it is ok, or has been bad since before there was one. */
  reasonCode?: ReasonCode;
  since?: number;
  /** Absent of one that is dead or paused: it can be reached again, and its next message is the try. */
  nextTryAt?: number;
  lastSentAt?: number;
  /** The last yes to a probe; what that proves is the vendor's `probeProves`. */
  lastProvenAt?: number;
  /** Why the latest probes came to nothing, in a row; a few do not count as a fault. */
  failedProbes?: { count: number; detail: string };
  /** A person has paused it: what comes for it waits until somebody resumes it. `by`: `page`, `api` or `command`. */
  paused?: { at: number; by: string };
  /** The group was upgraded; messages go there. */
  movedTo?: string;
  /** The relay that delivers to it, by name, while several run. Absent: no other runs, or none delivers to it just now. */
  relay?: string;
  definedAt: string;
  counts: DestinationCounts["counts"];
  oldestWaitingAt?: number;
  lastFailedAt?: number;
  heldByQuietHours?: DestinationCounts["heldByQuietHours"];
  resending?: DestinationCounts["resending"];
}

/** What of that which is held is to be sent now. */
export interface HeldFilter {
  /** Default: every destination. */
  destination?: string;
  /** Default: everything that quiet hours hold. */
  alertIds?: string[];
}

export interface Release {
  destination: string;
  /** Deliveries that are sent now, as the summary that the end of the quiet hours would bring. */
  released: number;
}

/** Whether the relay is ready; or, asked of alerts, whether its hook answers 202. */
export interface Readiness {
  ready: boolean;
  /** Alerts that wait in its spool, where any do. */
  spooled?: number;
  /** For the log and `doctor`; never on the open route. */
  reasons: string[];
  /** Absent: it is the newest, as with one relay. What has an older one accepts, and is ready. */
  configuration?: Exclude<ConfigurationState, "newest">;
}

/** A relay that runs on the database, as it has told the others some seconds ago. Holds no secret. */
export interface RunningRelay {
  /** Of its process. */
  id: string;
  /** Of its machine, as a rule. No two have the same. */
  name: string;
  version: string;
  startedAt: number;
  seenAt: number;
  /** It is the one that answers. */
  isSelf: boolean;
  configuration: ConfigurationState;
  /** The higher, the later the database saw it first. */
  configurationVersion: number;
  /** What it delivers to, and since when; of destinations that the relay which answers does not have, nothing is said. */
  destinations: { name: string; since?: number }[];
  /** It watches account, silence and the like for all. */
  watches: boolean;
  /** Absent: its version does not say it; and so are the counts. */
  ready?: boolean;
  /** For so long it has not said that it runs, while others have: it was killed, stands still or is cut off. Absent: it has. */
  unheardMs?: number;
  /** Why it is not ready; empty when it is. */
  reasons: string[];
  /** Alerts since its start. */
  accepted?: number;
  /** Alerts that wait in its spool. Absent: it has none. */
  spooled?: number;
}

/** What the relay says of itself. */
export interface RelayView {
  version: string;
  startedAt: number;
  uptimeMs: number;
  /** It is being stopped. */
  stopping: boolean;
  ready: boolean;
  /** Why it is not ready; empty when it is. */
  reasons: string[];
  /** Alerts since the start that were sent as received, because reading or routing them failed twice. */
  unreadableAlerts: number;
  /** Somebody else holds its listening socket too: what comes while it restarts waits there for the next process. */
  socketIsHeld: boolean;
  /** How it hears of other relays. Absent: there can be none. */
  hearing?: Hearing & { isPooled: boolean };
}

/** What is on its way, at the destinations that are configured. One that was resent counts as its resend does. */
export interface QueueView {
  /** Alerts that were accepted and not decided about yet. */
  unrouted: number;
  oldestUnroutedAt?: number;
  queued: number;
  waiting: number;
  sending: number;
  held: number;
  failed: number;
  expired: number;
  /** When the oldest delivery that waits was made. What quiet hours hold waits. */
  oldestWaitingAt?: number;
}

/** What the store knows, whether a relay runs or not. */
export interface LogView {
  alerts: AlertCounts;
  queue: QueueView;
  /** In the order of the configuration. */
  destinations: DestinationView[];
  disk: {
    databaseBytes: number;
    /** Absent where the database is another machine's. */
    freeBytes?: number;
    /** New alerts are answered 503 until there is room. */
    full: boolean;
    /** Earlier alerts could not be looked up since the start, so repeats may have been sent: why. */
    damage?: string;
  };
  /** What is removed by and by. */
  retention: RetentionRules;
}

/** What the relay knows of the account, as far as its watch has heard of it. Asking for it asks nobody outside. */
export interface AccountView {
  /** Absent: `PUBLIC_URL` is not set, so there is no address that the account could send to. */
  publicUrl?: string;
  /** `ALERTING_URL` and `ALERTING_API_KEY` are set where the relay runs. */
  serviceConfigured: boolean;
  /** What the service said when it was last asked; absent: nothing was heard since the start, or nobody asks. */
  answer?: {
    /** When it was given. Epoch milliseconds. */
    at: number;
    /** Each member is absent where the service does not say it. */
    id?: string;
    name?: string;
    keyExpiresAt?: number;
    /**
     * Where the account's alerts go; `stranger`: here, with a secret that this relay does not take; `answered`: to another
     * address than the registered one, where this relay answers.
     */
    webhook?: "here" | "stranger" | "elsewhere" | "answered" | "nowhere";
    /** Of the address without what may be its secret. */
    webhookAddress?: string;
    messengerChannelId?: string | null;
  };
  /** The outputs are others than setup left, and `putBackOutputs` would change them. */
  canPutBack: boolean;
}

/** One watch over alerts that do not come, as it is now. */
export interface SilenceView {
  /** `hook`, `route:critical`, `source:Pyth`. */
  watch: string;
  of: "hook" | "route" | "source";
  /** Of the route or the source. */
  name?: string;
  /** Absent: it is learned what is usual. */
  afterMs?: number;
  /** `learning`: too little is known to alarm anybody. `muted`: nobody is told. */
  state: "watching" | "learning" | "silent" | "muted";
  /** Since when it is watched; the log from before counts. */
  since: number;
  lastAt?: number;
  lastId?: string;
  /** How long nothing has come while the relay ran. */
  quietMs: number;
  /** How long the quiet lasts at most, at these hours and counted from the last alert. */
  usualMs?: number;
  /** When people are told if nothing comes until then. */
  tellsAt?: number;
  /** When they were. */
  toldAt?: number;
  learning?: {
    days: number;
    daysNeeded: number;
    /** Spans of five minutes in which something came, in the last six weeks. */
    arrivals: number;
    arrivalsNeeded: number;
    /** The log is being read. */
    isReading: boolean;
  };
  mute?: { reason: string; until: number };
  /** Of its notices: what a mute of it matches. */
  alertKey: string;
}

/** Where a canary did not get through. */
export const canaryStages = ["name", "connection", "tls", "answer", "body", "stored", "routed"] as const;
export type CanaryStage = (typeof canaryStages)[number];

/** The test that Tocsin sends to its own public address, as it is now. */
export interface CanaryView {
  /** When one is sent, for people: `every 1 h`. */
  schedule: string;
  /** `waiting`: none has arrived yet. */
  state: "waiting" | "works" | "fails";
  lastAt?: number;
  lastOkAt?: number;
  nextAt: number;
  /** The rest while it fails. */
  since?: number;
  stage?: CanaryStage;
  detail?: string;
  toldAt?: number;
}

/** One named hook, as it is now. Holds no secret. */
export interface SourceView {
  name: string;
  /** Requests that were answered 202, since the relays that run began. */
  accepted: number;
  /** When the last of them came. */
  lastAcceptedAt?: number;
  /** What its sender has to prove, e.g. `github`; empty: to know the address is enough. */
  checks: string[];
  /** Requests that did not pass since then, by why. */
  refused: Partial<Record<RefusedReason, number>>;
  lastRefusedAt?: number;
  /** What is known of its own account at the service. Absent: it has none, or nobody watches it. */
  account?: Pick<AccountView, "answer" | "canPutBack">;
}

/** Since the start. */
export interface ReleasedRefused {
  /** Of the alerts. */
  ids: string[];
  /** They were there before: it was released, or its sender has sent it again and passed. */
  duplicate: boolean;
}

export function countRefused({ refused }: Pick<SourceView, "refused">): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}

/**
 * `store` and `reading`: alerts are refused, or sent as received. `spool`: alerts wait for the database. `destination`: one takes no messages.
 * `undelivered`: one takes messages, and has refused some in the last 24 hours. `resending`: of those some wait to be sent again. `watch`, `canary`, `silence`: alerts may be missing. `backlog`: something waits that should not. `paused`: by a person.
 * `lane`: no relay delivers there, or watches, though some run. `relay`: another configuration, or another relay that is not ready.
 * `unsteady`: a destination fails at times.
 */
export const troubleKinds = [
  "store",
  "spool",
  "reading",
  "lane",
  "destination",
  "undelivered",
  "resending",
  "watch",
  "canary",
  "silence",
  "backlog",
  "paused",
  "relay",
  "unsteady",
] as const;

/** One thing that is wrong now, as the strip on every page says it. Holds no secret. */
export interface Trouble {
  kind: (typeof troubleKinds)[number];
  /** `bad`: alerts are lost, missing or reach nobody. `warn`: they are late, or it was seen once and is looked at again. */
  level: "bad" | "warn";
  /** In plain words, without when it began: "desk is dead". */
  what: string;
  /** Epoch milliseconds. */
  since?: number;
  /** What comes of it: "3 not delivered". */
  notes: string[];
  /** What was said last, by the vendor or a machine. */
  reason?: string;
  /** The destination, watch, route or source that it is about. */
  name?: string;
  /** Of a watch over the account of a source. */
  source?: string;
  /** Deliveries to this destination that failed or expired and were not resent. */
  failed?: number;
  /** How many of those expired. */
  expired?: number;
  /** Of a watch over an account: `putBackOutputs` would change what is wrong. */
  canPutBack?: boolean;
}

/** What one line about all is made of. Holds no secret. */
export interface HealthView {
  /** What is wrong now, worst first. */
  troubles: Trouble[];
  /** Undefined: the store does not say it. */
  destinations: DestinationView[] | undefined;
  watches: WatchView[];
  /** When the last one came that is kept. Absent: none has, or the store does not say it. */
  lastAlertAt?: number;
}

/** What would be sent to one destination. */
export interface ExplainedDelivery {
  destination: string;
  channel: ChannelType;
  /** A mail goes to each on its own. */
  recipients: string[];
  route: string;
  state: "queued" | "muted" | "held";
  reason: string;
  /** Not before: quiet hours. Epoch milliseconds. */
  dueAt?: number;
  /** What people read, part by part. Empty when it is muted. */
  texts: string[];
}

export interface Explanation {
  decisions: Decision[];
  deliveries: ExplainedDelivery[];
}

/** What would become of one alert of a body that is only tried: nothing of it is stored or sent. */
export interface TriedAlert extends Explanation {
  facts: AlertFacts;
  /** Reading it failed: it would go out as it came. */
  unreadable?: string;
}

/** What one side says of one destination: a decision, or `nothing` with why no route sends it there. */
export type RoutingPart = Pick<Decision, "reason"> & { result: Decision["result"] | "nothing"; route?: string };

/** What the configuration and the mutes of now make of a stored alert, beside what was decided then. */
export interface RoutedAgain {
  /** As if it came at this instant. Epoch milliseconds. */
  at: number;
  decisions: Decision[];
  /** Destinations that would get something else, what is lost first. Empty: the same as then. */
  differences: {
    /** Absent: nobody, on one side since a route drops it on purpose. */
    destination?: string;
    before: RoutingPart;
    now: RoutingPart;
    /** The quiet hours of now would have done the same then: it is another hour of the day. */
    onlyByHour: boolean;
  }[];
  /** A route or a mute asks for a place in the payload, and the body is too large to be read for this. */
  isTooLarge: boolean;
}

/** How often a route took an alert, beside what it is. */
export interface RouteView
  extends Pick<Route, "name" | "matchers" | "to" | "continue" | "isDefault" | "fallback" | "definedAt"> {
  day: number;
  week: number;
  /** Absent: never, since routes are counted. */
  last?: { at: number; id: string };
}

export interface RoutesView {
  /** In the order of the configuration. */
  routes: RouteView[];
  /** Since when they are counted. Absent: no alert was routed yet. */
  since?: number;
}

/** One interface of the service, as far as it is asked for what decorates messages and pages. Holds no secret. */
export interface MarketServiceView {
  /** A label of the metrics. */
  interface: "alerting" | "pricing";
  /** Calls in the last hour, and how many there may be. */
  calls: { made: number; most: number };
  /** Nothing is asked until then; absent: it may be asked. Epoch milliseconds. */
  pausedUntil?: number;
  /** Words that follow "because". */
  pausedBecause?: string;
}

/** How the relay and its machine are, beside `StatusView`. Holds no secret. */
export interface SystemView {
  /** Of Node.js. */
  nodeVersion: string;
  configuration: {
    /** Absent: there is none, the environment alone. */
    file?: string;
    /** Of the file as it was read at the start: the first 12 digits of its SHA-256. */
    hash?: string;
    /** Whether the file on disk is the one in force. */
    onDisk: "same" | "differs" | "gone" | "none";
  };
  /** Alerts accepted in the last minute, hour and day. */
  accepted: { minute: number; hour: number; day: number };
  /** Absent: fewer than 1,000 alerts say nothing of their size on disk. */
  growth?: {
    /** By the size of an alert on disk and those of the last day. */
    bytesPerDay: number;
    /** Days until the disk is full, going on like that. Absent: not in ten years, or it is not known how much is free. */
    fullInDays?: number;
    /** `retention` removes as much before that happens. */
    heldByRetention: boolean;
  };
  parts: { name: string; verdict: WatchVerdict; detail: string }[];
}

/** What was answered 202 and waits on this machine's disk for the database. */
export interface SpoolView {
  /** How many alerts wait. */
  alerts: number;
  /** Of its files, and what they may come to. */
  bytes: number;
  maxBytes: number;
  /** When the oldest that waits came. Absent: none waits. */
  oldestAt?: number;
  /** Since when something has waited. */
  since?: number;
  /** Why nothing could be put there lately: then alerts are answered 503. */
  problem?: string;
  /** Requests of those that the database has refused for what they are; they are tried again. */
  stuck: number;
  /** Alerts that could not be read back from its files since the start. */
  unreadable: number;
  /** Paths of the files that hold such alerts, which are kept until somebody takes them away. */
  damagedFiles: string[];
}

/** Why requests were turned away at the door, before anything of them was stored. */
export const doorRefusals = [
  "unknown_secret",
  "too_large",
  "too_many_fields",
  "compressed",
  "not_stored",
  "turned_away",
] as const;
export type DoorRefusal = (typeof doorRefusals)[number];

export interface DoorRefusalView {
  reason: DoorRefusal;
  /** Since the start. */
  total: number;
  /** In the last 24 hours, in whole hours. */
  day: number;
  lastAt?: number;
}

/** How the relay is. Holds no secret. */
export interface StatusView extends LogView {
  /** What is wrong now, worst first. */
  troubles: Trouble[];
  relay: RelayView;
  /** All that run on the database, the one that answers first. */
  relays: RunningRelay[];
  /** Named hooks, in the order of the configuration. */
  sources: SourceView[];
  account: AccountView;
  /** What the relay watches around it; empty when that is nothing. */
  watches: WatchView[];
  /** In the order of the configuration; none when nothing is watched. */
  silence: SilenceView[];
  /** Absent: none is sent. */
  canary?: CanaryView;
  /** Absent: it has none, and what the database does not take is answered 503. */
  spool?: SpoolView;
}

/** What of the log is to be resent: the log's own filters. */
export interface FailedFilter extends Omit<FailedQuery, "states" | "failedUntil"> {
  /** Default: both. */
  state?: FailedState;
  /** Default: now. Given as a preview has said it, what fails later is not resent unasked. Epoch milliseconds. */
  failedUntil?: number;
}

export interface FailedAtDestination extends FailedCount {
  /** Absent: it is no longer configured, so nothing can be resent to it. */
  health?: DestinationHealth;
  /** They are more than go out one by one. */
  asDigests: boolean;
}

export interface ResendPreview {
  /** What failed up to then is counted. */
  failedUntil: number;
  /** Of destinations that are configured. */
  deliveries: number;
  destinations: FailedAtDestination[];
}

export interface ResendResult {
  /** New deliveries, on their way. */
  made: number;
  /** Failed ones that count as their resend does from now on. */
  resent: number;
  /** Failed ones that stay failed, and why in words that follow the destination's name. */
  left: { destination: string; deliveries: number; why: string }[];
}

/** What came of asking a destination whether it works. Nothing was sent to people. */
export interface TryResult {
  destination: string;
  /**
   * `works`: it takes messages. `answers`: it can be reached, and whether it takes messages the next one shows.
   * `fails`: it does not work. `parked`: it has asked for silence until `nextTryAt` and was not called.
   */
  result: "works" | "answers" | "fails" | "parked";
  /** What it said, or what that means; one sentence or clause for people. */
  detail: string;
  /** The next try that is made without being asked, if it is not well. */
  nextTryAt?: number;
  health: DestinationHealth;
  /** Deliveries that go out now, or when it works. */
  waiting: number;
}

/** A test that was sent straight to one destination: an alert of origin `test`, with a delivery for each recipient. */
export interface DestinationTest {
  /** False: this is an earlier one, which is still on its way or less than 10 s old. No second one was sent. */
  isNew: boolean;
  alert: AlertDetail;
}

/** Two that are the same are of the same alerts. */
export interface LogState {
  version: ChangeCursor;
  counts: AlertCounts;
}

export interface PreviewOptions {
  /** How many are looked at, the newest. Default 10,000, and 1,000 where a matcher looks into bodies. */
  mostAlerts?: number;
  /** As the store has just said, so that it is not asked again. */
  asOf?: LogState;
}

/** What a mute would have held of the last 24 hours. */
export interface MutePreview {
  /** Alerts that match. */
  matched: number;
  /** Alerts of senders that were looked at, the newest first. */
  looked: number;
  /** False when there were more than are looked at. */
  complete: boolean;
  /** Beginning of the 24 hours. */
  since: number;
}

/** One place that alerts of a kind have had, with one type. */
export interface ShapePlaceView {
  /** As a matcher names it. */
  path: string;
  type: PlaceType;
  /** From one body; "(not shown)" where it may be a credential. */
  example: string;
  /** How many of the kind's alerts had it. */
  alerts: number;
  firstAt: number;
  lastAt: number;
  /** What is read from it. */
  facts: string[];
  /** Those that look at it, or at a fact that is read from it. */
  routes: string[];
  /** It was in all of them, and is in none of the last. */
  isGone: boolean;
}

/** Alerts that are made alike. */
export interface ShapeKindView {
  number: number;
  /** The title of the first. */
  title: string;
  /** What that sender calls itself; null: it does not. */
  source: string | null;
  alerts: number;
  /** Different ones among them that are known. */
  shapes: number;
  firstAt: number;
  lastAt: number;
  places: ShapePlaceView[];
}

/** What alerts are made of. The kind that was seen last comes first. */
export interface ShapesView {
  kinds: ShapeKindView[];
  /** Alerts of which it cannot tell: of unknown shapes beside too many others, and those without a shape. */
  unfollowed: { unknown: number; without: number };
}

/** What people can do to a running relay, whichever way they ask: page, API or command. */
export interface Operations {
  /** What waits on this machine for the database. Undefined: it has no spool. */
  spool(): SpoolView | undefined;
  /**
   * Sends an alert once more, marked as a resend: to every destination that it had, or to those named. The new
   * deliveries.
   * @throws AppError `not_found` (alert, destination), `conflict` (not routed yet, or nowhere to send it).
   */
  resend(alertId: string, destinations?: readonly string[]): Promise<DeliverySummary[]>;
  /**
   * Sends now what quiet hours hold; once, however often it is asked. Of alerts that are named also what is held since
   * nobody knows whether it arrived: that is repeated, and marked as a possible repeat. Without destinations that
   * held nothing.
   * @throws AppError `not_found` (alert, destination).
   */
  releaseHeld(filter: HeldFilter): Promise<Release[]>;
  /** What `resendFailed` with this filter would take up. */
  previewResend(filter: FailedFilter): Promise<ResendPreview>;
  /**
   * Resends everything that failed and was not resent, one message in four while other alerts are due, and as digests when
   * it is much. A destination that refuses everything is tried first, and nothing is resent to it while it still does.
   */
  resendFailed(filter: FailedFilter): Promise<ResendResult>;
  /** Asks a destination at once whether it works. @throws AppError `not_found`. */
  tryDestination(name: string): Promise<TryResult>;
  /**
   * Sends one marked message straight to a destination, whatever routes, mutes and quiet hours say, and also where it is
   * dead or paused. It goes as any delivery does: at its turn, in the destination's pace, and on the log.
   * @param severity default `info`
   * @throws AppError `not_found`.
   */
  testDestination(name: string, severity?: Severity): Promise<DestinationTest>;
  /**
   * Sends nothing there until it is resumed: what comes waits and is not given up, fallbacks are called upon as ever, and
   * what a person asks for (a test, one resend) goes. Outlives a restart. Nothing changes at one that is paused already.
   * @param by `page`, `api` or `command`
   * @throws AppError `not_found`; `store_unavailable` when it cannot be put on record.
   */
  pauseDestination(name: string, by: string): Promise<DestinationView>;
  /** Nothing changes at one that is not paused. @throws AppError `not_found`, `store_unavailable`. */
  resumeDestination(name: string): Promise<DestinationView>;
  /** What became of the deliveries of each destination, in the order of the configuration. */
  destinationStatistics(): Promise<DestinationStatistics[]>;
  /** Each route with how often it took an alert. */
  routes(): Promise<RoutesView>;
  /** When no relay ran in the last eight days, the oldest first, to a minute. */
  downtimes(): Promise<Downtime[]>;
  /**
   * What would become of a body now, alert by alert, at most 20; nothing is stored or sent.
   * @param source whose hook it is read as. Default: the account's
   * @throws AppError `too_large` (the hook would refuse it), `not_found` (source), `failed` (it cannot be read just now).
   */
  tryBody(
    body: Uint8Array,
    contentType: string | undefined,
    source?: string,
  ): Promise<{ alerts: TriedAlert[]; total: number }>;
  /** Undefined: no route was asked then. What was read then counts; nothing is stored or sent. */
  routeAgain(alert: AlertDetail): RoutedAgain | undefined;
  /** Of bodies, as the hook takes them. */
  maxBodyBytes: number;
  /** @throws AppError `store_unavailable` */
  system(): Promise<SystemView>;
  /** What was turned away at the door since the start. */
  doorRefusals(): DoorRefusalView[];
  destinations(): Promise<DestinationView[]>;
  /** Of the configuration, in its order; what is known without asking the store. */
  destinationNames(): string[];
  /** The same. */
  routeNames(): string[];
  /** Active and coming ones, the configuration's among them; with `includeEnded` the past ones as well. */
  listMutes(includeEnded?: boolean): Promise<Mute[]>;
  /** @throws AppError `invalid_request` when a matcher cannot be read or it ends before it starts. */
  addMute(input: {
    matchers: Matcher[];
    reason: string;
    startsAt?: number;
    endsAt: number;
    createdBy: string;
  }): Promise<Mute>;
  /**
   * Counts by the router's own matchers; bounded, and takes nobody's time for long.
   * @throws AppError `invalid_request` when a matcher cannot be read.
   */
  previewMute(matchers: Matcher[], options?: PreviewOptions): Promise<MutePreview>;
  /** @throws AppError `not_found`; `conflict` for a mute of the configuration, which is ended there. */
  endMute(id: string): Promise<void>;
  /**
   * Makes the account send here again, as setup had registered it.
   * @param source whose account. Default: that of the environment
   * @throws AppError `conflict` (nobody watches the account, another account), `not_found` (not registered here), or as
   *   the service refuses it.
   */
  putBackOutputs(source?: string): Promise<"put-back" | "unchanged">;
  /** What the payloads of alerts are made of, as far as it was seen. @throws AppError `store_unavailable` */
  shapes(): Promise<ShapesView>;
  /** Named hooks, in the order of the configuration. */
  sources(): SourceView[];
  /** What did not pass the check of its source, newest first. */
  listRefused: RefusedLog["listRefused"];
  /** @throws AppError `not_found`. */
  findRefused(id: string): Promise<RefusedDetail>;
  /**
   * Accepts a refused request now, as if its sender had passed; once, however often it is asked.
   * @throws AppError `not_found`.
   */
  releaseRefused(id: string): Promise<ReleasedRefused>;
  /**
   * What the last look for alerts that did not come has found; undefined: none was made since the start.
   * @param source whose account. Default: that of the environment
   * @throws AppError `store_unavailable`
   */
  gaps(source?: string): Promise<GapReport | undefined>;
  /**
   * Looks for alerts that should have come in that time and did not: asks the service, and may take a minute. Tells nobody.
   * @param source whose account. Default: that of the environment
   * @throws AppError `conflict` when this relay does not look for any, `not_found` for a source without an account.
   */
  checkGaps(window: GapWindow, source?: string): Promise<GapReport>;
  /**
   * Within a second, whatever the store does. Of `alerts`: whether the hook answers 202, which with a spool it does while the
   * store is away.
   * @param of default: `relay`
   */
  readiness(of?: "relay" | "alerts"): Promise<Readiness>;
  /** All relays that run on the database, this one first. */
  relays(): RunningRelay[];
  /**
   * Takes the same few milliseconds with a million alerts stored, and asks nobody but the store.
   * @throws AppError `store_unavailable` when that does not answer.
   */
  status(): Promise<StatusView>;
  /** Never rejects; any number of readers cost the store three short questions a second. */
  health(): Promise<HealthView>;
  /** What the relay watches around it. */
  watches(): WatchView[];
  /** Each watch over alerts that do not come. */
  silence(): SilenceView[];
  /** Undefined: none is sent. */
  canary(): CanaryView | undefined;
  /** Prometheus text, within a second whatever the store does. Labels hold no user text and no chat ids. */
  metricsText(): Promise<string>;
}
