import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { writeNumber, writeShortNumber } from "../ground/numbers/format-number.ts";
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
