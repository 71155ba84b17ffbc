import type { ReasonCode } from "./delivery.ts";
import type { Destination } from "./rules.ts";

export type DestinationHealth = "ok" | "degraded" | "down" | "dead" | "paused";

/** What people are to be told of the alerts that one destination did not get though it works. */
export interface UndeliveredTale {
  destination: string;
  /** Without those that are only held. */
  failed: number;
  /** Those that may or may not have arrived. */
  held: number;
  recipients: string[];
  titles: string[];
  /** Of the latest, in plain words. */
  reason: string;
}

/** What is known of one destination (or account) beyond its configuration; survives restarts. */
export interface DestinationStatus {
  name: string;
  health: DestinationHealth;
  reason: string;
  /** The same as a code; absent when it is well, or has been so since before there was one. */
  reasonCode?: ReasonCode;
  since: number;
  /** Failures in a row. */
  failures: number;
  /** The breaker is open until then. */
  openUntil?: number;
  probeAt?: number;
  lastSentAt?: number;
  /** Where a group went when it was upgraded, and the configured id that this is about. */
  moved?: { from: string; to: string };
  /** What people were last told of it on another destination; kept after it is over, so that flapping is not a storm. */
  announced?: {
    health: DestinationHealth;
    at: number;
    /** False while there was no destination that could be told. */
    told: boolean;
    /** It has recovered since. */
    over: boolean;
  };
  /** Of single alerts that did not arrive: what nobody was told of yet, and when people were last told. */
  undelivered?: { tale?: UndeliveredTale; toldAt?: number };
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
