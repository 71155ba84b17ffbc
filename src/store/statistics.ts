import type { DestinationStatistics, OutcomeCounts } from "../core/ports/statistics.ts";

export const hourMs = 3_600_000;
export const dayHours = 24;
export const weekHours = 7 * dayHours;
export const mostLast = 50;
export const longestTitle = 120;
/** How waits are counted: so many steps to each doubling of the milliseconds. */
const stepsToDouble = 8;

export function noOutcomes(): OutcomeCounts {
  return { sent: 0, digested: 0, failed: 0, expired: 0 };
}

/** @param counts how many alerts waited for each step of time. */
export function toWaits(counts: ReadonlyMap<number, number>): DestinationStatistics["waits"] {
  const steps = [...counts].sort(([one], [other]) => one - other);
  const total = steps.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return undefined;
  const atShare = (share: number) => {
    let seen = 0;
    for (const [step, count] of steps) {
      seen += count;
      if (seen >= total * share) return Math.round(2 ** ((step + 0.5) / stepsToDouble));
    }
    return 0;
  };
  return { p50Ms: atShare(0.5), p95Ms: atShare(0.95) };
}
