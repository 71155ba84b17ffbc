import type { Downtime } from "../../core/gaps.ts";
import type { Crossing } from "./crossings.ts";
import type { GapEvidence, JudgedRule } from "./follow-rules.ts";
import type { Sighting } from "./sightings.ts";

/** So many that were as brief must have brought an alert, and none failed to. More without a known downtime. */
const leastBrief = { whileDown: 3, else: 20 };
/** A rule that brought an alert this often is likely to have owed one. */
export const likelyShare = 0.8;
/** One that is known to repeat does so for hours. */
export const mostLateMs = 6 * 3_600_000;
const lateMs = 60_000;

/** What is true of a crossing among all others. */
export interface Context {
  isDown(crossing: Crossing): boolean;
  /** The time between two alerts, whichever rule's, in which it lies. */
  stretchOf(crossing: Crossing): Stretch;
  /** The service has told of others that were as brief, and failed to tell of none. */
  isProvenBrief(crossing: Crossing): boolean;
  /** It has told of nearly all that were. */
  isBriefTold(crossing: Crossing): boolean;
  /** Others of the same downtime came when it was over, so this one may still come. */
  mayStillCome(crossing: Crossing): boolean;
  /** Why what came then may hold it after all; absent: nothing that came can. */
  mayHaveCome(crossing: Crossing): string | undefined;
  /** The relay did nothing then, or its clock was set: which of the two nobody can say. */
  wasAway(crossing: Crossing): boolean;
}

export function createContext(
  { downtimes, sightings, until, now, unreadSince }: GapEvidence,
  judged: JudgedRule[],
  unmatched: readonly Sighting[],
): Context {
  const overlaps = (crossing: Crossing) => (down: Downtime) =>
    crossing.fromAt < down.toAt && crossing.dueUntil > down.fromAt;
  const isDown = (crossing: Crossing) => downtimes.some((down) => down.asleep !== true && overlaps(crossing)(down));
  const loose = unmatched.toSorted((a, b) => a.at - b.at);
  const misdated = sightings.filter(({ isAhead }) => isAhead);
  const stretches = quietStretches(judged, until);
  const stretchOf = (crossing: Crossing) => findStretch(stretches, crossing);
  const crossings = judged.flatMap(({ found }) => found.crossings.filter(({ hasHole }) => !hasHole));
  /** Whether it began and whether it ended are told of apart: some services tell of one alone. */
  const brief = new Map(
    [true, false].map((holds) => {
      const turns = crossings.filter((one) => one.holds === holds);
      const told = turns.filter(({ answer, isBrief }) => answer !== undefined && isBrief).length;
      const missed = turns.filter((one) => one.answer === undefined && one.mayBeUnseen && !isDown(one));
      return [holds, { told, missed: missed.length, stretches: new Set(missed.map(stretchOf)) }];
    }),
  );
  const repeatedAt = sightings.filter(({ at, receivedAt, hasOwnTime }) => hasOwnTime && receivedAt - at > lateMs);
  return {
    isDown,
    stretchOf,
    isBriefTold({ holds }) {
      const { told = 0, missed = 0 } = brief.get(holds) ?? {};
      return told >= likelyShare * (told + missed);
    },
    isProvenBrief(crossing) {
      const { told = 0, stretches = [] } = brief.get(crossing.holds) ?? {};
      const least = isDown(crossing) ? leastBrief.whileDown : leastBrief.else;
      return told >= least && [...stretches].every((stretch) => stretch === stretchOf(crossing));
    },
    mayStillCome: (crossing) =>
      downtimes.some(
        (down) =>
          overlaps(crossing)(down) &&
          now - down.toAt < mostLateMs &&
          repeatedAt.some(({ at }) => at >= down.fromAt && at < down.toAt),
      ),
    wasAway: (crossing) => downtimes.some((down) => down.asleep === true && overlaps(crossing)(down)),
    mayHaveCome(crossing) {
      const { fromAt, toAt, dueUntil } = crossing;
      if (unreadSince !== undefined && unreadSince - toAt < mostLateMs) return "alerts that arrived wait to be read";
      for (let index = firstFrom(loose, fromAt - lateMs, ({ at }) => at); index < loose.length; index += 1) {
        const one = loose[index] as Sighting;
        if (one.at > dueUntil) break;
        if (maySay(one, crossing)) return "an alert arrived then, and it is not known which rule sent it";
      }
      const isNear = misdated.some(({ at }) => Math.abs(at - toAt) < mostLateMs);
      return isNear ? "alerts of that time were dated ahead, so the clock of one side was wrong" : undefined;
    },
  };
}

/** The place of the first that is not before `at`. */
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

/** It does not say the opposite. */
export function maySay({ holds }: Sighting, crossing: Crossing): boolean {
  return holds === undefined || holds === crossing.holds;
}

export interface Stretch {
  fromAt: number;
  toAt: number;
}

/** The times between one alert and the next, whichever rule's they are. Those of other senders say nothing here. */
function quietStretches(judged: readonly JudgedRule[], until: number): Stretch[] {
  const times = [...new Set(judged.flatMap(({ told }) => told.map(({ at }) => at)))].sort((a, b) => a - b);
  return [Number.NEGATIVE_INFINITY, ...times].map((fromAt, index) => ({ fromAt, toAt: times[index] ?? until }));
}

/** The one of which the most lies where the alert could be expected. */
function findStretch(stretches: Stretch[], { fromAt, dueUntil }: Crossing): Stretch {
  let low = 0;
  let high = stretches.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((stretches[middle] as Stretch).toAt > fromAt) high = middle;
    else low = middle + 1;
  }
  let best = stretches[low] as Stretch;
  let mostMs = -1;
  for (let index = low; index < stretches.length; index += 1) {
    const stretch = stretches[index] as Stretch;
    if (stretch.fromAt >= dueUntil) break;
    const ms = Math.min(stretch.toAt, dueUntil) - Math.max(stretch.fromAt, fromAt);
    if (ms > mostMs) [best, mostMs] = [stretch, ms];
  }
  return best;
}
