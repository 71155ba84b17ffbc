import { severities } from "../../../core/alert.ts";
import type { OverTime, StepCount, TimeSteps } from "../../../core/ports/alert-log.ts";
import type { TransactionContext } from "./context.ts";
import { countProblems, firstSince, sinceId } from "./list-statement.ts";

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
export function createOverTime({ db }: Pick<TransactionContext, "db">, nowMs: () => number = () => performance.now()) {
  const first = db.prepare<[string], number>(firstSince).pluck();
  const oldest = db.prepare<[], number | null>("SELECT min(seq) FROM alerts").pluck();
  const newestAt = db.prepare<[], number>("SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1").pluck();
  const bySeverity = db
    .prepare<[string, number, number], number>(
      "SELECT count(*) FROM alerts WHERE severity = ? AND seq >= ? AND seq < ?",
    )
    .pluck();
  const problems = db.prepare<number[], number>(countProblems.sql).pluck();
  const kept = new Map<string, Omit<StepCount, "problems">>();

  function countStep(at: number, from: number, below: number): Omit<StepCount, "problems"> {
    const counts = severities.map((severity) => [severity, bySeverity.get(severity, from, below) ?? 0]);
    return { at, ...(Object.fromEntries(counts) as Record<(typeof severities)[number], number>) };
  }

  return ({ fromAt, stepMs, steps }: TimeSteps, mostMs: number): OverTime => {
    const endsAt = nowMs() + mostMs;
    const firstKept = oldest.get() ?? 0;
    const settledAt = (newestAt.get() ?? 0) - settledAfterMs;
    const counted: StepCount[] = [];
    let below = first.get(sinceId(fromAt + steps * stepMs)) ?? 0;
    for (let step = steps - 1; step >= 0; step -= 1) {
      if (counted.length > 0 && nowMs() > endsAt) return { steps: counted, isMore: true };
      const at = fromAt + step * stepMs;
      const from = first.get(sinceId(at)) ?? 0;
      const key = `${at} ${stepMs}`;
      const isSettled = at + stepMs <= settledAt && from > firstKept;
      const count = (isSettled ? kept.get(key) : undefined) ?? countStep(at, from, below);
      if (isSettled) kept.set(key, count);
      if (kept.size > mostKept) kept.delete(kept.keys().next().value as string);
      const window = new Array(countProblems.windows).fill([from, below]).flat();
      counted.push({ ...count, problems: from < below ? (problems.get(...window) ?? 0) : 0 });
      below = from;
    }
    return { steps: counted, isMore: false };
  };
}
