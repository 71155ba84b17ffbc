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

export type DestinationView = z.output<typeof destinations.destinationView>;

/** Which held deliveries to send now. */
export interface HeldFilter {
  destination?: string;
  /** Default: all deliveries that quiet hours hold. */
  alertIds?: string[];
}

export type Release = z.output<typeof destinations.releaseView>;

/** Whether the relay is ready. For `alerts`: whether its hook answers 202. */
export interface Readiness {
  ready: boolean;
  /** Alerts that wait in the relay's spool. Absent: it has no spool. */
  spooled?: number;
  /** For the log and `doctor`. Never on the open route. */
  reasons: string[];
  /** Absent: the newest configuration. A relay with an older one accepts alerts, and is ready. */
  configuration?: Exclude<ConfigurationState, "newest">;
}

/** A relay on the database, by its own report of some seconds ago. */
export type RunningRelay = z.output<typeof status.runningRelayView>;

export type RelayView = StatusView["relay"];

/** The state of the store, whether a relay runs or not. */
export type LogView = z.output<typeof status.logView>;

/** The account as its watch knows it. Reading it makes no call to the service. */
export type AccountView = StatusView["account"];

/** The present state of one watch over alerts that do not come. `alertKey`: of its notices, for a mute. */
export type SilenceView = z.output<typeof status.statusView>["silence"][number] & { alertKey: string };

/** The stage that a canary did not pass. */
export const canaryStages = ["name", "connection", "tls", "answer", "body", "stored", "routed"] as const;
export type CanaryStage = (typeof canaryStages)[number];

export type CanaryView = NonNullable<StatusView["canary"]>;

export type SourceView = StatusView["sources"][number];

export type ReleasedRefused = z.output<typeof refused.releasedRefusedView>;

/** One look for missing alerts. `sight`: what the look saw, by which a later look judges missing alerts. */
export type GapReport = z.output<typeof watches.gapsView> & { sight: GapSight };
export type MissingAlert = GapReport["missing"][number];
export type GapOutage = GapReport["outages"][number];
export type UnknownGap = GapReport["unknown"][number];

/** The present state of one watch. `name` is a label of the metrics, so it contains no sender's text and no chat id. */
export type WatchView = StatusView["watches"][number];

export function countRefused({ refused }: Pick<SourceView, "refused">): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}

/** One problem for the line on every page. Holds no secret. */
export type Trouble = StatusView["troubles"][number];

/** The data of the line about the whole state. Holds no secret. */
export interface HealthView {
  troubles: Trouble[];
  /** Undefined: the store does not answer. */
  destinations: DestinationView[] | undefined;
  watches: WatchView[];
  /** When the last kept alert of a sender came. Null: none is kept. Absent: the store does not answer. */
  lastAlertAt?: number | null;
}

/** The delivery to one destination, if the alert were sent now. */
export interface ExplainedDelivery {
  destination: string;
  channel: ChannelType;
  /** Each recipient gets a mail of its own. */
  recipients: string[];
  route: string;
  state: "queued" | "muted" | "held";
  reason: string;
  /** The end of quiet hours, before which nothing is sent, epoch milliseconds. */
  dueAt?: number;
  /** The parts of the message for people. Empty when it is muted. */
  texts: string[];
}

/** A name for `match`, with the value that it would be compared with. */
interface MatchField {
  field: string;
  value: string;
}

export interface MatchFields {
  facts: MatchField[];
  /** Places of the payload with a value, in its order. */
  payload: MatchField[];
  /** How many further places were found and are not listed. */
  more: number;
}

/** A fact with places in the configuration's mapping. */
export interface MappedFact {
  fact: MappableFact;
  paths: string[];
  /** The place with the value. Absent: none, so the fact is guessed. */
  path?: string;
  /** If no path gave a value, what is wrong with the first: "there is payload.rule.name". */
  why?: string;
  value?: string;
  /** The value without the mapping. */
  guess?: string;
}

/** The routing of one alert of a tried body. Nothing is stored or sent. */
export interface Explanation {
  facts: AlertFacts;
  /** Why reading failed. The alert would go out as it came. */
  unreadable?: string;
  fields: MatchFields;
  /** The mapping's facts with the guesses. Absent: they were not compared. */
  mapping?: MappedFact[];
  decisions: Decision[];
  deliveries: ExplainedDelivery[];
}

/** A stored alert under the present configuration and mutes, compared with its past decisions. */
export type RoutedAgain = z.output<typeof alerts.routedAgainView>;
/** One side's result for one destination: a decision, or `nothing` with the reason why no route sends it there. */
export type RoutingPart = RoutedAgain["differences"][number]["now"];

/** A route with how often it took an alert. */
export interface RouteView extends Route {
  day: number;
  week: number;
  /** Absent: never since counting began. */
  last?: { at: number; id: string };
}

