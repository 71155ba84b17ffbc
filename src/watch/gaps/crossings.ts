import type { HistoryPoint } from "../../core/ports/metric-history.ts";
import type { GapRule } from "./read-subscriptions.ts";
import type { Sighting } from "./sightings.ts";

/** The records show that a condition began to hold, or ended, between two of them. */
export interface Crossing {
  /** Whether the condition holds from then on. */
  holds: boolean;
  /** After the first, at or before the second. */
  fromAt: number;
  toAt: number;
  /** Until then the alert could be expected: the service may look a while after the record was made. */
  dueUntil: number;
  before: number;
  after: number;
  /** One side of it, before the crossing or after it up to the next, was so brief that the service may not see such. */
  isBrief: boolean;
  /** No alert says that the service has seen that side. */
  mayBeUnseen: boolean;
  /** Between the two records others are missing. */
  hasHole: boolean;
  /** The alert that told of it; absent: none did. */
  answer?: Sighting;
  /** From the rule's last alert or missing alert of the same kind; absent: there was none before. */
  sinceLastMs?: number;
}

export interface CrossingsFound {
  /** In the order of time. */
  crossings: Crossing[];
  /** Alerts that say again what holds already: the rule tells while it lasts, or alerts were lost in between. */
  repeats: number;
  /** The usual time between two records. */
  everyMs: number;
}

/** Two spans without a record are a hole. */
const holeFactor = 2.5;
/** Of the time between two records: where the service looks so often, one record stands for the time around it. */
const oftenShare = 1 / 50;
/** In usual steps from record to record. */
const clearPeak = 0.5;
const leastLookMs = 1_000;
/** The service may look at its records a while after they were made. */
const leastLateMs = 60_000;
const mostLateMs = 10 * 60_000;

/** What the records say of the time since the condition last changed. */
interface Side {
  /** How far they have been from the threshold, in usual steps from record to record. */
  peak: number;
  firstAt: number;
  lastAt: number;
  /** An alert said so: the service has seen it. */
  isTold: boolean;
}

/** What is known of the condition at a time: by a record, or by an alert that came. */
interface Known extends HistoryPoint {
  holds: boolean;
  side: Side;
  told?: { sighting: Sighting; sinceLastMs?: number };
}

/**
 * Walks through records and alerts in the order of time, as one sequence of what is known of the condition. Where a
 * record shows another state than was known before, an alert should have told of it. Pure.
 *
 * @param points in the order of time, each time once
 * @param sightings of this rule, in the order of time
 * @param lookMs how seldom the service may look at its conditions, see `lookTimeOf`
 */
export function findCrossings(
  rule: GapRule,
  points: readonly HistoryPoint[],
  sightings: readonly Sighting[],
  lookMs: number,
): CrossingsFound {
  const levels = rule.kind === "change" ? toChanges(points, rule.windowMs ?? 0) : points;
  const steps = levels.slice(1).map(({ at, value }, index) => {
    const before = levels[index] as HistoryPoint;
    return { ms: at - before.at, height: Math.abs(value - before.value) };
  });
  const everyMs = median(steps.map(({ ms }) => ms));
  const usualStep = median(steps.map(({ height }) => height)) || Math.abs(rule.threshold) * 1e-9 || 1;
  const lateMs = Math.min(mostLateMs, Math.max(leastLateMs, everyMs));

  const crossings: (Crossing & { sides: Side[] })[] = [];
  const lastAt = new Map<boolean, number>();
  let repeats = 0;
  let next = 0;
  let record: Known | undefined;
  let known: Known | undefined;

  /** Notes that an alert was due, and how long after the one before. */
  function note(holds: boolean, at: number): number | undefined {
    const before = lastAt.get(holds);
    lastAt.set(holds, at);
    return before === undefined ? undefined : at - before;
  }

  function hear(sighting: Sighting): void {
    const { at, holds, value = rule.threshold } = sighting;
    if (holds === undefined) return;
    const sinceLastMs = note(holds, at);
    if (known?.holds === holds) repeats += 1;
    else known = { at, value, holds, side: { ...sideAt(at), isTold: true }, told: { sighting, sinceLastMs } };
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
    record = { at, value, holds, side };
    if (before !== undefined && known !== undefined) {
      const isTold = known.holds === holds;
      if (!isTold || (known.told !== undefined && before.holds !== holds)) {
        const late = isTold ? undefined : sightings[next];
        const isLate = late !== undefined && late.holds === holds && late.at <= at + lateMs;
        if (isLate) next += 1;
        const from = isTold || known.at < before.at ? before : known;
        const answer = isTold ? known.told?.sighting : isLate ? late : undefined;
        const sinceLastMs = isTold ? known.told?.sinceLastMs : note(holds, answer?.at ?? at);
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
          sinceLastMs,
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
  return { crossings, repeats, everyMs };
}

function sideAt(at: number): Side {
  return { peak: 0, firstAt: at, lastAt: at, isTold: false };
}

function isBrief({ peak, firstAt, lastAt }: Side, everyMs: number, lookMs: number): boolean {
  const isLong = lastAt - firstAt >= 2 * lookMs;
  // Records that stand near the threshold do not show what was between them, when the service may have looked.
  if (lookMs > everyMs * oftenShare) return !isLong || peak < clearPeak;
  return !isLong && peak * everyMs < 2 * lookMs;
}

/**
 * How seldom the service may look at its conditions: the shortest time in which any rule has told of one turn and then
 * of the other. It may look more often, which shows where rules tremble. Infinite before any did.
 */
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

/** Undefined where it stands exactly at the threshold: whether that counts is not documented. */
function holdsAt({ kind, threshold }: GapRule, value: number): boolean | undefined {
  if (value === threshold) return undefined;
  return kind === "below" ? value < threshold : value > threshold;
}

/** By how many percent each record differs from the one a window before; without such a one it is left out. */
function toChanges(points: readonly HistoryPoint[], windowMs: number): HistoryPoint[] {
  const everyMs = median(points.slice(1).map(({ at }, index) => at - (points[index] as HistoryPoint).at));
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

export function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
