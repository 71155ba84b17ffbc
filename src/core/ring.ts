import type { AlertStatus, Severity } from "./alert.ts";

/** A distance between two values: in percent of the first, or in the unit of both. */
export type Step = { percent: number } | { absolute: number };

/** Within this time after a message that pinged, a repeat only changes that message, where the channel can. */
export const quickRepeatMs = 60_000;
/** A message older than this is out of sight: a new occurrence gets a message of its own. */
export const inSightMs = 24 * 60 * 60_000;

/** When a key rings again at a destination. See docs/adr/0025-what-rings.md. */
export interface RingRule {
  /** Rings again for a value this much further than at the last ring. Absent: the value does not matter. */
  again?: { furtherBy: Step };
  /** After its end a key rings again only if the value came back by this much. Absent: each end allows a ring. */
  rearm?: { backBy: Step };
  /** No further ring for so long after a ring. */
  cooldownMs?: number;
  /** Whether to hold back a key that fires often or comes back again and again. Default true. */
  flapping: boolean;
  /** Within this time after a ring, a repeat only changes the ring's message and is no ring. Absent: never. */
  editsForMs?: number;
}

/** What the rule looks at in an alert. */
export interface RingEvent {
  id: string;
  /** Acceptance, epoch milliseconds. */
  at: number;
  severity: Severity;
  status: AlertStatus;
  /** Absent where the sent value is no number. */
  value?: number;
  previousValue?: number;
  /** Absent where it is no number, or limits a change. */
  threshold?: number;
  /** Whether quiet hours hold the message. Default false. */
  isQuiet?: boolean;
  /** Whether a mute holds the message. The alert is then remembered and not judged. Default false. */
  isMuted?: boolean;
}

/** Which way the value moves as the alert gets worse. */
export type Direction = "up" | "down";

/** A message with a sound, or one that would have it if the app could. */
export interface Ring extends Pick<RingEvent, "id" | "at" | "severity" | "value"> {
  direction?: Direction;
  /** A rise in severity or a new extreme. The damper `floor` does not count it. Default false. */
  isNews?: boolean;
  /** Quiet hours held the message and nobody was woken. The next alert after them rings. Default false. */
  isQuiet?: boolean;
  /** How far the value had come back before this ring. Absent: the key was not over in between, or unknown. */
  backTo?: number;
}

/** Firing alerts held back since the last ring. Resolving alerts among them are held back too, and not counted. */
export interface HeldBack {
  count: number;
  /** Arrival of the first, epoch milliseconds. */
  sinceAt: number;
  /** The held alert with the furthest value, or the latest one where there are no values. */
  worst: { id: string; at: number; severity: Severity; value?: number };
  lowest?: number;
  highest?: number;
  /** Route options that would make fewer rings. Absent until the damper `floor` holds an alert back, and where none would. */
  advice?: string;
  /** `again` or `rearm` held all of them back. */
  isBound?: true;
  /** A summary has named them, and no alert was held back since. */
  isTold?: true;
  /** The damper `floor` has held an alert back since, so `advice` was worked out. */
  isAdvised?: true;
}

/** What is remembered of a key at one destination. Stored as JSON. */
export interface RingMemory {
  /** The rings of the last six hours, at least the last one, at most 32. Oldest first. */
  rings: Ring[];
  /** When the key fired: the last six times at most, oldest first. */
  firedAt: number[];
  /** The latest alert of the key. A muted alert with the same status does not change `id`. `rang`: it was not held back. */
  latest: { id: string; at: number; status: AlertStatus; rang: boolean };
  /** The status of the key that the destination knows. */
  toldStatus?: AlertStatus;
  /** Since when `toldStatus` is no longer true. Epoch milliseconds. */
  wrongSinceAt?: number;
  held?: HeldBack;
  /** The held alerts that the last message mentioned. If it reaches nobody, they count as held again. */
  tookAlong?: { id: string; held: HeldBack };
  /** Whether the key was over since the last ring. */
  hasEnded?: true;
  /** How far the value came back since the last ring. */
  cameBackTo?: number;
  /** Set when the key fires more than five times in fifteen minutes, until it is calm for fifteen. */
  isFlapping?: true;
  /** Whether the last ring reached no recipient. */
  isUnheard?: true;
  /** Recipients that the last ring missed while it reached others. They get the next firing alert even if it does not ring. */
  missedBy?: string[];
  /** The alert that went to `missedBy` only. */
  madeGoodBy?: string;
  /** When the held alerts are summed up, unless another alert comes first. */
  summaryDueAt?: number;
  summarySentAt?: number;
}

/** The rule that keeps an alert from ringing. */
export const dampers = ["again", "rearm", "cooldown", "flapping", "floor", "its_end"] as const;
export type Damper = (typeof dampers)[number];

/** What a message says about alerts of its key that did not ring. */
export interface Damped extends HeldBack {
  /** Absent on a message that rings, and on a summary. */
  by?: Damper;
  /** For people, with the figures: "1.8 % further than 1,003.2, 5 % needed". */
  why: string;
}
