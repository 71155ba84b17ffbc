import type { MappableFact } from "./mapping.ts";

export type Change = "newlySent" | "noLongerSent";

export interface DestinationTally extends Record<Change, number> {
  destination: string;
  /** Alerts that went there, were held for later, or said an end that was told there already. */
  before: number;
  /** Alerts that would have gone there by the configuration that is tried. */
  after: number;
}

interface Example {
  id: string;
  /** ISO 8601. */
  receivedAt: string;
  title: string;
  destination: string;
  /** Why, by the configuration that is tried. */
  reason: string;
}

interface Counts {
  before: number;
  after: number;
}

/** Where stored alerts went, and where they would have gone by another configuration. */
export interface Tally extends Record<Change, Example[]> {
  alerts: number;
  /** Alerts whose destinations differ. */
  changed: number;
  /** Alerts that no destination got because no route wanted them. */
  unmatched: Counts;
  /** Alerts that a route dropped on purpose, and no other sent anywhere. */
  dropped: Counts;
  /** Alerts that were kept back at a destination by a mute. */
  muted: Counts;
  destinations: DestinationTally[];
  ringing: RingTally;
  /** Rules of the configuration that is tried which took none of them, in words: `route pools`. */
  idle: string[];
  /** In how many alerts the mapping finds each fact that it names. Absent without a mapping. */
  mapping?: { fact: MappableFact; found: number }[];
  /** ISO 8601; of the oldest alert that was compared, where older ones were left out. */
  comparedFrom?: string;
}

export interface RingCount {
  /** Alerts that fire. */
  alerts: number;
  /** Messages that ring. What goes out together is one. */
  rings: number;
  heldBack: number;
  /** Alerts that go out together, and in how many messages. Absent: each goes out alone. */
  joined?: number;
  messages?: number;
  /** The hour with the most rings, from its beginning: ISO 8601. Absent where nothing rang. */
  loudest?: { from: string; rings: number };
  /** The held one that was furthest beyond what rang before it: `−2.9 %`. Absent where none was further. */
  worst?: { id: string; receivedAt: string; change: string };
}

/** What would ring, where people read. */
export interface RingTally {
  places: ({ destination: string; route: string } & RingCount)[];
  /** Options that would have made fewer rings of the same alerts, by route. */
  proposals: ({ route: string; options: string; insteadOf: number } & RingCount)[];
  /** ISO 8601; of the oldest alert that was judged, where there were too many. */
  judgedFrom?: string;
}
