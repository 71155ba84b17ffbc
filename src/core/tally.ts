import type { MappableFact } from "./mapping.ts";

export type Change = "newlySent" | "noLongerSent";

export interface DestinationTally extends Record<Change, number> {
  destination: string;
  /** Alerts that went there, were held for later, or whose end an earlier message there already showed. */
  before: number;
  /** Alerts that would go there by the tried configuration. */
  after: number;
}

interface Example {
  id: string;
  /** ISO 8601. */
  receivedAt: string;
  title: string;
  destination: string;
  /** The reason by the tried configuration. */
  reason: string;
}

interface Counts {
  before: number;
  after: number;
}

/** Where stored alerts went, and where they would go by another configuration. */
export interface Tally extends Record<Change, Example[]> {
  alerts: number;
  /** Alerts whose destinations differ. */
  changed: number;
  /** Alerts that no destination got because no route wanted them. */
  unmatched: Counts;
  /** Alerts that a route dropped on purpose, and no other sent anywhere. */
  dropped: Counts;
  /** Alerts that a mute kept back at a destination. */
  muted: Counts;
  destinations: DestinationTally[];
  ringing: RingTally;
  /** Rules of the tried configuration that took no alert, in words: `route pools`. */
  idle: string[];
  /** In how many alerts the mapping finds each fact that it names. Absent without a mapping. */
  mapping?: { fact: MappableFact; found: number }[];
  /** When the oldest compared alert came, where older ones were left out. ISO 8601. */
  comparedFrom?: string;
}

export interface RingCount {
  /** Alerts that fire. */
  alerts: number;
  /** Messages that ring. Alerts that go out together count once. */
  rings: number;
  heldBack: number;
  /** Alerts that go out together, and the number of their messages. Absent: each goes out alone. */
  joined?: number;
  messages?: number;
  /** The beginning of the hour with the most rings, ISO 8601. Absent where nothing rang. */
  loudest?: { from: string; rings: number };
  /** The held alert that was furthest beyond the ring before it: `−2.9 %`. Absent where none was further. */
  worst?: { id: string; receivedAt: string; change: string };
}

/** What would ring, where people read. */
export interface RingTally {
  places: ({ destination: string; route: string } & RingCount)[];
  /** Options that would make fewer rings of the same alerts, by route. */
  proposals: ({ route: string; options: string; insteadOf: number } & RingCount)[];
  /** When the oldest judged alert came, where there were too many. ISO 8601. */
  judgedFrom?: string;
}
