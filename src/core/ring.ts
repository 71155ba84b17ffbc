import type { AlertStatus, Severity } from "./alert.ts";

/** A distance between two values: in percent of the first, or in the unit that both have. */
export type Step = { percent: number } | { absolute: number };

/** A repeat within this time after a message that pinged only changes that message, where the channel can. */
export const quickRepeatMs = 60_000;
/** An older message is out of sight. A new occurrence then starts with a message of its own. */
export const inSightMs = 24 * 60 * 60_000;

/** When a key rings again at a destination. See docs/adr/0025-what-rings.md. */
export interface RingRule {
  /** Rings again for a value that is further than the last ring's by this much. Absent: the value does not matter. */
  again?: { furtherBy: Step };
  /** After its end a key rings again only when the value came back by this much in between. Absent: each end re-arms it. */
  rearm?: { backBy: Step };
  /** No further ring within this time after a ring, milliseconds. */
  cooldownMs?: number;
  /** Whether a key is held back that fires often, or returns repeatedly. Default true. */
  flapping: boolean;
  /** A repeat within this time after a ring only changes its message, and is no ring. Absent: never. Milliseconds. */
  editsForMs?: number;
}

/** An alert of a key at one destination, for the rule. */
export interface RingEvent {
  id: string;
  /** When the alert was accepted, epoch milliseconds. */
  at: number;
  severity: Severity;
  status: AlertStatus;
  /** Absent where the value is no number. */
  value?: number;
  previousValue?: number;
  /** Absent where the threshold is no number, or limits a change. */
  threshold?: number;
  /** Whether quiet hours hold the message. Default false. */
  isQuiet?: boolean;
  /** Whether a mute holds the message. Then the alert is remembered and not judged. Default false. */
  isMuted?: boolean;
}

/** The direction in which the value moves as the alert gets worse. */
export type Direction = "up" | "down";

/** A message with a sound, or one that should have a sound where the app can give none. */
export interface Ring extends Pick<RingEvent, "id" | "at" | "severity" | "value"> {
  direction?: Direction;
  /** A rise in severity or a new extreme, which the floor does not count. Default false. */
  isNews?: boolean;
  /** Quiet hours held the message, so nobody was woken, and the next alert after them rings. Default false. */
  isQuiet?: boolean;
  /** How far the value had come back before this ring. Absent: no end since the ring before it, or unknown. */
  backTo?: number;
}

/** Firing alerts that were held back since the last ring. Their ends are held back with them, and not counted. */
export interface HeldBack {
  count: number;
  /** When the first held alert came, epoch milliseconds. */
  sinceAt: number;
  /** The held alert with the furthest value. Without values: the latest. */
  worst: { id: string; at: number; severity: Severity; value?: number };
  lowest?: number;
  highest?: number;
  /** Options that would mend the rule. Absent until the floor holds an alert back, and where no option would help. */
  advice?: string;
  /** `again` or `rearm` held all of them back: none went further than agreed. */
  isBound?: true;
  /** A summary has said so, and no alert was held back since. */
  isTold?: true;
  /** The floor has held an alert back since, so `advice` was worked out. */
  isAdvised?: true;
}

/** The memory of a key at one destination. Stored as JSON. */
export interface RingMemory {
  /** The rings of the last six hours and the last one, oldest first, at most 32. */
  rings: Ring[];
  /** The latest times at which the key fired, oldest first, at most six. */
  firedAt: number[];
  /** The latest alert of the key. A muted alert with the same status does not change `id`. `rang`: it was not held back. */
  latest: { id: string; at: number; status: AlertStatus; rang: boolean };
  /** The last status of the key that the destination was shown. */
  toldStatus?: AlertStatus;
  /** Since when `toldStatus` is wrong. Epoch milliseconds. */
  wrongSinceAt?: number;
  held?: HeldBack;
  /** The held alerts that the last message mentioned. They are held again if that message reaches nobody. */
  tookAlong?: { id: string; held: HeldBack };
  /** Whether an end came since the last ring. */
  hasEnded?: true;
  /** How far the value came back since the last ring. */
  cameBackTo?: number;
  /** Whether the key fired more than five times within fifteen minutes, and has not been calm for fifteen minutes since. */
  isFlapping?: true;
  /** Whether the last ring reached no recipient. */
  isUnheard?: true;
  /**
   * Recipients that the last ring missed, though it reached others. The next firing alert goes to them, even if it does not
   * ring.
   */
  missedBy?: string[];
  /** The alert that went only to such recipients. */
  madeGoodBy?: string;
  /** When the summary of the held alerts is sent, unless another alert comes first. */
  summaryDueAt?: number;
  /** When a summary was last sent. */
  summarySentAt?: number;
}

/** The rule that keeps an alert from ringing. */
export const dampers = ["again", "rearm", "cooldown", "flapping", "floor", "its_end"] as const;
export type Damper = (typeof dampers)[number];

/** What a message says about the alerts of its key that did not ring. */
export interface Damped extends HeldBack {
  /** Absent on a message that rings, and on the summary at the end of the wait. */
  by?: Damper;
  /** For people, with the figures: "1.8 % further than 1,003.2, 5 % needed". */
  why: string;
}
