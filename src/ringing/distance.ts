import type { Direction, Ring, RingEvent, Step } from "../core/ring.ts";
import { writeDistance, writeNumber } from "../ground/numbers/format-number.ts";

/** The direction in which the value moves as the alert gets worse: away from its threshold, else away from the previous value. */
export function directionOf({ value, previousValue, threshold }: RingEvent): Direction | undefined {
  const from = threshold ?? previousValue;
  if (value === undefined || from === undefined || value === from) return undefined;
  return value < from ? "down" : "up";
}

/** How much further a value is than another, negative when less far. Without a direction both sides are further. */
export function furtherBy(value: number, from: number, direction: Direction | undefined): number {
  if (direction === undefined) return Math.abs(value - from);
  return direction === "up" ? value - from : from - value;
}

/** How far a value came back from a ring's value. Without a direction both sides are back. */
export function backBy(value: number, { value: from = value, direction }: Ring): number {
  return direction === undefined ? Math.abs(value - from) : furtherBy(from, value, direction);
}

/** Doubles are inexact in their last digits: 0.945 must count as 5 % further than 0.9. */
const rounding = 1 + 1e-12;

/** A step in percent is of `base`. */
export function reaches(distance: number, step: Step, base: number): boolean {
  const needed = "absolute" in step ? step.absolute : (Math.abs(base) * step.percent) / 100;
  return distance > 0 && distance * rounding >= needed;
}

/** The furthest value that rang on this side, and how much further `value` is. Undefined: none rang on this side. */
export function beyondExtreme(
  rings: readonly Ring[],
  value: number,
  direction: Direction | undefined,
): { extreme: number; beyond: number } | undefined {
  const isThere = (ring: Ring) =>
    direction === undefined || ring.direction === undefined || ring.direction === direction;
  const values = rings.flatMap((ring) => (ring.value !== undefined && isThere(ring) ? [ring.value] : []));
  if (values.length === 0) return undefined;
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  const side = direction ?? (value < lowest ? "down" : "up");
  const extreme = side === "down" ? lowest : highest;
  return { extreme, beyond: furtherBy(value, extreme, side) };
}

/** `5 %`, `0.5` */
export function writeStep(step: Step): string {
  return "absolute" in step ? writeNumber(String(step.absolute)) : `${step.percent} %`;
}

/** `1.8 %` of `base`, or in the step's unit. A distance just below the step is not rounded up to it. */
export function writeFar(distance: number, step: Step, base: number): string {
  const percent = "percent" in step ? writeDistance(String(base), String(base + distance)) : undefined;
  const isLess = "percent" in step && distance > 0 && !reaches(distance, step, base);
  if (isLess && Number.parseFloat(percent ?? "") >= step.percent) return `not quite ${step.percent} %`;
  return percent ?? writeNumber(String(distance));
}