export interface RoutesView {
  /** The routes in the order of the configuration. */
  routes: RouteView[];
  /** The beginning of counting. Absent: no alert was routed yet. */
  since?: number;
}

/** One interface of the service, for additions to messages and pages. Holds no secret. */
export interface MarketServiceView {
  interface: "alerting" | "pricing";
  calls: { made: number; most: number };
  /** No call is made until then, epoch milliseconds. Absent: calls are allowed. */
  pausedUntil?: number;
  /** The reason, in words that follow "because". */
  pausedBecause?: string;
}

/** The state of the relay and its machine, besides `StatusView`. Holds no secret. */
export interface SystemView {
  nodeVersion: string;
  configuration: {
    /** Absent: there is no file, only the environment. */
    file?: string;
    /** The first 12 digits of the file's SHA-256, as it was read at the start. */
    hash?: string;
    /** Whether the file on disk is the one in force. */
    onDisk: "same" | "differs" | "gone" | "none";
    /** Why the file on disk was refused, one line for each mistake. Absent: it was not refused. */
    refused?: string[];
  };
  /** Alerts accepted in the last minute, hour and day. */
  accepted: { minute: number; hour: number; day: number };
  /** Absent: fewer than 1,000 alerts do not show their size on disk. */
  growth?: {
    /** Estimated from the size of an alert on disk and the alerts of the last day. */
    bytesPerDay: number;
    /** Days until the disk is full at this growth. Absent: more than ten years, or the free room is unknown. */
    fullInDays?: number;
    /** Whether `retention` keeps the disk from filling up. */
    heldByRetention: boolean;
  };
  parts: { name: string; verdict: WatchVerdict; detail: string }[];
}

/** Alerts that were answered 202 and wait on this machine's disk for the database. */
export type SpoolView = NonNullable<StatusView["spool"]>;

/** Why requests were refused at the door, before anything was stored. */
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
  total: number;
  /** In the last 24 hours, in whole hours. */
  day: number;
  lastAt?: number;
}

export type StatusView = z.output<typeof status.statusView>;

/** The alerts to resend, by the log's own filters. */
export interface FailedFilter extends Omit<FailedQuery, "states" | "failedUntil"> {
  state?: FailedState;
  /** Epoch milliseconds. With the instant of a preview, later failures are not resent. Default: now. */
  failedUntil?: number;
}

export type ResendPreview = z.output<typeof destinations.resendPreviewView>;
export type FailedAtDestination = ResendPreview["destinations"][number];

export type ResendResult = z.output<typeof destinations.resendResultView>;

/** The result of probing a destination. People get no message. */
export type TryResult = z.output<typeof destinations.tryResultView>;

/** An alert of origin `test`, with a delivery for each recipient. */
export interface DestinationTest {
  /** False: this is an earlier test, still under way or less than 10 s old. No second one was sent. */
  isNew: boolean;
  alert: AlertDetail;
}

/** Two states with the same version have the same alerts. */
export interface LogState {
  version: ChangeCursor;
  counts: AlertCounts;
}

export interface PreviewOptions {
  /** The newest alerts that are looked at. Default 10,000, or 1,000 where a matcher looks into bodies. */
  mostAlerts?: number;
  /** The latest state of the store, so it is not read again. */
  asOf?: LogState;
}

export type MuteView = z.output<typeof mutes.muteView>;

/** The alerts of the last 24 hours that a mute would have held. */
export type MutePreview = z.output<typeof mutes.mutePreviewView>;

/** One place in alerts of a kind, with one type. */
export type ShapePlaceView = ShapeKindView["places"][number];

export type ShapeKindView = ShapesView["kinds"][number];

/** The kind that was seen last comes first. */
export type ShapesView = z.output<typeof watches.shapesView>;

