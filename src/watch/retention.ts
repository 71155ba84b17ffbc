import type { Now } from "../core/clock.ts";
import { logFailure } from "../core/log.ts";
import { createPoll } from "../core/poll.ts";
import type { Removal, Retention, RetentionRules } from "../core/ports/retention.ts";
import type { Duty, WatchDeps } from "./watch.ts";

export interface RetentionDeps extends Pick<WatchDeps, "clock" | "log"> {
  store: Retention;
  rules: RetentionRules;
}

const everyMs = 60_000;
/** The clock of a machine that has just started may be years ahead, and everything would count as old. */
const firstAfterMs = 10 * 60_000;
/** No busy machine is this late between two looks. */
const jumpMs = 60_000;

/** Alerts of the last hour stay in any case: calls for them may be under way, and people look at them. */
const youngestRemovedMs = 3_600_000;

/**
 * The longest step, milliseconds. Alerts wait for it, so it is short while alerts come in. A longer step writes fewer
 * pages for each removed alert. `behind`: small steps are slower than a flood. `alone`: no alerts come in.
 */
const beforeOthers = { longestStepMs: { usual: 1, behind: 2, alone: 10 }, leastLimit: 4 };
/** Where no alert waits for a step. With 4 alerts a step, an alert costs the server forty times as much as with 512. */
const besideOthers = { longestStepMs: { usual: 100, behind: 250, alone: 500 }, leastLimit: 64 };
const mostLimit = 512;

const leastRestMs = 2;
const mostRestMs = 5_000;

/** Removes alerts that are too old, then the oldest ones while the log is too large, and gives the room back. */
export function createRetention({ store, rules, clock, log }: RetentionDeps): Duty {
  const { longestStepMs, leastLimit } = store.removesBesideOthers ? besideOthers : beforeOthers;
  let limit = leastLimit;
  const pace = createPace(clock.now);

  /** `wholeMs` includes the sync to the disk and the wait for the store. The rests grow with it. */
  async function timed<T extends { tookMs: number }>(step: Promise<T>): Promise<T & { wholeMs: number }> {
    const askedAt = clock.now();
    const done = await step;
    return { ...done, wholeMs: Math.max(done.tookMs, clock.now() - askedAt) };
  }

  const rest = (step: Step, stop: AbortSignal) => clock.sleep(pace.restAfter(step), stop);

  function adaptLimit(tookMs: number, isBehind: boolean): void {
    const most = longestStepMs[pace.isAlone() ? "alone" : isBehind ? "behind" : "usual"];
    if (tookMs < most / 2) limit = Math.min(mostLimit, limit * 2);
    if (tookMs > most) limit = Math.max(leastLimit, Math.floor(limit / 2));
  }

  async function remove(receivedBefore: number, isEnough: (usedBytes: number) => boolean, stop: AbortSignal) {
    let removed = 0;
    let leastUsed = Number.POSITIVE_INFINITY;
    for (let after: Removal["next"]; ; ) {
      const step = await timed(store.removeAlerts({ after, receivedBefore, limit }));
      const { next, usedBytes, tookMs, wholeMs } = step;
      removed += step.removed;
      if (next === undefined || isEnough(usedBytes) || stop.aborted) return { removed, usedBytes };
      after = next;
      pace.note(step.accepted);
      // A step that removes nothing passed only unfinished alerts, `limit` of them.
      const alerts = step.removed > 0 ? step.removed : limit;
      leastUsed = Math.min(leastUsed, usedBytes);
      adaptLimit(tookMs, usedBytes > leastUsed * growthBehind);
      await rest({ wholeMs, alerts, isGrowing: usedBytes > leastUsed * growth }, stop);
      if (stop.aborted) return { removed, usedBytes };
    }
  }

  async function giveBackRoom(stop: AbortSignal): Promise<void> {
    while (store.giveBackRoom !== undefined && !stop.aborted) {
      const { more, wholeMs } = await timed(store.giveBackRoom());
      if (!more) return;
      await rest({ wholeMs, alerts: mostLimit, isGrowing: false }, stop);
    }
  }

  async function look(stop: AbortSignal): Promise<void> {
    const { maxAgeMs = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY } = rules;
    const now = clock.now();
    let { removed, usedBytes } = await remove(Math.max(0, now - maxAgeMs), () => false, stop);
    if (usedBytes > maxBytes) {
      const ofSize = await remove(now - youngestRemovedMs, (bytes) => bytes <= maxBytes, stop);
      removed += ofSize.removed;
      usedBytes = ofSize.usedBytes;
    }
    await giveBackRoom(stop);
    if (removed > 0) log.info("retention.removed", { removed, usedBytes });
  }

  return {
    async run(stop) {
      if (rules.maxAgeMs === undefined && rules.maxBytes === undefined) return;
      let endedAt: number | undefined;
      const poll = createPoll({
        async look() {
          // The machine slept, or its clock was moved: it counts as just started.
          const jumped = endedAt !== undefined && Math.abs(clock.now() - endedAt - everyMs) > jumpMs;
          if (jumped) await clock.sleep(firstAfterMs, stop);
          try {
            if (!stop.aborted) await look(stop);
          } finally {
            endedAt = clock.now();
          }
        },
        everyMs,
        clock,
        onFailed: logFailure(log, "retention.failed"),
      });
      await clock.sleep(firstAfterMs, stop);
      await poll.run(stop);
    },
  };
}

/** Steps take at most a twentieth of the time, as long as the log does not grow. */
const longestRest = 20;
/** A rest is at least as long as the step, also while the log grows or while no alerts come in. */
const shortestRest = 1;
/** How far a flood may make the log grow before the rests get shorter. */
const growth = 1.05;
/** How far the log may grow before the steps get longer. */
const growthBehind = 1.1;
/** Removes a quarter faster than alerts come in, so a log that has grown shrinks. */
const ahead = 1.25;
const perRoundMs = 1_000;
const leastPerSecond = 1;

interface Step {
  wholeMs: number;
  /** The number of alerts that the step passed. */
  alerts: number;
  isGrowing: boolean;
}

/** Rests are long while alerts come in, as alerts wait for each step. A growing log shortens them. */
function createPace(now: Now) {
  let round: { at: number; accepted: number } | undefined;
  let perSecond: number | undefined;

  return {
    note(accepted: number): void {
      round ??= { at: now(), accepted };
      const elapsedMs = now() - round.at;
      if (elapsedMs >= 0 && elapsedMs < perRoundMs) return;
      perSecond = elapsedMs < 0 ? undefined : (1000 * (accepted - round.accepted)) / elapsedMs;
      round = { at: now(), accepted };
    },

    isAlone: () => perSecond !== undefined && perSecond < leastPerSecond,

    restAfter({ wholeMs, alerts, isGrowing }: Step): number {
      const longest = Math.min(mostRestMs, Math.max(leastRestMs, wholeMs * longestRest));
      const shortest = Math.max(leastRestMs, wholeMs * shortestRest);
      if (perSecond === undefined) return longest;
      if (perSecond < leastPerSecond) return shortest;
      if (!isGrowing) return longest;
      return Math.min(longest, Math.max(shortest, (1000 * alerts) / (perSecond * ahead) - wholeMs));
    },
  };
}
