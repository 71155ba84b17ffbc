import { type Severity, severities } from "../../../core/alert.ts";
import type { OverTime, StepCount, TimeSteps } from "../../../core/ports/alert-log.ts";
import type { Dialect } from "../../tx.ts";
import type { TransactionContext } from "./context.ts";
import { countProblems, countProblemsOf, firstSince, sinceId } from "./list-statement.ts";

/** By then what came in a step has been routed, but for what cannot be. */
const settledAfterMs = 10 * 60_000;
/** Steps of all presets of the page together, a few times. */
const mostKept = 1_000;

/**
 * Counts alerts step by step along the index of severities: an alert's id begins with its time, so a step of time is a
 * range of positions. A past step is counted once and kept; those that a removal may have reached are not.
 *
 * @param nowMs milliseconds that only go forward.
 */
export function createOverTime(
  { db }: Pick<TransactionContext, "db">,
  sql: Dialect,
  nowMs: () => number = () => performance.now(),
) {
  const first = db.prepare<[string], number>(firstSince()).pluck();
  const oldest = db.prepare<[], number | null>("SELECT min(seq) FROM alerts").pluck();
  const newestAt = db.prepare<[], number>("SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1").pluck();
  const bySeverity = db
    .prepare<[string, number, number], number>(
      "SELECT count(*) FROM alerts WHERE severity = ? AND seq >= ? AND seq < ?",
    )
    .pluck();
  const problems = db.prepare<[object], number>(countProblems(sql)).pluck();
  const problemsOfOne = db.prepare<[object], number>(countProblemsOf(sql)).pluck();
  const kept = new Map<string, Omit<StepCount, "problems">>();

  function countStep(at: number, from: number, below: number): Omit<StepCount, "problems"> {
    const counts = severities.map((severity) => [severity, bySeverity.get(severity, from, below) ?? 0]);
    return { at, ...(Object.fromEntries(counts) as Record<(typeof severities)[number], number>) };
  }

  function countProblemsIn(from: number, below: number, severity: Severity | undefined): number {
    if (from >= below) return 0;
    const window = { 1: from, 2: below };
    return (severity === undefined ? problems.get(window) : problemsOfOne.get({ ...window, 3: severity })) ?? 0;
  }

  return (asked: TimeSteps, mostMs: number): OverTime => {
    const {
      fromAt,
      stepMs,
      steps,
      receivedFrom = fromAt,
      receivedTo = fromAt + steps * stepMs - 1,
      problemsOf,
    } = asked;
    const endsAt = nowMs() + mostMs;
    const firstKept = oldest.get() ?? 0;
    const settledAt = (newestAt.get() ?? 0) - settledAfterMs;
    const counted: StepCount[] = [];
    let below = first.get(sinceId(Math.min(fromAt + steps * stepMs, receivedTo + 1))) ?? 0;
    for (let step = steps - 1; step >= 0; step -= 1) {
      if (counted.length > 0 && nowMs() > endsAt) return { steps: counted, isMore: true };
      const at = fromAt + step * stepMs;
      const from = first.get(sinceId(Math.max(at, receivedFrom))) ?? 0;
      const key = `${at} ${stepMs}`;
      const isWhole = receivedFrom <= at && receivedTo >= at + stepMs - 1;
      const isSettled = isWhole && at + stepMs <= settledAt && from > firstKept;
      const count = (isSettled ? kept.get(key) : undefined) ?? countStep(at, from, below);
      if (isSettled) kept.set(key, count);
      if (kept.size > mostKept) kept.delete(kept.keys().next().value as string);
      counted.push({ ...count, problems: countProblemsIn(from, below, problemsOf) });
      below = Math.min(below, from);
    }
    return { steps: counted, isMore: false };
  };
}
