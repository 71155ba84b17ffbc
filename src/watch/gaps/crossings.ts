import type { HistoryPoint } from "../../core/ports/metric-history.ts";
import type { GapRule } from "./read-subscriptions.ts";
import type { Sighting } from "./sightings.ts";

/** A change of a condition between two records: it began to hold, or ended. */
export interface Crossing {
  holds: boolean;
  /** The crossing came after `fromAt`, at or before `toAt`. */
  fromAt: number;
  toAt: number;
  /** Until then the alert could be expected: the service may look a while after the record was made. */
  dueUntil: number;
  before: number;
  after: number;
  /** The time before or after the crossing was so brief that the service may have missed one of the two states. */
  isBrief: boolean;
  /** No alert shows that the service has seen the brief state. */
  mayBeUnseen: boolean;
  /** Records are missing between the one before the crossing and the one after it. */
  hasHole: boolean;
  answer?: Sighting;
  /** The time since the rule last had an alert due: of the same turn, and of any. Absent: never before. */
  since?: SinceLast;
}

export interface SinceLast {
  sameMs: number;
  anyMs: number;
}

export interface CrossingsFound {
  crossings: Crossing[];
  /** The alerts of the rule, placed by `inTheirPlace`. */
  told: readonly Sighting[];
  everyMs: number;
}

/** A time without a record that is this many usual steps long is a hole. */
const holeFactor = 2.5;
/** A share of the time between two records. A service that looks more often sees changes between records. */
const oftenShare = 1 / 50;
/** A state that gets no further from the threshold counts as brief. In usual steps from record to record. */
const clearPeak = 0.5;
const leastLookMs = 1_000;
/** The service may look at its records this long after they were made. */
const leastLateMs = 60_000;
const mostLateMs = 10 * 60_000;

/** One state of the condition, from its first record to its last one. */
interface Side {
  /** The greatest distance from the threshold, in usual steps from record to record. */
  peak: number;
  firstAt: number;
  lastAt: number;
  /** An alert has reported this change, so the service has seen it. */
  isTold: boolean;
}

/** The condition at a time, known from a record or from an alert. */
interface Known extends HistoryPoint {
  holds: boolean;
  side: Side;
  told?: { sighting: Sighting; since?: SinceLast };
}

/**
 * Walks through records and alerts in the order of time. An alert should have reported each record that shows another
 * state of the condition than the record before. Pure.
 * @param points in the order of time, each time once
 * @param told alerts of this rule, in the order of time
 * @param lookMs an upper bound for the time between two looks of the service at its conditions, see `lookTimeOf`
 */
export function findCrossings(
  rule: GapRule,
  points: readonly HistoryPoint[],
  told: readonly Sighting[],
  lookMs: number,
): CrossingsFound {
  const levels = rule.kind === "change" ? toChanges(points, rule.windowMs ?? 0) : points;
  const everyMs = usualStepOf(levels, ({ at }) => at);
  const usualStep = usualStepOf(levels, ({ value }) => value) || Math.abs(rule.threshold) * 1e-9 || 1;
  const lateMs = Math.min(mostLateMs, Math.max(leastLateMs, everyMs));
  const sightings = inTheirPlace(rule, levels, told, lateMs);

  const crossings: (Crossing & { sides: Side[] })[] = [];
  const lastAt = new Map<boolean, number>();
  let next = 0;
  const turn = [{}, {}] as [Known, Known];
  let record: Known | undefined;
  let known: Known | undefined;
  /** The last alert that does not name its turn. It belongs to the next crossing in the records. */
  let unclear: Sighting | undefined;

  /** Notes that an alert was due, and returns the time since the one before. */
  function note(holds: boolean, at: number): SinceLast | undefined {
    const [same, other] = [lastAt.get(holds), lastAt.get(!holds)];
    lastAt.set(holds, at);
    if (same === undefined) return undefined;
    return { sameMs: at - same, anyMs: at - Math.max(same, other ?? same) };
  }

  function hear(sighting: Sighting): void {
    const { at, holds, value = rule.threshold } = sighting;
    if (holds === undefined) {
      unclear = sighting;
      return;
    }
    const since = note(holds, at);
    const last = crossings.at(-1);
    if (known?.holds !== holds)
      known = { at, value, holds, side: { ...sideAt(at), isTold: true }, told: { sighting, since } };
    // The records have already shown this crossing, so the alert reports it, however late.
    else if (last?.holds === holds && last.answer === undefined && at <= last.toAt + mostDatedLateMs)
      last.answer = sighting;
  }

  for (const { at, value } of levels) {
    for (; next < sightings.length && (sightings[next] as Sighting).at <= at; next += 1)
      hear(sightings[next] as Sighting);
    const holds = holdsAt(rule, value);
    if (holds === undefined) continue;
    const before = record;
    const side = known?.holds === holds ? known.side : sideAt(at);
    side.lastAt = at;
    side.peak = Math.max(side.peak, Math.abs(value - rule.threshold) / usualStep);
    // Two objects take turns. A new object for each record would make millions for a week of records.
    record = Object.assign(record === turn[0] ? turn[1] : turn[0], { at, value, holds, side });
    if (before !== undefined && known !== undefined) {
      const isTold = known.holds === holds;
      if (!isTold || (known.told !== undefined && before.holds !== holds)) {
        const late = isTold ? undefined : sightings[next];
        const isLate = late !== undefined && (late.holds ?? holds) === holds && late.at <= at + lateMs;
        const untold = unclear !== undefined && unclear.at > before.at ? unclear : undefined;
        if (isLate && untold === undefined) next += 1;
        const from = isTold || known.at < before.at ? before : known;
        const answer = isTold ? known.told?.sighting : (untold ?? (isLate ? late : undefined));
        unclear = undefined;
        const since = isTold
          ? known.told?.since
          : note(holds, answer?.at ?? (at - before.at > everyMs * holeFactor ? from.at : at));
        crossings.push({
          holds,
          fromAt: from.at,
          toAt: at,
          dueUntil: at + lateMs,
          before: from.value,
          after: value,
          isBrief: false,
          mayBeUnseen: false,
          sides: [from.side, side],
          hasHole: at - before.at > everyMs * holeFactor,
          answer,
          since,
        });
      }
    }
    known = record;
  }
  for (const crossing of crossings) {
    const brief = crossing.sides.filter((side) => isBrief(side, everyMs, lookMs));
    crossing.isBrief = brief.length > 0;
    crossing.mayBeUnseen = brief.some(({ isTold }) => !isTold);
  }
  return { crossings, told: sightings, everyMs };
}

