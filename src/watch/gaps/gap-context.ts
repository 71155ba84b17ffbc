import type { Downtime } from "../../core/gaps.ts";
import { type Crossing, firstFrom } from "./crossings.ts";
import type { GapEvidence, JudgedRule } from "./follow-rules.ts";
import type { Sighting } from "./sightings.ts";

/** A sender that repeats an alert does so for hours. */
export const mostLateMs = 6 * 3_600_000;
const lateMs = 60_000;

/** Reading and routing an alert, or an immediate repeat by its sender, may always take this long. */
const leastFreshMs = 5 * 60_000;
/** The share of alerts that may be later than the usual lateness. `mostOdd` alerts may be in any account. */
const usualShare = 1 / 300;
const mostOdd = 2;
/** The next late alert may come a little later than the latest one. */
const lateFactor = 1.5;
/** An alert counts as overtaken when alerts arrived that happened this much later. */
const leastOvertakenMs = 3_600_000;

export type Context = ReturnType<typeof createContext>;

export function createContext(
  { downtimes, sightings, now, unreadSince }: GapEvidence,
  judged: JudgedRule[],
  unmatched: readonly Sighting[],
) {
  const overlaps = (crossing: Crossing) => (down: Downtime) =>
    crossing.fromAt < down.toAt && crossing.dueUntil > down.fromAt;
  const downOf = (crossing: Crossing) => downtimes.find((down) => down.asleep !== true && overlaps(crossing)(down));
  const loose = unmatched.toSorted((a, b) => a.at - b.at);
  const misdated = sightings.filter(({ isAhead }) => isAhead);
  const told = judged.flatMap((one) => one.told);
  const { usualMs, disorderMs } = usualLateness(told, downtimes);
  const overtakenMs = Math.max(leastOvertakenMs, disorderMs * lateFactor);
  const freshMs = Math.max(leastFreshMs, usualMs * lateFactor + lateMs);
  const newestAt = told.length === 0 ? undefined : told.reduce((newest, { at }) => Math.max(newest, at), 0);
  const isOvertaken = ({ dueUntil }: Crossing) => (newestAt ?? 0) >= dueUntil + overtakenMs;
  const repeatedAt = sightings.filter(({ at, receivedAt, hasOwnTime }) => hasOwnTime && receivedAt - at > lateMs);
  return {
    isDown: (crossing: Crossing) => downOf(crossing) !== undefined,
    /** The id of the downtime or the sleep in which the crossing lies, see `downId`. */
    downIdOf(crossing: Crossing): string | undefined {
      const down = downOf(crossing) ?? downtimes.find(overlaps(crossing));
      return down && downId(down);
    },
    freshMs,
    isFresh: (crossing: Crossing) => now < crossing.dueUntil + freshMs && !isOvertaken(crossing),
    newestAt,
    /** Too little time has passed since the crossing, or since a relay ran again after a downtime. */
    isOnItsWay(crossing: Crossing, leastMs: number): boolean {
      const backAt = downtimes.filter((down) => overlaps(crossing)(down)).map(({ toAt }) => toAt);
      const fromAt = Math.max(crossing.dueUntil, ...backAt);
      if ((newestAt ?? 0) <= crossing.dueUntil) return true;
      return now - fromAt < Math.max(leastMs, usualMs * 2) && (backAt.length > 0 || !isOvertaken(crossing));
    },
    /** Other alerts of the same downtime arrived after it, so this one may still come. */
    mayStillCome: (crossing: Crossing) =>
      downtimes.some(
        (down) =>
          overlaps(crossing)(down) &&
          now - down.toAt < mostLateMs &&
          repeatedAt.some(({ at }) => at >= down.fromAt && at < down.toAt),
      ),
    /** The relay did nothing then, or its clock was set. The two cannot be told apart. */
    wasAway: (crossing: Crossing) => downtimes.some((down) => down.asleep === true && overlaps(crossing)(down)),
    /** Why an alert of that time may be the missing one. Undefined: none can be. */
    mayHaveCome(crossing: Crossing): string | undefined {
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

/** Alerts after a downtime of the relay do not count: the downtime delayed them. */
function usualLateness(told: readonly Sighting[], downtimes: readonly Downtime[]) {
  const inOrder = told
    .filter(({ hasOwnTime, at }) => hasOwnTime && !downtimes.some((down) => at >= down.fromAt && at < down.toAt))
    .sort((a, b) => a.receivedAt - b.receivedAt);
  let front = 0;
  const behind = inOrder.map(({ at }) => {
    front = Math.max(front, at);
    return front - at;
  });
  return { usualMs: mostBut(inOrder.map(({ at, receivedAt }) => receivedAt - at)), disorderMs: mostBut(behind) };
}

function mostBut(values: number[]): number {
  const sorted = values.sort((a, b) => b - a);
  return Math.max(0, sorted[Math.max(mostOdd, Math.floor(values.length * usualShare))] ?? 0);
}

export function downId({ toAt }: Downtime): string {
  return `down ${toAt}`;
}

/** The alert does not contradict the crossing. */
export function maySay({ holds }: Sighting, crossing: Crossing): boolean {
  return holds === undefined || holds === crossing.holds;
}
