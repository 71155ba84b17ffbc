import { isWorse } from "../core/alert.ts";
import type { Damper, Direction, Ring, RingEvent, RingMemory, RingRule } from "../core/ring.ts";
import { writeNumber } from "../ground/numbers/format-number.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { backBy, beyondExtreme, furtherBy, reaches, writeFar, writeStep } from "./distance.ts";

const minuteMs = 60_000;
/** How long a ring counts. A key without an alert for so long begins anew. */
export const windowMs = 6 * 60 * minuteMs;
/** A key without a firing for so long no longer flaps. A summary waits as long. */
export const calmMs = 15 * minuteMs;
/** More firings than this within `calmMs` are flapping. */
export const mostFirings = 5;
/** Rings within `windowMs` of one severity or worse, without news. */
export const mostRings = 4;

/** A firing of a known key. */
export interface Firing {
  event: RingEvent;
  /** The arrival, but never before the arrival of the last alert. Epoch milliseconds. */
  at: number;
  rule: RingRule;
  /** `firedAt`, `isFlapping` and `cameBackTo` include this firing, `rings` and `held` do not. */
  memory: RingMemory;
  last: Ring;
  direction?: Direction;
}

type Rule = (firing: Firing) => string | undefined;

/** A new extreme rings when it is this much further, unless the route has `again`. */
const ownBound = { percent: 5 };
const boundWithoutThreshold = { percent: 2 };
/** It also rings when it is this many times as far from the threshold, and at least this far in percent. */
const timesAsFar = 2;
const leastFromThreshold = { percent: 1 };

/**
 * News rings past every rule and the floor: a severity above all rings in the window, or a value past all of them. The
 * first value on a side is past them, so a fall rings at once after many rises. Each rule returns the reason.
 */
export const newsRules: readonly Rule[] = [
  ({ event: { severity }, memory, at }) => {
    const recent = ringsWithin(memory, at);
    const isHighest = recent.length > 0 && recent.every((ring) => isWorse(severity, ring.severity));
    return isHighest ? `${severity} after ${recent.at(-1)?.severity}` : undefined;
  },
  (firing) => {
    const { event, rule, memory, direction } = firing;
    const { value, threshold } = event;
    if (value === undefined) return undefined;
    const found = beyondExtreme(memory.rings, value, direction);
    if (found === undefined) return hasTurned(firing) ? "the first value on this side" : undefined;
    const { extreme, beyond } = found;
    const bound = rule.again?.furtherBy ?? (threshold === undefined ? boundWithoutThreshold : ownBound);
    const isFarFromThreshold = () => {
      if (rule.again !== undefined || threshold === undefined || beyond <= 0) return false;
      const far = Math.abs(value - threshold);
      return far >= timesAsFar * Math.abs(extreme - threshold) && reaches(far, leastFromThreshold, threshold);
    };
    if (!reaches(beyond, bound, extreme) && !isFarFromThreshold()) return undefined;
    return `${writeFar(beyond, bound, extreme)} further than ${shown(extreme)}`;
  },
];

/** What rings past every rule but the floor. Each rule returns the reason. */
export const freeRules: readonly Rule[] = [
  ({ memory }) => (memory.isUnheard ? "the message before it reached nobody" : undefined),
  ({ event, last }) => (last.isQuiet && !event.isQuiet ? "quiet hours held the message before it" : undefined),
  ({ event: { severity }, last }) =>
    isWorse(severity, last.severity) ? `${severity} after ${last.severity}` : undefined,
  (firing) => {
    const { direction, last } = firing;
    return direction !== undefined && last.direction !== undefined && direction !== last.direction && hasTurned(firing)
      ? `it turned: ${direction} after ${last.direction}`
      : undefined;
  },
];

/** Without a threshold each small move of a price changes the direction, so only a large move counts. */
function hasTurned({ event: { value, threshold }, last }: Firing): boolean {
  if (threshold !== undefined || value === undefined || last.value === undefined) return true;
  return reaches(Math.abs(value - last.value), boundWithoutThreshold, last.value);
}

/** What holds a firing back. The first rule that applies gives the reason. */
export const holdRules: readonly { by: Damper; why: Rule }[] = [
  { by: "again", why: isNotFurther },
  { by: "rearm", why: isNotBack },
  { by: "cooldown", why: isTooSoon },
  { by: "flapping", why: isFlapping },
];

function isNotFurther({ event: { value }, rule: { again }, memory, last, direction }: Firing): string | undefined {
  if (again === undefined || memory.hasEnded || value === undefined || last.value === undefined) return undefined;
  const far = furtherBy(value, last.value, direction);
  if (reaches(far, again.furtherBy, last.value)) return undefined;
  const words = far > 0 ? `${writeFar(far, again.furtherBy, last.value)} further` : "no further";
  return `${words} than ${shown(last.value)}, ${writeStep(again.furtherBy)} needed`;
}

function isNotBack({ rule: { rearm }, memory: { hasEnded, cameBackTo }, last }: Firing): string | undefined {
  if (rearm === undefined || !hasEnded || last.value === undefined || cameBackTo === undefined) return undefined;
  const back = backBy(cameBackTo, last);
  if (reaches(back, rearm.backBy, last.value)) return undefined;
  const words = back > 0 ? `back by ${writeFar(back, rearm.backBy, last.value)}` : "never back";
  return `${words} from ${shown(last.value)} before it fired again, ${writeStep(rearm.backBy)} needed`;
}

function isTooSoon({ at, rule: { cooldownMs }, last }: Firing): string | undefined {
  if (cooldownMs === undefined || at - last.at >= cooldownMs) return undefined;
  return `${formatDuration(at - last.at)} after it rang, cooldown ${formatDuration(cooldownMs)}`;
}

function isFlapping({ at, rule, memory }: Firing): string | undefined {
  if (!rule.flapping || !memory.isFlapping) return undefined;
  return isManyFirings(memory.firedAt, at)
    ? `it fired ${mostFirings + 1} times within ${formatDuration(at - (memory.firedAt[0] ?? at))}`
    : `it fired often, and was not calm for ${formatDuration(calmMs)} since`;
}

/** @param firedAt the latest six firings at most */
export function isManyFirings(firedAt: readonly number[], at: number): boolean {
  return firedAt.length > mostFirings && at - (firedAt[0] ?? at) < calmMs;
}

/** The floor: holds back a key that has rung too often, whatever the other rules say. */
export const floorRule: { by: Damper; why: Rule } = {
  by: "floor",
  why({ event: { severity }, at, rule, memory }) {
    if (!rule.flapping || floorLiftsAt(memory, severity, at) === undefined) return undefined;
    const [first] = countedRings(memory, severity, at);
    const span = formatDuration(at - (first?.at ?? at));
    return `it rang ${mostRings} times within ${span}, the most within ${formatDuration(windowMs)}`;
  },
};

/** When the floor lets an alert of this severity ring again. Undefined: it does so now. */
export function floorLiftsAt(memory: RingMemory, severity: RingEvent["severity"], at: number): number | undefined {
  const oldest = countedRings(memory, severity, at).at(-mostRings);
  return oldest && oldest.at + windowMs;
}

function countedRings(memory: RingMemory, severity: RingEvent["severity"], at: number): Ring[] {
  const counts = (ring: Ring) => !ring.isNews && !ring.isQuiet && !isWorse(severity, ring.severity);
  return ringsWithin(memory, at).filter(counts);
}

export function ringsWithin({ rings }: RingMemory, at: number): Ring[] {
  return rings.filter((ring) => ring.at > at - windowMs);
}

function shown(value: number): string {
  return writeNumber(String(value));
}