/** At least three alerts must be dated late, and by half an hour at most. */
const leastDated = 3;
const mostDatedLateMs = 30 * 60_000;

/** Some senders date an alert minutes after its crossing. A lateness that nearly all alerts share is subtracted. */
function inTheirPlace(
  rule: GapRule,
  levels: readonly HistoryPoint[],
  told: readonly Sighting[],
  lateMs: number,
): readonly Sighting[] {
  const turnedAt = { true: [] as number[], false: [] as number[] };
  let before: boolean | undefined;
  for (const { at, value } of levels) {
    const holds = holdsAt(rule, value) ?? before;
    if (before !== undefined && holds !== before) turnedAt[`${holds === true}`].push(at);
    before = holds;
  }
  const behind = told.flatMap(({ at, holds }) => {
    const turns = holds === undefined ? [] : turnedAt[`${holds}`];
    const turn = turns[firstFrom(turns, at + 1, (turnAt) => turnAt) - 1];
    return turn === undefined ? [] : at - turn;
  });
  const usualMs = median(behind);
  const alike = behind.filter((ms) => Math.abs(ms - usualMs) <= lateMs).length;
  if (alike < leastDated || alike < told.length * 0.8 || usualMs <= lateMs || usualMs > mostDatedLateMs) return told;
  // The record that shows a crossing comes after it.
  return told.map((sighting) => ({ ...sighting, at: sighting.at - usualMs }));
}

export function firstFrom<T>(sorted: readonly T[], at: number, atOf: (one: T) => number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (atOf(sorted[middle] as T) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sideAt(at: number): Side {
  return { peak: 0, firstAt: at, lastAt: at, isTold: false };
}

function isBrief({ peak, firstAt, lastAt }: Side, everyMs: number, lookMs: number): boolean {
  const isLong = lastAt - firstAt >= 2 * lookMs;
  // The service may have looked between two records near the threshold, where the value is unknown.
  if (lookMs > everyMs * oftenShare) return !isLong || peak < clearPeak;
  return !isLong && peak * everyMs < 2 * lookMs;
}

/** The shortest time between the two turns of any rule: the service looks at least that often. Infinite without any. */
export function lookTimeOf(sightings: Iterable<readonly Sighting[]>): number {
  let shortestMs = Number.POSITIVE_INFINITY;
  for (const ofRule of sightings) {
    for (const [index, { at, holds }] of ofRule.entries()) {
      const before = ofRule[index - 1];
      if (before === undefined || holds === undefined || before.holds !== !holds) continue;
      shortestMs = Math.min(shortestMs, Math.max(leastLookMs, at - before.at));
    }
  }
  return shortestMs;
}

/** Undefined where the value is exactly the threshold: whether that counts is not documented. */
function holdsAt({ kind, threshold }: GapRule, value: number): boolean | undefined {
  if (value === threshold) return undefined;
  return kind === "below" ? value < threshold : value > threshold;
}

/** The change of each record from the one a window before, in percent. A record without an earlier one is left out. */
function toChanges(points: readonly HistoryPoint[], windowMs: number): HistoryPoint[] {
  const everyMs = usualStepOf(points, ({ at }) => at);
  const changes: HistoryPoint[] = [];
  let from = 0;
  for (const { at, value } of points) {
    const wantedAt = at - windowMs;
    while (from + 1 < points.length && (points[from + 1] as HistoryPoint).at <= wantedAt) from += 1;
    const base = points[from] as HistoryPoint;
    if (base.value === 0 || Math.abs(base.at - wantedAt) > everyMs / 10) continue;
    changes.push({ at, value: Math.abs(value / base.value - 1) * 100 });
  }
  return changes;
}

/** The most steps that are sampled for the usual one: each look at the alerts reads weeks of records. */
const mostSteps = 300;

function usualStepOf(points: readonly HistoryPoint[], of: (point: HistoryPoint) => number): number {
  const steps: number[] = [];
  const stride = Math.ceil(points.length / mostSteps);
  for (let index = 1; index < points.length; index += stride) {
    steps.push(Math.abs(of(points[index] as HistoryPoint) - of(points[index - 1] as HistoryPoint)));
  }
  return median(steps);
}

function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  return Float64Array.from(values).sort()[Math.floor(values.length / 2)] ?? 0;
}
