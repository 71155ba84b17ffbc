import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { groupDigits, multiples, writeNumber, writeShortNumber } from "../ground/numbers/format-number.ts";
import { createTimeFormat } from "../ground/time/time-format.ts";
import { oncePerZone } from "../ground/time/zoned-time.ts";
import { type KnownPoint, thinOut } from "./series.ts";
import { pixel } from "./svg.ts";

export type Scale = (value: number) => number;

/** A scale of a single value places it in the middle. */
export function createScale(low: number, high: number, from: number, to: number): Scale {
  return scaleLinear().domain([low, high]).range([from, to]);
}

/** A limit that is further away than this many times the values' range would flatten their line. */
const farThreshold = 2;

/** The range that also holds the threshold, unless that is too far away. Also says where it is in the picture. */
export function rangeWith(low: number, high: number, threshold?: number) {
  if (threshold === undefined) return { low, high };
  const distance = Math.max(low - threshold, threshold - high, 0);
  if (high > low && distance > farThreshold * (high - low)) {
    return { low, high, threshold: threshold > high ? "above" : "below" } as const;
  }
  return { low: Math.min(low, threshold), high: Math.max(high, threshold), threshold: "within" as const };
}

/** No more points than a picture of this width can show. */
export function linePath(stretch: readonly KnownPoint[], x: Scale, y: Scale, width: number): string {
  const along = line<KnownPoint>()
    .x(({ at }) => pixel(x(at)))
    .y(({ value }) => pixel(y(value)));
  return along(thinOut(stretch, Math.ceil(width))) ?? "";
}

/** At most six significant digits, or more where the value would read as one of the picture's others, `besides`. */
export function writeValue(value: number, unit?: string, besides: readonly (number | undefined)[] = []): string {
  const write = Math.abs(value) < 1e6 ? writeNumber : writeShortNumber;
  const others = besides.filter((other) => other !== undefined && other !== value).map(String);
  const digits = write(String(value), { besides: others }).replace("e+", "e").replace(/^-/, "−");
  if (unit === undefined) return digits;
  return unit === "%" ? `${digits} %` : `${digits} ${unit}`;
}

/** `timeZone`: an IANA name. A zone that the platform does not know is UTC. */
export const timeWords = oncePerZone((timeZone) => {
  const format = createTimeFormat(timeZone);
  return {
    /** `21 Nov 2026, 14:02:05 UTC` */
    full: format.full,
    /** The zone's name at this time of the year: `CET`. */
    zoneAt: (at: number) => (timeZone === "UTC" ? "UTC" : format.clock(at).slice(6)),
  };
});

export interface Tick {
  value: number;
  label: string;
}

/** A smaller share of the value is noise of floating point. No step between round values could show it. */
const leastShare = 1e-9;

/** Computing with doubles beyond these sizes is unsafe. `isDrawable` keeps such values out. */
const leastSize = 1e-100;
const largestSize = 1e100;

/** Other values are holes. */
export function isDrawable(value: number | null | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value) && Math.abs(value) <= largestSize;
}

export function roundToZero(value: number): number {
  return Math.abs(value) < leastSize ? 0 : value;
}

/** At least two. Labels have the digits that neighbours need to differ: `1.20 M`, `1.25 M`; `0.9998`, `1.0000`. */
export function valueTicks(low: number, high: number, count: number): Tick[] {
  const [from, to] = widen(low, high);
  const wanted = Math.max(2, count);
  const values = scaleLinear().domain([from, to]).nice(wanted).ticks(wanted);
  const step = (values[1] ?? 1) - (values[0] ?? 0);
  const largest = Math.max(...values.map(Math.abs));
  return values.map((value) => ({ value, label: labelOf(value, step, largest) }));
}

/** A flat line gets room above and below. */
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
  // Rounding may result in "-0.00".
  const digits = Number(text) === 0 ? (0).toFixed(decimals) : text;
  return `${groupDigits(digits).replace("-", "−")}${suffix}`;
}

/** Numbers beyond all words share a power of ten, so neighbours still differ in their digits. */
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

/** The decimals for a step of 1, 2 or 5 times a power of ten. */
function decimalsOf(step: number): number {
  for (let decimals = 0; decimals < 12; decimals += 1) {
    const scaled = step * 10 ** decimals;
    if (scaled > 0.5 && Math.abs(scaled - Math.round(scaled)) < 1e-3 * scaled) return decimals;
  }
  return 12;
}
