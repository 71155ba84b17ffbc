import type { Random } from "../../core/clock.ts";
import type { RetrySchedule } from "../../core/delivery-settings.ts";

/**
 * The wait after `failures` failed attempts (1 or more), with jitter; `undefined` when the schedule is used up.
 * `jitter` 0.2 multiplies the wait by a random factor between 0.8 and 1.2.
 */
export function waitAfter(
  failures: number,
  schedule: RetrySchedule,
  jitter: number,
  random: Random,
): number | undefined {
  const base = schedule.stepsMs[failures - 1] ?? schedule.thenEveryMs;
  if (base === undefined) return undefined;
  return Math.round(base * (1 - jitter + 2 * jitter * random()));
}
