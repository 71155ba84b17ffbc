import { writeChange } from "../ground/numbers/format-number.ts";
import { dayMs, hourMs, minuteMs } from "../ground/time/spans.ts";
import { type ChartPoint, isKnown, type KnownPoint } from "./series.ts";

export interface ChangeWindow {
  label: string;
  ms: number;
  /** How far before the window's beginning the base record may be. `afterMs`: how far after it. */
  beforeMs: number;
  afterMs: number;
}

/** How much of a week may be missing at its beginning, as the service keeps no more. */
export const weekEndMs = 2 * hourMs;

export const hourWindow: ChangeWindow = { label: "1 h", ms: hourMs, beforeMs: 10 * minuteMs, afterMs: 2 * minuteMs };
export const dayWindow: ChangeWindow = { label: "24 h", ms: dayMs, beforeMs: hourMs, afterMs: 15 * minuteMs };
export const weekWindow: ChangeWindow = { label: "7 d", ms: 7 * dayMs, beforeMs: 6 * hourMs, afterMs: weekEndMs };

/**
 * `+1.2 %` or `±0 %`. Undefined without a near record, or for a base of zero or less. Expects points by time. The
 * picture and the line next to it share this rule.
 */
export function changeOver(points: readonly ChartPoint[], { ms, beforeMs, afterMs }: ChangeWindow): string | undefined {
  const newest = points.findLast(isKnown);
  if (newest === undefined) return undefined;
  const at = newest.at - ms;
  const index = indexAfter(points, at);
  const base = knownFrom(points, index - 1, -1, at - beforeMs) ?? knownFrom(points, index, 1, at + afterMs);
  if (base === undefined || base.value <= 0) return undefined;
  return shareBetween(base, newest);
}

/** Finds the nearest point with a value, in steps of `step`, no further away than `end`. */
function knownFrom(points: readonly ChartPoint[], index: number, step: 1 | -1, end: number): KnownPoint | undefined {
  for (let at = index; ; at += step) {
    const point = points[at];
    if (point === undefined || (point.at - end) * step > 0) return undefined;
    if (isKnown(point)) return point;
  }
}

function shareBetween(base: KnownPoint, newest: KnownPoint): string | undefined {
  const change = writeChange(String(base.value), String(newest.value));
  if (change !== undefined) return change;
  // A change beyond all reason is undefined. A change that rounds to nothing is zero.
  return Math.abs(newest.value - base.value) < base.value * 0.001 ? "±0 %" : undefined;
}

export function indexAfter(points: readonly ChartPoint[], at: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((points[middle]?.at ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
