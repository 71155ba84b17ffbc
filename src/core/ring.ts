import type { AlertStatus, Severity } from "./alert.ts";

/** A distance between two values: in percent of the first, or in the unit that both have. */
export type Step = { percent: number } | { absolute: number };

/** A repeat this soon after a message that pinged only changes that message, where the channel can. */
export const quickRepeatMs = 60_000;
/** A message older than this is out of sight; a new occurrence starts with a message of its own. */
export const inSightMs = 24 * 60 * 60_000;

/** When a key that rang before rings again at a destination. See docs/adr/0025-what-rings.md. */
export interface RingRule {
  /** Rings again for a value that is so much further than the last one that rang. Absent: the value decides nothing. */
  again?: { furtherBy: Step };
  /** After its end a key rings again only when the value came back by so much in between. Absent: each end re-arms it. */
  rearm?: { backBy: Step };
  /** Does not ring again within this time after a ring, milliseconds. */
  cooldownMs?: number;
  /** Whether a key that fires often, or comes back again and again, is held back. Default true. */
  flapping: boolean;
  /** A repeat within this time after a ring only changes its message, and is no ring. Absent: never. Milliseconds. */
  editsForMs?: number;
}

/** An alert of a key at one destination, as the rule sees it. */
export interface RingEvent {
  id: string;
  /** Epoch milliseconds at which it was accepted. */
  at: number;
  severity: Severity;
  status: AlertStatus;
  /** Absent where it is no number. */
  value?: number;
  previousValue?: number;
  /** Absent where it is no number, or one of a change. */
  threshold?: number;
  /** Quiet hours hold its message. Default false. */
  isQuiet?: boolean;
  /** A mute holds its message: it is remembered, and not judged. Default false. */
  isMuted?: boolean;
}

/** Where the value moves as the alert gets worse. */
export type Direction = "up" | "down";

/** A message that made a sound, or would have where the app gives one. */
export interface Ring extends Pick<RingEvent, "id" | "at" | "severity" | "value"> {
  direction?: Direction;
  /** The floor does not count it: a rise in severity or a new extreme. Default false. */
  isNews?: boolean;
  /** Quiet hours held its message: nobody was woken, so what comes behind them rings. Default false. */
  isQuiet?: boolean;
  /** How far the value had come back before it. Absent: there was no end since the ring before it, or it is not known. */
  backTo?: number;
}

/** What was held back since the last ring: alerts that fire. Their ends are held back with them, and not counted. */
export interface HeldBack {
  count: number;
  /** When the first of them came, epoch milliseconds. */
  sinceAt: number;
  /** The one with the furthest value; the latest where there are no values. */
  worst: { id: string; at: number; severity: Severity; value?: number };
  lowest?: number;
  highest?: number;
  /** What would mend the rule. Absent until the floor holds an alert back, and where no option would. */
  advice?: string;
  /** `again` or `rearm` held all of it back: nothing went further than was agreed. */
  isBound?: true;
  /** A summary told it, and none was held back since. */
  isTold?: true;
  /** The floor has held an alert back since, so `advice` was worked out. */
  isAdvised?: true;
}

/** What is known of a key at one destination. It is kept as JSON. */
export interface RingMemory {
  /** The rings of the last six hours and the last one, oldest first; at most 32. */
  rings: Ring[];
  /** When it fired, oldest first; at most the latest six. */
  firedAt: number[];
  /** The alert of the key that came last; a muted one that says the same leaves `id`. `rang`: it was not held back. */
  latest: { id: string; at: number; status: AlertStatus; rang: boolean };
  /** What the destination was last told of the key: that it fires, or that it is over. */
  toldStatus?: AlertStatus;
  /** Since when `toldStatus` is wrong. Epoch milliseconds. */
  wrongSinceAt?: number;
  held?: HeldBack;
  /** What the last message that took held ones along said of them; they are held again where it reaches nobody. */
  tookAlong?: { id: string; held: HeldBack };
  /** An end came since the last ring. */
  hasEnded?: true;
  /** How far the value came back since the last ring. */
  cameBackTo?: number;
  /** It fired more than five times within fifteen minutes, and was not calm for fifteen minutes since. */
  isFlapping?: true;
  /** The last ring reached no recipient. */
  isUnheard?: true;
  /** Recipients that the last ring did not reach, though it reached others: what fires next goes to them, also where it does not ring. */
  missedBy?: string[];
  /** The alert that went to such recipients alone. */
  madeGoodBy?: string;
  /** When the summary of what was held back is sent, unless another alert comes before. */
  summaryDueAt?: number;
  /** When a summary was last sent. */
  summarySentAt?: number;
}

/** Why an alert does not ring: the name of the rule that holds it back. */
export const dampers = ["again", "rearm", "cooldown", "flapping", "floor", "its_end"] as const;
export type Damper = (typeof dampers)[number];

/** What a message says of the alerts of its key that did not ring. */
export interface Damped extends HeldBack {
  /** Absent on a message that rings, or that says at the end of the wait what was held back. */
  by?: Damper;
  /** For people, with the figures: "1.8 % further than 1,003.2, 5 % needed". */
  why: string;
}
