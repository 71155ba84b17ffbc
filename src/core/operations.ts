import type { ChannelType, FailedState, ReasonCode } from "./delivery.ts";
import type { DestinationHealth } from "./destination-status.ts";
import type { AlertCounts, DeliverySummary, FailedCount, FailedQuery } from "./ports/alert-log.ts";
import type { DestinationCounts } from "./ports/dispatch.ts";
import type { Matcher, Mute } from "./rules.ts";

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
  nextTryAt?: number;
  lastSentAt?: number;
  /** The group was upgraded; messages go there. */
  movedTo?: string;
  definedAt: string;
  counts: DestinationCounts["counts"];
  oldestWaitingAt?: number;
  heldByQuietHours?: DestinationCounts["heldByQuietHours"];
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

export interface Readiness {
  ready: boolean;
  /** For the log and `doctor`; never on the open route. */
  reasons: string[];
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
  /** Alerts since the start that went out as they came, because reading or routing them failed twice. */
  unreadableAlerts: number;
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
}

/** What the relay itself knows of the account. It does not ask the service: `tocsin doctor` does. */
export interface AccountView {
  /** Absent: `PUBLIC_URL` is not set, so there is no address that the account could send to. */
  publicUrl?: string;
  /** `ALERTING_URL` and `ALERTING_API_KEY` are set where the relay runs. */
  serviceConfigured: boolean;
}

/** What is true now. Holds no secret. */
export interface StatusView extends LogView {
  relay: RelayView;
  account: AccountView;
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

/** What people can do to a running relay, whichever way they ask: page, API or command. */
export interface Operations {
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
   * Resends everything that failed and was not resent, after whatever else is due, and as digests when it is much. A
   * destination that refuses everything is tried first, and nothing is resent to it while it still does.
   */
  resendFailed(filter: FailedFilter): Promise<ResendResult>;
  /** Asks a destination at once whether it works. @throws AppError `not_found`. */
  tryDestination(name: string): Promise<TryResult>;
  destinations(): Promise<DestinationView[]>;
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
   * @param options `mostAlerts`: how many of the newest; default 10,000, and 1,000 where a matcher looks into bodies.
   * @throws AppError `invalid_request` when a matcher cannot be read.
   */
  previewMute(matchers: Matcher[], options?: { mostAlerts?: number }): Promise<MutePreview>;
  /** @throws AppError `not_found`; `conflict` for a mute of the configuration, which is ended there. */
  endMute(id: string): Promise<void>;
  readiness(): Promise<Readiness>;
  /**
   * Takes the same few milliseconds with a million alerts stored, and asks nobody but the store.
   * @throws AppError `store_unavailable` when that does not answer.
   */
  status(): Promise<StatusView>;
  /** Prometheus text. Labels hold no user text and no chat ids. */
  metricsText(): Promise<string>;
}
