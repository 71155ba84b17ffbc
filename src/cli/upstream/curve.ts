/** One point of a curve; `value` is `null` where a bucket had no records. */
export interface CurvePoint {
  /** Epoch milliseconds. */
  at: number;
  value: number | null;
}

export type KnownPoint = CurvePoint & { value: number };

/** What a curve says in numbers. */
export interface CurveFacts {
  min: KnownPoint;
  max: KnownPoint;
  first: KnownPoint;
  last: KnownPoint;
}

/** Points by time; the service documents no order. */
export function sortByTime<T extends CurvePoint>(points: readonly T[]): T[] {
  return [...points].sort((a, b) => a.at - b.at);
}

/** `undefined` when no point has a value. Expects points by time. */
export function summarizeCurve(points: readonly CurvePoint[]): CurveFacts | undefined {
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

/** Unbroken stretches: a point without a value interrupts the line instead of being drawn as if it were known. */
export function splitAtGaps(points: readonly CurvePoint[]): KnownPoint[][] {
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

/** The change from first to last in percent, e.g. `+1.24 %`; empty when there is no base to compare with. */
export function describeChange({ first, last }: CurveFacts): string {
  if (first.value === 0) return "";
  const percent = ((last.value - first.value) / Math.abs(first.value)) * 100;
  return `${percent > 0 ? "+" : ""}${percent.toFixed(2)} %`;
}

function isKnown(point: CurvePoint): point is KnownPoint {
  return point.value !== null;
}
