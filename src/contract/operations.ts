import type { z } from "zod";
import type { AlertFacts, Severity } from "../core/alert.ts";
import type { ChannelType, FailedState } from "../core/delivery.ts";
import type { Downtime, GapSight, GapWindow } from "../core/gaps.ts";
import type { ConfigurationState } from "../core/judge-configuration.ts";
import type { MappableFact } from "../core/mapping.ts";
import type { AlertCounts, AlertDetail, ChangeCursor, DeliverySummary, FailedQuery } from "../core/ports/alert-log.ts";
import type { RefusedDetail, RefusedLog } from "../core/ports/refused.ts";
import type { DestinationStatistics } from "../core/ports/statistics.ts";
import type { WatchVerdict } from "../core/ports/watch.ts";
import type { Decision, Matcher, Mute, Route } from "../core/rules.ts";
import type * as alerts from "./views/alerts.ts";
import type * as destinations from "./views/destinations.ts";
import type * as mutes from "./views/mutes.ts";
import type * as refused from "./views/refused.ts";
import type * as status from "./views/status.ts";
import type * as watches from "./views/watches.ts";

export type AlertView = z.output<typeof alerts.alertView>;
export type AlertDetailView = z.output<typeof alerts.alertDetailView>;
export type DeliveryDetailView = AlertDetailView["deliveries"][number];

/** One destination as page and API show it. Holds no secret. */
export type DestinationView = z.output<typeof destinations.destinationView>;

/** What of that which is held is to be sent now. */
export interface HeldFilter {
  /** Default: every destination. */
  destination?: string;
  /** Default: everything that quiet hours hold. */
  alertIds?: string[];
}

export type Release = z.output<typeof destinations.releaseView>;

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
export type RunningRelay = z.output<typeof status.runningRelayView>;

/** What the relay says of itself. */
export type RelayView = StatusView["relay"];

/** What the store knows, whether a relay runs or not. */
export type LogView = z.output<typeof status.logView>;

/** What the relay knows of the account, as far as its watch has heard of it. Asking for it asks nobody outside. */
export type AccountView = StatusView["account"];

/** One watch over alerts that do not come, as it is now. `alertKey`: of its notices, what a mute of it matches. */
export type SilenceView = z.output<typeof status.statusView>["silence"][number] & { alertKey: string };

/** Where a canary did not get through. */
export const canaryStages = ["name", "connection", "tls", "answer", "body", "stored", "routed"] as const;
export type CanaryStage = (typeof canaryStages)[number];

/** The test that Tocsin sends to its own public address, as it is now. */
export type CanaryView = NonNullable<StatusView["canary"]>;

/** One named hook, as it is now. Holds no secret. */
export type SourceView = StatusView["sources"][number];

export type ReleasedRefused = z.output<typeof refused.releasedRefusedView>;

/** What one look for missing alerts has found. `sight`: what it could see, by which a later one judges what seemed lost. */
export type GapReport = z.output<typeof watches.gapsView> & { sight: GapSight };
export type MissingAlert = GapReport["missing"][number];
export type GapOutage = GapReport["outages"][number];
export type UnknownGap = GapReport["unknown"][number];

/** What one watch knows now. `name` is a label of the metrics, so no text of a sender and no chat id. Holds no secret. */
export type WatchView = StatusView["watches"][number];

export function countRefused({ refused }: Pick<SourceView, "refused">): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}

/** One thing that is wrong now, as the strip on every page says it. Holds no secret. */
export type Trouble = StatusView["troubles"][number];

