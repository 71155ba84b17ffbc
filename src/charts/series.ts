import { writeChange } from "../ground/numbers/format-number.ts";
import { isInstant } from "../ground/time/time-format.ts";
import { isDrawable, roundToZero } from "./plot.ts";

/** `value` is `null` where nothing is known, which breaks the line. */
export interface ChartPoint {
  /** Epoch milliseconds. */
  at: number;
  value: number | null;
}

export type KnownPoint = ChartPoint & { value: number };

export interface SeriesFacts {
  min: KnownPoint;
  max: KnownPoint;
  first: KnownPoint;
  last: KnownPoint;
}

/** The service documents no order. */
export function sortByTime<T extends ChartPoint>(points: readonly T[]): T[] {
  return [...points].sort((a, b) => a.at - b.at);
}

/** A value that no chart can place (no number, infinite, beyond 1e100) is a hole. Points without a date are dropped. */
export function drawablePoints(points: readonly ChartPoint[]): ChartPoint[] {
  const placed = points.filter(({ at }) => isInstant(at));
  return sortByTime(placed.map(({ at, value }) => ({ at, value: isDrawable(value) ? roundToZero(value) : null })));
}

/** Undefined when no point has a value. Expects points by time. */
export function summarizeSeries(points: readonly ChartPoint[]): SeriesFacts | undefined {
  const known = points.filter(isKnown);
  const [first] = known;
  const last = known.at(-1);
  if (first === undefined || last === undefined) return undefined;
  let min = first;
  let max = first;
  for (const point of known) {
    if (point.value < min.value) min = point;
    if (point.value > max.value) max = point;
  }
  return { min, max, first, last };
}

export function splitAtGaps(points: readonly ChartPoint[]): KnownPoint[][] {
  const stretches: KnownPoint[][] = [];
  let current: KnownPoint[] = [];
  for (const point of points) {
    if (isKnown(point)) {
      if (current.length === 0) stretches.push(current);
      current.push(point);
    } else {
      current = [];
    }
  }
  return stretches;
}

/** A distance of this many times the usual one is a hole, unless it is below `leastHoleMs`. */
const holeTimes = 6;
const leastHoleMs = 30 * 60_000;

/** Breaks the line at holes in the record: a line across would claim something unknown. Expects points by time. */
export function breakAtHoles(points: readonly ChartPoint[]): ChartPoint[] {
  const distances = points.slice(1).map(({ at }, index) => at - (points[index]?.at ?? at));
  const usual = distances.toSorted((a, b) => a - b)[distances.length >> 1] ?? 0;
  const longest = Math.max(leastHoleMs, holeTimes * usual);
  return points.flatMap((point, index) => {
    const distance = distances[index - 1] ?? 0;
    return distance > longest ? [{ at: point.at - distance / 2, value: null }, point] : [point];
  });
}

/** Keeps the first, last, lowest and highest point of each of `columns` steps. Expects points by time. */
export function thinOut(stretch: readonly KnownPoint[], columns: number): KnownPoint[] {
  const [first] = stretch;
  const last = stretch.at(-1);
  if (first === undefined || last === undefined || stretch.length <= 4 * columns) return [...stretch];
  const width = Math.max(1, last.at - first.at) / columns;
  const columnOf = (point: KnownPoint) => Math.min(columns - 1, Math.floor((point.at - first.at) / width));
  const kept: KnownPoint[] = [];
  for (let start = 0; start < stretch.length; ) {
    let end = start;
    let [low, high] = [start, start];
    const column = columnOf(stretch[start] as KnownPoint);
    for (let at = start; at < stretch.length && columnOf(stretch[at] as KnownPoint) === column; at += 1) {
      end = at;
      if ((stretch[at] as KnownPoint).value < (stretch[low] as KnownPoint).value) low = at;
      if ((stretch[at] as KnownPoint).value > (stretch[high] as KnownPoint).value) high = at;
    }
    const chosen = [...new Set([start, Math.min(low, high), Math.max(low, high), end])];
    kept.push(...chosen.map((at) => stretch[at] as KnownPoint));
    start = end + 1;
  }
  return kept;
}

/** The change from first to last, `+1.2 %`. Undefined where there is no base to compare with, or no change. */
export function changeOf({ first, last }: SeriesFacts): string | undefined {
  return writeChange(String(first.value), String(last.value));
}

export function isKnown(point: ChartPoint): point is KnownPoint {
  return point.value !== null;
}
