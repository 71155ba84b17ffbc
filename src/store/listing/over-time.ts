import { type Severity, severities } from "../../core/alert.ts";
import type { AlertLog, StepCount, TimeSteps } from "../../core/ports/alert-log.ts";
import { RecentMap } from "../../ground/recent-map.ts";
import type { Awaitable } from "../tx.ts";

/** The alerts of a step are routed at most this much later, except those whose routing fails. */
export const settledAfterMs = 10 * 60_000;
/** A few times the steps of all presets of the page. */
export const mostKept = 1_000;

export type Counted = Omit<StepCount, "problems">;

/** Steps of time and the counts that are wanted, see `TimeSteps`. `before` is not included. */
export interface Span extends Pick<TimeSteps, "stepMs" | "problemsOf"> {
  from: number;
  below: number;
  /** Whether the whole step is in the span, and its counts will not change. */
  isSettled(at: number): boolean;
}

/** Counts in one database. A step is named by its beginning. Steps are given last one first. */
export interface StepCounter {
  /** How many steps are counted before the first look at the time, and the factor by which the number grows. */
  first: number;
  growth: number;
  /** When the newest and the oldest alert came. `isPastOther`: the kept counts of the past are no longer true. */
  readEnds(): Awaitable<{ newest?: number | null; oldest?: number | null; isPastOther?: boolean }>;
  /** Called first, for all steps. */
  countProblems(steps: number[], span: Span): Awaitable<Map<number, number>>;
  countSteps(steps: number[], span: Span): Awaitable<Map<number, Partial<Record<Severity, number>>>>;
}

/**
 * Counts alerts step by step: an alert's id begins with its time, so a step is a range of positions. The count of a past step is
 * kept, unless a removal may have reached the step.
 * @param nowMs milliseconds that only go forward.
 */
export function createOverTime(
  counter: StepCounter,
  nowMs: () => number = () => performance.now(),
): AlertLog["countOverTime"] {
  const kept = new RecentMap<string, Counted>(mostKept);

  return async ({ fromAt, stepMs, steps, receivedFrom: from = fromAt, receivedTo, problemsOf }, mostMs) => {
    const endsAt = nowMs() + mostMs;
    const below = (receivedTo ?? fromAt + steps * stepMs - 1) + 1;
    const { newest, oldest, isPastOther } = await counter.readEnds();
    if (isPastOther) kept.clear();
    const settledTo = Math.min(below, (newest ?? 0) - settledAfterMs);
    const settledFrom = Math.max(from, (oldest ?? 0) + settledAfterMs);
    const isSettled = (at: number) => at >= settledFrom && at + stepMs <= settledTo;
    const span = { from, below, stepMs, problemsOf, isSettled };
    const keyOf = (at: number) => `${at} ${stepMs}`;
    const found: StepCount[] = [];
    for (let [next, most] = [steps - 1, counter.first]; next >= 0; most *= counter.growth) {
      if (found.length > 0 && nowMs() > endsAt) return { steps: found, isMore: true };
      const some = new Map<number, Counted | undefined>();
      for (let missing = 0; next >= 0; next -= 1) {
        const at = fromAt + next * stepMs;
        const counted = isSettled(at) ? kept.get(keyOf(at)) : undefined;
        if (counted === undefined) missing += 1;
        if (missing > most) break;
        some.set(at, counted);
      }
      const missing = [...some].flatMap(([at, counted]) => (counted === undefined ? [at] : []));
      const [problems, counts] = await Promise.all([
        counter.countProblems([...some.keys()], span),
        missing.length === 0 ? new Map() : counter.countSteps(missing, span),
      ]);
      for (const [at, known] of some) {
        const counted = known ?? { ...emptyStep(at), ...counts.get(at) };
        if (known === undefined && isSettled(at)) kept.set(keyOf(at), counted);
        found.push({ ...counted, problems: problems.get(at) ?? 0 });
      }
    }
    return { steps: found, isMore: false };
  };
}

const emptyStep = (at: number): Counted =>
  ({ at, ...Object.fromEntries(severities.map((severity) => [severity, 0])) }) as Counted;
