import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { groupDigits, multiples, writeNumber, writeShortNumber } from "../ground/numbers/format-number.ts";
import { createTimeFormat } from "../ground/time/time-format.ts";
import { oncePerZone } from "../ground/time/zoned-time.ts";
import { type KnownPoint, thinOut } from "./series.ts";
import { pixel } from "./svg.ts";

export type Scale = (value: number) => number;

/** A single value stands in the middle. */
export function createScale(low: number, high: number, from: number, to: number): Scale {
  return scaleLinear().domain([low, high]).range([from, to]);
}

/** A limit further away than this many times the range of the values would leave nothing to see of them. */
const farThreshold = 2;

/**
 * What a picture of these values covers: the limit too, unless it is so far away that the line would be flat. `threshold` says where
 * the limit stands: within the picture, or above or below all of it.
 */
export function rangeWith(low: number, high: number, threshold?: number) {
  if (threshold === undefined) return { low, high };
  const distance = Math.max(low - threshold, threshold - high, 0);
  if (high > low && distance > farThreshold * (high - low)) {
    return { low, high, threshold: threshold > high ? "above" : "below" } as const;
  }
  return { low: Math.min(low, threshold), high: Math.max(high, threshold), threshold: "within" as const };
}

/** The `d` of a path along an unbroken stretch; no longer than a picture of this width can show. */
export function linePath(stretch: readonly KnownPoint[], x: Scale, y: Scale, width: number): string {
  const along = line<KnownPoint>()
    .x(({ at }) => pixel(x(at)))
    .y(({ value }) => pixel(y(value)));
  return along(thinOut(stretch, Math.ceil(width))) ?? "";
}

/**
 * For a label: at most six significant digits, from a million on four with a word, beyond all words with an exponent; more
 * where it would read as one of `besides`, which are other numbers of the same picture.
 */
export function writeValue(value: number, unit?: string, besides: readonly (number | undefined)[] = []): string {
  const write = Math.abs(value) < 1e6 ? writeNumber : writeShortNumber;
  const others = besides.filter((other) => other !== undefined && other !== value).map(String);
  const digits = write(String(value), { besides: others }).replace("e+", "e").replace(/^-/, "−");
  if (unit === undefined) return digits;
  return unit === "%" ? `${digits} %` : `${digits} ${unit}`;
}

/** `timeZone`: an IANA name; one that the platform does not know is UTC. */
export const timeWords = oncePerZone((timeZone) => {
  const format = createTimeFormat(timeZone);
  return {
    /** `21 Nov 2026, 14:02:05 UTC` */
    full: format.full,
    /** `CET`: what the zone is called at this time of the year. */
    zoneAt: (at: number) => (timeZone === "UTC" ? "UTC" : format.clock(at).slice(6)),
  };
});

export interface Tick {
  value: number;
  label: string;
}

/** A smaller share of the value than this is noise of floating point, and no step between round values could show it. */
const leastShare = 1e-9;

/** Doubles beyond these sizes cannot be computed with safely; `isDrawable` keeps such values out. */
const leastSize = 1e-100;
const largestSize = 1e100;

/** Whether a chart can place it: anything else is a hole. */
export function isDrawable(value: number | null | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value) && Math.abs(value) <= largestSize;
}

/** What is too small to be computed with counts as nothing. */
export function roundToZero(value: number): number {
  return Math.abs(value) < leastSize ? 0 : value;
}

/**
 * Round values that cover `low` to `high`, about `count` of them, labelled with as many digits as keep neighbours
 * apart: `1.20 M`, `1.25 M`; `0.9998`, `1.0000`; `2.0e-18`, `2.5e-18`. At least two.
 */
export function valueTicks(low: number, high: number, count: number): Tick[] {
  const [from, to] = widen(low, high);
  const wanted = Math.max(2, count);
  const values = scaleLinear().domain([from, to]).nice(wanted).ticks(wanted);
  const step = (values[1] ?? 1) - (values[0] ?? 0);
  const largest = Math.max(...values.map(Math.abs));
  return values.map((value) => ({ value, label: labelOf(value, step, largest) }));
}

/** A flat line gets some room above and below. */
function widen(low: number, high: number): [number, number] {
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size >= leastSize && high - low > size * leastShare) return [low, high];
  const room = size < leastSize ? 1 : size * 0.01;
  return [low - room, high + room];
}

function labelOf(value: number, step: number, largest: number): string {
  const { unit, suffix } = unitOf(largest);
  const decimals = decimalsOf(step / unit);
  const text = (value / unit).toFixed(decimals);
  if (value === 0 && suffix.startsWith("e")) return "0";
  // Rounding may leave "-0.00".
  const digits = Number(text) === 0 ? (0).toFixed(decimals) : text;
  return `${groupDigits(digits).replace("-", "−")}${suffix}`;
}

/** Numbers beyond the words share a split-off power of ten, so that neighbours still differ in their digits. */
function unitOf(largest: number): { unit: number; suffix: string } {
  if (largest < 1e15 && largest >= 1e-6) {
    const multiple = multiples.find(({ power }) => largest >= 10 ** power);
    return multiple === undefined
      ? { unit: 1, suffix: "" }
      : { unit: 10 ** multiple.power, suffix: ` ${multiple.word}` };
  }
  const exponent = Math.floor(Math.log10(largest) + 1e-12);
  return { unit: Number(`1e${exponent}`), suffix: `e${exponent}` };
}

/** Decimals that a step of 1, 2 or 5 times a power of ten needs. */
function decimalsOf(step: number): number {
  for (let decimals = 0; decimals < 12; decimals += 1) {
    const scaled = step * 10 ** decimals;
    if (scaled > 0.5 && Math.abs(scaled - Math.round(scaled)) < 1e-3 * scaled) return decimals;
  }
  return 12;
}