/** What one line about all is made of. Holds no secret. */
export interface HealthView {
  /** What is wrong now, worst first. */
  troubles: Trouble[];
  /** Undefined: the store does not say it. */
  destinations: DestinationView[] | undefined;
  watches: WatchView[];
  /** When the last one came from a sender, and is kept; null: none is. Absent: the store does not say it. */
  lastAlertAt?: number | null;
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

/** A name that `match` takes, with the value that it would be compared with. */
interface MatchField {
  field: string;
  value: string;
}

export interface MatchFields {
  facts: MatchField[];
  /** Places of the payload that hold a value, in its order. */
  payload: MatchField[];
  /** How many more places were found than are listed here. */
  more: number;
}

/** A fact for which the configuration names places. */
export interface MappedFact {
  fact: MappableFact;
  /** Where it is looked for. */
  paths: string[];
  /** Where it was found; absent: nowhere, so that it is guessed. */
  path?: string;
  /** Where no path gave a value, what is wrong with the first: "there is payload.rule.name". */
  why?: string;
  value?: string;
  /** What it would be without the mapping. */
  guess?: string;
}

/** What becomes of one alert of a body that is only tried: nothing of it is stored or sent. */
export interface Explanation {
  facts: AlertFacts;
  /** Reading it failed: it would go out as it came. */
  unreadable?: string;
  /** What a matcher can ask it for. */
  fields: MatchFields;
  /** What a mapping gives, next to what would be guessed. Absent: that was not compared. */
  mapping?: MappedFact[];
  decisions: Decision[];
  deliveries: ExplainedDelivery[];
}

/** What today's configuration and mutes make of a stored alert, next to what was decided then. */
export type RoutedAgain = z.output<typeof alerts.routedAgainView>;
/** What one side says of one destination: a decision, or `nothing` with why no route sends it there. */
export type RoutingPart = RoutedAgain["differences"][number]["now"];

/** A route, and how often it took an alert. */
export interface RouteView extends Route {
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

/** How the relay and its machine are, in addition to `StatusView`. Holds no secret. */
export interface SystemView {
  /** The version of Node.js. */
  nodeVersion: string;
  configuration: {
    /** Absent: there is none, the environment alone. */
    file?: string;
    /** The first 12 digits of the file's SHA-256, as it was read at the start. */
    hash?: string;
    /** Whether the file on disk is the one in force. */
    onDisk: "same" | "differs" | "gone" | "none";
    /** Why what is on disk is not taken over, a line for each mistake. Absent: it was not refused. */
    refused?: string[];
  };
  /** Alerts accepted in the last minute, hour and day. */
  accepted: { minute: number; hour: number; day: number };
  /** Absent: fewer than 1,000 alerts say nothing of their size on disk. */
  growth?: {
    /** Estimated from the size of an alert on disk and the alerts of the last day. */
    bytesPerDay: number;
    /**
     * Days until the disk is full, if the log grows as it does. Absent: not in ten years, or it is not known how much is free.
     */
    fullInDays?: number;
    /** `retention` removes as much before that happens. */
    heldByRetention: boolean;
  };
  parts: { name: string; verdict: WatchVerdict; detail: string }[];
}

/** What was answered 202 and waits on this machine's disk for the database. */
export type SpoolView = NonNullable<StatusView["spool"]>;

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
export type StatusView = z.output<typeof status.statusView>;

/** What of the log is to be resent: the log's own filters. */
export interface FailedFilter extends Omit<FailedQuery, "states" | "failedUntil"> {
  /** Default: both. */
  state?: FailedState;
  /** Default: now. With the instant of a preview, what failed after the preview is not resent. Epoch milliseconds. */
  failedUntil?: number;
}

export type ResendPreview = z.output<typeof destinations.resendPreviewView>;
export type FailedAtDestination = ResendPreview["destinations"][number];

export type ResendResult = z.output<typeof destinations.resendResultView>;

/** What came of asking a destination whether it works. Nothing was sent to people. */
export type TryResult = z.output<typeof destinations.tryResultView>;

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

export type MuteView = z.output<typeof mutes.muteView>;

/** What a mute would have held of the last 24 hours. */
export type MutePreview = z.output<typeof mutes.mutePreviewView>;

/** One place that alerts of a kind have had, with one type. */
export type ShapePlaceView = ShapeKindView["places"][number];

/** Alerts of the same shape. */
export type ShapeKindView = ShapesView["kinds"][number];

/** What alerts are made of. The kind that was seen last comes first. */
export type ShapesView = z.output<typeof watches.shapesView>;

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
   * Sends now what quiet hours hold; once, however often it is asked. For alerts that the filter names it also repeats what is
   * held because nobody knows whether it arrived, marked as a possible repeat. Without destinations that held nothing.
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
  ): Promise<{ alerts: Explanation[]; total: number }>;
  /** Undefined: no route was asked then. What was read then counts; nothing is stored or sent. */
  routeAgain(alert: AlertDetail): RoutedAgain | undefined;
  /** The largest body that the hook takes. */
  maxBodyBytes: number;
  /** @throws AppError `store_unavailable` */
  system(): Promise<SystemView>;
  /** What was turned away at the door since the start. */
  doorRefusals(): DoorRefusalView[];
  destinations(): Promise<DestinationView[]>;
  /** The configured destinations, in the configuration's order, without asking the store. */
  destinationNames(): string[];
  /** The configured routes, in the configuration's order, without asking the store. */
  routeNames(): string[];
  /** Active and coming ones, the configuration's among them; with `includeEnded` the past ones as well. */
  listMutes(includeEnded?: boolean): Promise<(Mute & Pick<MuteView, "silenced">)[]>;
  /** @throws AppError `invalid_request` when a matcher cannot be read or it ends before it starts; `conflict` when it is over already. */
  addMute(input: {
    matchers: Matcher[];
    reason: string;
    startsAt?: number;
    endsAt: number;
    /** See `Mute`. */
    untilOver?: string;
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
   * Within a second, whatever the store does. `alerts`: whether the hook answers 202, which with a spool it does while the store
   * is away.
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
