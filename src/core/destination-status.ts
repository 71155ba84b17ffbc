import type { Outcome, ReasonCode } from "./delivery.ts";
import type { Destination } from "./rules.ts";

export type DestinationHealth = "ok" | "degraded" | "down" | "dead" | "paused";

/** Alerts that one destination did not get though it works, for one notice to people. */
export interface UndeliveredSummary {
  destination: string;
  /** Without those that are only held. */
  failed: number;
  /** Deliveries that may or may not have arrived. */
  held: number;
  recipients: string[];
  titles: string[];
  /** Why the latest of them did not arrive, in plain words. */
  reason: string;
}

/** Where a destination stands on its page: an id there, and the fragment of links to it. */
export function cardIdOf(name: string): string {
  return `destination-${encodeURIComponent(name)}`;
}

/** A destination may have the name of an account. */
export interface StatusKey {
  kind: "destination" | "account";
  name: string;
}

/** What came of a probe. `parked`: the other side has asked for silence until then, and was not called. */
export type Trial = { kind: "probed"; outcome: Outcome } | { kind: "parked"; until: number; why: string };

/** What is known of one destination (or account) beyond its configuration; survives restarts. */
export interface DestinationStatus extends StatusKey {
  health: DestinationHealth;
  reason: string;
  /** The reason as a code; absent when it is well, or has been bad since before there were codes. */
  reasonCode?: ReasonCode;
  since: number;
  /** Failures in a row. */
  failures: number;
  /** The breaker is open until then. */
  openUntil?: number;
  probeAt?: number;
  /** When the first alert came to a dead one after a time without any: it is asked more often again. */
  neededAt?: number;
  lastSentAt?: number;
  /** When it last said yes to a probe. What that proves is the vendor's `probeProves`. */
  lastProvenAt?: number;
  /** Probes that nobody asked for and that came to nothing, in a row; absent since its last yes or message. */
  failedProbes?: { count: number; reason: ReasonCode; detail: string };
  /** A person has asked for nothing to be sent there until somebody says otherwise: what comes for it waits. */
  paused?: { at: number; by: string };
  /** When that was last over: what waited meanwhile is not older for it. */
  resumedAt?: number;
  /** The last time a person has had it tried, where several relays run. */
  tried?: { at: number; trial: Trial };
  /** Where a group went when it was upgraded, and the configured id that this is about. */
  moved?: { from: string; to: string };
  /** The last notice about it on another destination; kept after it is over, so that flapping is not a storm. */
  notice?: {
    health: DestinationHealth;
    at: number;
    /** False while there was no destination to send it to. */
    sent: boolean;
    /** It has recovered since. */
    over: boolean;
  };
  /** Single alerts that did not arrive: those that no notice has named yet, and when the last notice was sent. */
  undelivered?: { pending?: UndeliveredSummary; notifiedAt?: number };
}

/** A destination, how it is, and how the account is that it shares with others, if it has one. */
export interface DestinationState {
  destination: Destination;
  own: DestinationStatus;
  account?: DestinationStatus;
}

/** Times of recent calls under one pace key, and until when the other side asked us to be silent. */
export interface PaceRecord {
  key: string;
  sentAt: number[];
  parkedUntil: number;
  parkedWhy?: string;
}