export interface Operations {
  /** Alerts that wait on this machine for the database. Undefined: the relay has no spool. */
  spool(): SpoolView | undefined;
  /**
   * Default: to every destination that the alert had. The message is marked as a resend.
   * @throws AppError `not_found` (alert, destination), `conflict` (not routed yet, or nowhere to send it)
   */
  resend(alertId: string, destinations?: readonly string[]): Promise<DeliverySummary[]>;
  /**
   * Sends deliveries that quiet hours hold now, once, however often it is called. For named alerts it also repeats
   * deliveries that may have arrived, marked as a possible repeat. @throws AppError `not_found` (alert, destination)
   */
  releaseHeld(filter: HeldFilter): Promise<Release[]>;
  /** The deliveries that `resendFailed` with this filter would take up. */
  previewResend(filter: FailedFilter): Promise<ResendPreview>;
  /** At most one message in four while other alerts are due. A destination that refuses everything is tried first. */
  resendFailed(filter: FailedFilter): Promise<ResendResult>;
  /** Probes a destination at once. @throws AppError `not_found` */
  tryDestination(name: string): Promise<TryResult>;
  /**
   * Sends one marked message past routes, mutes, quiet hours and pauses, at the destination's pace.
   * @param severity default `info` @throws AppError `not_found`
   */
  testDestination(name: string, severity?: Severity): Promise<DestinationTest>;
  /**
   * Its deliveries wait and do not fail, also over restarts. Fallbacks and requests of people are sent as usual.
   * @param by `page`, `api` or `command` @throws AppError `not_found`, `store_unavailable`
   */
  pauseDestination(name: string, by: string): Promise<DestinationView>;
  /** A destination that is not paused stays unchanged. @throws AppError `not_found`, `store_unavailable` */
  resumeDestination(name: string): Promise<DestinationView>;
  /** How the deliveries of each destination ended, in the order of the configuration. */
  destinationStatistics(): Promise<DestinationStatistics[]>;
  routes(): Promise<RoutesView>;
  /** The times in the last eight days when no relay ran, the oldest first, to a minute. */
  downtimes(): Promise<Downtime[]>;
  /**
   * How a body would be routed now, alert by alert, at most 20. Stores and sends nothing.
   * @param source the source whose hook it would come by. Default: the account's
   * @throws AppError `too_large` (the hook would refuse it), `not_found` (source), `failed` (it cannot be read now)
   */
  tryBody(
    body: Uint8Array,
    contentType: string | undefined,
    source?: string,
  ): Promise<{ alerts: Explanation[]; total: number }>;
  /** Routes a stored alert again by its stored facts. Nothing is stored or sent. Undefined: no route was tried then. */
  routeAgain(alert: AlertDetail): RoutedAgain | undefined;
  maxBodyBytes: number;
  /** @throws AppError `store_unavailable` */
  system(): Promise<SystemView>;
  /** Requests that were refused at the door since the start. */
  doorRefusals(): DoorRefusalView[];
  destinations(): Promise<DestinationView[]>;
  /** In the configuration's order, without reading the store. */
  destinationNames(): string[];
  /** In the configuration's order, without reading the store. */
  routeNames(): string[];
  /** Active and future mutes, also those of the configuration. `includeEnded`: also past ones. */
  listMutes(includeEnded?: boolean): Promise<(Mute & Pick<MuteView, "silenced">)[]>;
  /** @throws AppError `invalid_request` for an unreadable matcher or an early end, `conflict` for a key that is over */
  addMute(input: {
    matchers: Matcher[];
    reason: string;
    startsAt?: number;
    endsAt: number;
    untilOver?: string;
    createdBy: string;
  }): Promise<Mute>;
  /** Counts with the router's matchers, for a bounded time. @throws AppError `invalid_request` */
  previewMute(matchers: Matcher[], options?: PreviewOptions): Promise<MutePreview>;
  /** @throws AppError `not_found`; `conflict` for a mute of the configuration, which has to be ended there */
  endMute(id: string): Promise<void>;
  /**
   * Restores the registered outputs of the account of `source`. Default: the account of the environment.
   * @throws AppError `conflict` (nobody watches the account, another account), `not_found` (not registered here), or
   * the service's refusal
   */
  putBackOutputs(source?: string): Promise<"put-back" | "unchanged">;
  /** The known shapes of alerts' payloads. @throws AppError `store_unavailable` */
  shapes(): Promise<ShapesView>;
  sources(): SourceView[];
  /** Requests that did not pass their source's check, newest first. */
  listRefused: RefusedLog["listRefused"];
  findRefused(id: string): Promise<RefusedDetail>;
  /** Accepts a request as if its sender had passed, once, however often it is called. @throws AppError `not_found` */
  releaseRefused(id: string): Promise<ReleasedRefused>;
  /** Undefined: no look since the start. `source` default: the environment's account. @throws `store_unavailable` */
  gaps(source?: string): Promise<GapReport | undefined>;
  /**
   * Calls the service, and may take a minute. Sends no notice. `source` default: the account of the environment.
   * @throws AppError `conflict` when this relay does not look for missing alerts, `not_found`
   */
  checkGaps(window: GapWindow, source?: string): Promise<GapReport>;
  /** Answers within a second, whatever the store does. `alerts`: whether the hook answers 202, also by a spool. */
  readiness(of?: "relay" | "alerts"): Promise<Readiness>;
  /** All relays that run on the database, this one first. */
  relays(): RunningRelay[];
  /** Takes the same few milliseconds for any log. Reads only the store. @throws AppError `store_unavailable` */
  status(): Promise<StatusView>;
  /** Never rejects. Any number of readers cost the store three short reads a second. */
  health(): Promise<HealthView>;
  watches(): WatchView[];
  silence(): SilenceView[];
  /** Undefined: no canary is sent. */
  canary(): CanaryView | undefined;
  /** Prometheus text, within a second whatever the store does. Labels contain no user text and no chat ids. */
  metricsText(): Promise<string>;
}
