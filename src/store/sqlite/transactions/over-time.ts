import { severities } from "../../../core/alert.ts";
import { problemsBetween } from "../../list-filters.ts";
import { mostCounted } from "../../listing/list-statements.ts";
import type { Span, StepCounter } from "../../listing/over-time.ts";
import type { Dialect } from "../../tx.ts";
import { firstSince, sinceId } from "../times.ts";
import type { TransactionContext } from "./context.ts";

/** The alerts with problems, from `?1` on and below `?2`, up to a limit. */
export const countProblems = (sql: Dialect) =>
  `SELECT count(*) FROM (SELECT DISTINCT seq FROM (${problemsBetween(sql, "?1", "?2")}) LIMIT ${mostCounted})`;
/** Like `countProblems`, and how many of them have the severity `?3`. */
export const countProblemsOf = (sql: Dialect) =>
  `SELECT count(*) FROM (SELECT DISTINCT seq FROM (${problemsBetween(sql, "?1", "?2")}) LIMIT ${mostCounted}) p
     CROSS JOIN alerts a ON a.seq = p.seq WHERE +a.severity = ?3`;

export function createStepCounter({ db }: Pick<TransactionContext, "db">, sql: Dialect): StepCounter {
  const first = db.prepare<[string], number>(firstSince()).pluck();
  const newest = db.prepare<[], number>("SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1").pluck();
  const oldest = db.prepare<[], number>("SELECT received_at FROM alerts ORDER BY seq LIMIT 1").pluck();
  const bySeverity = db
    .prepare<[string, number, number], number>(
      "SELECT count(*) FROM alerts WHERE severity = ? AND seq >= ? AND seq < ?",
    )
    .pluck();
  const problems = db.prepare<[object], number>(countProblems(sql)).pluck();
  const problemsOfOne = db.prepare<[object], number>(countProblemsOf(sql)).pluck();

  /** The steps of a span that were looked at, the last one first. `lowest`: the lowest position in all of them. */
  const walks = new WeakMap<Span, { lowest: number; ranges: Map<number, [from: number, below: number]> }>();

  /** From the first `seq` on, below the second. An alert counts in one step only, also where a clock was set back. */
  function alertsOf(at: number, span: Span): [from: number, below: number] {
    const walk = walks.get(span) ?? { lowest: Number.MAX_SAFE_INTEGER, ranges: new Map() };
    walks.set(span, walk);
    const known = walk.ranges.get(at);
    if (known !== undefined) return known;
    const firstAt = (time: number) => first.get(sinceId(time)) ?? 0;
    const endsAt = at + span.stepMs;
    const below = endsAt <= span.below && walk.ranges.has(endsAt) ? walk.lowest : firstAt(Math.min(endsAt, span.below));
    const range: [from: number, below: number] = [firstAt(Math.max(at, span.from)), Math.min(below, walk.lowest)];
    walk.lowest = Math.min(walk.lowest, range[0]);
    walk.ranges.set(at, range);
    return range;
  }

  function countProblemsOfStep(at: number, span: Span): number {
    const [from, below] = alertsOf(at, span);
    if (from >= below) return 0;
    const window = { 1: from, 2: below };
    const { problemsOf: severity } = span;
    return (severity === undefined ? problems.get(window) : problemsOfOne.get({ ...window, 3: severity })) ?? 0;
  }

  return {
    first: 1,
    growth: 1,
    readEnds: () => ({ newest: newest.get(), oldest: oldest.get() }),
    countSteps(steps, span) {
      const countStep = (at: number) => {
        const [from, below] = alertsOf(at, span);
        if (from >= below) return {};
        return Object.fromEntries(severities.map((severity) => [severity, bySeverity.get(severity, from, below) ?? 0]));
      };
      return new Map(steps.map((at) => [at, countStep(at)]));
    },
    countProblems: (steps, span) => new Map(steps.map((at) => [at, countProblemsOfStep(at, span)])),
  };
}
