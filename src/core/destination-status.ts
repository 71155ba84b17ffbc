import type { Outcome, ReasonCode } from "./delivery.ts";
import type { Destination } from "./rules.ts";

export type DestinationHealth = "ok" | "degraded" | "down" | "dead" | "paused";

/** Alerts that a working destination did not get, for one notice to people. */
export interface UndeliveredSummary {
  destination: string;
  /** Failed deliveries, without the held ones. */
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

/** A destination and an account may have the same name. */
export interface StatusKey {
  kind: "destination" | "account";
  name: string;
}

/** The result of a probe. `parked`: no call was made, since the vendor has asked to wait until then. */
export type Trial = { kind: "probed"; outcome: Outcome } | { kind: "parked"; until: number; why: string };

/** The state of a destination or account. It survives restarts. */
export interface DestinationStatus extends StatusKey {
  health: DestinationHealth;
  reason: string;
  /** Absent when all is well, and for a state that is older than these codes. */
  reasonCode?: ReasonCode;
  since: number;
  /** Failures in a row. */
  failures: number;
  openUntil?: number;
  probeAt?: number;
  /** When a dead destination got its first alert after a time without any. Probes are more frequent from then on. */
  neededAt?: number;
  lastSentAt?: number;
  /** When the last probe succeeded. The vendor's `probeProves` says what that shows. */
  lastProvenAt?: number;
  /** Failed probes in a row that no person asked for. Absent since the last success or message. */
  failedProbes?: { count: number; reason: ReasonCode; detail: string };
  /** A person has paused the destination. Its messages wait until a person resumes it. */
  paused?: { at: number; by: string };
  /** When the last pause ended. Waiting in it does not make an alert late. */
  resumedAt?: number;
  /** The last probe that a person asked for. Kept only where several relays run. */
  tried?: { at: number; trial: Trial };
  /** The new id of an upgraded group, and the configured id that it replaces. */
  moved?: { from: string; to: string };
  /** The last notice about this state. Kept after recovery, so that flapping causes no storm of notices. */
  notice?: {
    health: DestinationHealth;
    at: number;
    /** False while there was no destination to send it to. */
    sent: boolean;
    /** The destination has recovered since. */
    over: boolean;
  };
  /** Alerts that did not arrive and that no notice has named yet. `notifiedAt`: the last notice. */
  undelivered?: { pending?: UndeliveredSummary; notifiedAt?: number };
}

export interface DestinationState {
  destination: Destination;
  own: DestinationStatus;
  account?: DestinationStatus;
}

/** The recent calls under one pace key, and how long the vendor asked us to wait. */
export interface PaceRecord {
  key: string;
  sentAt: number[];
  parkedUntil: number;
  parkedWhy?: string;
}
