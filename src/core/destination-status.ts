import type { Outcome, ReasonCode } from "./delivery.ts";
import type { Destination } from "./rules.ts";

export type DestinationHealth = "ok" | "degraded" | "down" | "dead" | "paused";

/** Alerts that one destination did not get although it works, for one notice to people. */
export interface UndeliveredSummary {
  destination: string;
  /** Deliveries that failed, without those that are only held. */
  failed: number;
  /** Deliveries that may or may not have arrived. */
  held: number;
  recipients: string[];
  titles: string[];
  /** Why the latest of them did not arrive, in plain words. */
  reason: string;
}

/** The id of a destination's part of the page, for links to it. */
export function cardIdOf(name: string): string {
  return `destination-${encodeURIComponent(name)}`;
}

/** The kind is needed because a destination and an account may have the same name. */
export interface StatusKey {
  kind: "destination" | "account";
  name: string;
}

/** The result of a probe. `parked`: the other side was not called, since it has asked to wait until then. */
export type Trial = { kind: "probed"; outcome: Outcome } | { kind: "parked"; until: number; why: string };

/** The state of one destination (or account) beyond its configuration. It survives restarts. */
export interface DestinationStatus extends StatusKey {
  health: DestinationHealth;
  reason: string;
  /** The reason as a code. Absent when all is well, or for a state older than the codes. */
  reasonCode?: ReasonCode;
  since: number;
  /** Failures in a row. */
  failures: number;
  /** The breaker is open until this time. */
  openUntil?: number;
  probeAt?: number;
  /** When a dead destination got its first alert after a time without any. It is probed more often from then on. */
  neededAt?: number;
  lastSentAt?: number;
  /** When the last probe succeeded. `probeProves` of the vendor says what a success proves. */
  lastProvenAt?: number;
  /** Failed probes in a row that nobody asked for. Absent since the last success or message. */
  failedProbes?: { count: number; reason: ReasonCode; detail: string };
  /** A person has paused the destination. Its messages wait until somebody resumes it. */
  paused?: { at: number; by: string };
  /** When the last pause ended. Alerts that waited in it do not count as older for it. */
  resumedAt?: number;
  /** The last probe that a person asked for, where several relays run. */
  tried?: { at: number; trial: Trial };
  /** The new id of a group that was upgraded, and the configured id that it replaces. */
  moved?: { from: string; to: string };
  /** The last notice about the state on another destination. It is kept after recovery, so flapping does not cause a storm. */
  notice?: {
    health: DestinationHealth;
    at: number;
    /** False while there was no destination to send it to. */
    sent: boolean;
    /** It has recovered since. */
    over: boolean;
  };
  /** Alerts that did not arrive and that no notice has named yet, and when the last notice was sent. */
  undelivered?: { pending?: UndeliveredSummary; notifiedAt?: number };
}

/** A destination, its state, and the state of the account that it shares with others, if it has one. */
export interface DestinationState {
  destination: Destination;
  own: DestinationStatus;
  account?: DestinationStatus;
}

/** Times of recent calls under one pace key, and until when the other side asked us to wait. */
export interface PaceRecord {
  key: string;
  sentAt: number[];
  parkedUntil: number;
  parkedWhy?: string;
}
