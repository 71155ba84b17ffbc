import type { ChannelType } from "./delivery.ts";
import type { Matcher, Mute } from "./rules.ts";
import type { DeliverySummary, DestinationCounts, DestinationHealth } from "./store.ts";

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

/** What people can do to a running relay, whichever way they ask: page, API or command. */
export interface Operations {
  /**
   * Sends an alert once more, marked as a resend: to every destination that it had, or to the one named.
   * @throws AppError `not_found` (alert, destination), `conflict` (not routed yet, or nowhere to send it).
   */
  resend(alertId: string, destination?: string): Promise<DeliverySummary[]>;
  /**
   * Sends now what quiet hours hold; once, however often it is asked. Of alerts that are named also what is held since
   * nobody knows whether it arrived: that is repeated, and marked as a possible repeat. Without destinations that held nothing.
   * @throws AppError `not_found` (alert, destination).
   */
  releaseHeld(filter: HeldFilter): Promise<Release[]>;
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
  /** @throws AppError `not_found`; `conflict` for a mute of the configuration, which is ended there. */
  endMute(id: string): Promise<void>;
  readiness(): Promise<Readiness>;
  /** Prometheus text. Labels hold no user text and no chat ids. */
  metricsText(): Promise<string>;
}
