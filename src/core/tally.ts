import type { MappableFact } from "./mapping.ts";

export type Change = "newlySent" | "noLongerSent";

export interface DestinationTally extends Record<Change, number> {
  destination: string;
  /** Alerts that went there or were held for later. An end that an earlier message showed counts too. */
  before: number;
  /** Alerts that would go there now. */
  after: number;
}

interface Example {
  id: string;
  /** ISO 8601. */
  receivedAt: string;
  title: string;
  destination: string;
  /** As the tried configuration gives it. */
  reason: string;
}

interface Counts {
  before: number;
  after: number;
}

/** Where stored alerts went, and where they would go by the tried configuration. */
export interface Tally extends Record<Change, Example[]> {
  alerts: number;
  /** Alerts with other destinations than before. */
  changed: number;
  /** Alerts that no route wanted. */
  unmatched: Counts;
  /** Alerts that a route dropped and no other sent. */
  dropped: Counts;
  /** Alerts that a mute held back. */
  muted: Counts;
  destinations: DestinationTally[];
  ringing: RingTally;
  /** Rules that took no alert: `route pools`. */
  idle: string[];
  /** In how many alerts the mapping finds each of its facts. Absent without a mapping. */
  mapping?: { fact: MappableFact; found: number }[];
  /** Where older alerts were left out: the oldest that was compared. ISO 8601. */
  comparedFrom?: string;
}

export interface RingCount {
  alerts: number;
  /** Alerts that go out together ring once. */
  rings: number;
  heldBack: number;
  /** Alerts that go out together, and their messages. Absent: each goes out alone. */
  joined?: number;
  messages?: number;
  /** The hour with the most rings, ISO 8601. Absent where nothing rang. */
  loudest?: { from: string; rings: number };
  /** The held alert that was furthest from the ring before it: `−2.9 %`. Absent where none was further. */
  worst?: { id: string; receivedAt: string; change: string };
}

/** Rings at destinations that people read. */
export interface RingTally {
  places: ({ destination: string; route: string } & RingCount)[];
  /** Options for each route with which the same alerts ring less. */
  proposals: ({ route: string; options: string; insteadOf: number } & RingCount)[];
  /** Where older alerts were left out: the oldest that was judged. ISO 8601. */
  judgedFrom?: string;
}
