import type { Downtime } from "../../core/gaps.ts";
import { type Crossing, firstFrom } from "./crossings.ts";
import type { GapEvidence, JudgedRule } from "./follow-rules.ts";
import type { Sighting } from "./sightings.ts";

/** One that is known to repeat does so for hours. */
export const mostLateMs = 6 * 3_600_000;
const lateMs = 60_000;

/** An alert is read and routed within this, and what a sender repeats at once is here. */
const leastFreshMs = 5 * 60_000;
/** One in this number of alerts may be later than what is called usual, and a few of a small account. */
const usualShare = 1 / 300;
const mostOdd = 2;
/** What comes so late may come a little later the next time. */
const lateFactor = 1.5;
/** An alert is on its way no longer when others came that happened so much later, however late all of them come. */
const leastOvertakenMs = 3_600_000;

export type Context = ReturnType<typeof createContext>;

/** What is true of a crossing among all others. */
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
    /** An alert may be on its way for so long. */
    freshMs,
    /** Its alert may be on its way, and it is too early to call it missing. */
    isFresh: (crossing: Crossing) => now < crossing.dueUntil + freshMs && !isOvertaken(crossing),
    /** When the newest alert that a rule accounts for happened; undefined: there is none. */
    newestAt,
    /**
     * Nothing later has come yet, or it is younger than `leastMs` and than the latest alerts of this account.
     * While no relay ran it was not on its way: that counts from when one ran again.
     */
    isOnItsWay(crossing: Crossing, leastMs: number): boolean {
      const backAt = downtimes.filter((down) => overlaps(crossing)(down)).map(({ toAt }) => toAt);
      const fromAt = Math.max(crossing.dueUntil, ...backAt);
      if ((newestAt ?? 0) <= crossing.dueUntil) return true;
      return now - fromAt < Math.max(leastMs, usualMs * 2) && (backAt.length > 0 || !isOvertaken(crossing));
    },
    /** Others of the same downtime came when it was over, so this one may still come. */
    mayStillCome: (crossing: Crossing) =>
      downtimes.some(
        (down) =>
          overlaps(crossing)(down) &&
          now - down.toAt < mostLateMs &&
          repeatedAt.some(({ at }) => at >= down.fromAt && at < down.toAt),
      ),
    /** The relay did nothing then, or its clock was set: which of the two nobody can say. */
    wasAway: (crossing: Crossing) => downtimes.some((down) => down.asleep === true && overlaps(crossing)(down)),
    /** Why what came then may hold it after all; undefined: nothing that came can. */
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

/**
 * How late alerts of this account come, and how far behind others that came before them, but for a few. What came after
 * a downtime of the relay was held up here.
 */
function usualLateness(
  told: readonly Sighting[],
  downtimes: readonly Downtime[],
): { usualMs: number; disorderMs: number } {
  const inOrder = told
    .filter(({ hasOwnTime, at }) => hasOwnTime && !downtimes.some((down) => at >= down.fromAt && at < down.toAt))
    .sort((a, b) => a.receivedAt - b.receivedAt);
  let front = 0;
  const behind = inOrder.map(({ at }) => {
    front = Math.max(front, at);
    return front - at;
  });
  return {
    usualMs: mostBut(inOrder.map(({ at, receivedAt }) => receivedAt - at)),
    disorderMs: mostBut(behind),
  };
}

/** The greatest but for a few. */
function mostBut(values: number[]): number {
  const sorted = values.sort((a, b) => b - a);
  return Math.max(0, sorted[Math.max(mostOdd, Math.floor(values.length * usualShare))] ?? 0);
}

export function downId({ toAt }: Downtime): string {
  return `down ${toAt}`;
}

/** It does not say the opposite. */
export function maySay({ holds }: Sighting, crossing: Crossing): boolean {
  return holds === undefined || holds === crossing.holds;
}
