import type { Clock, Now } from "../core/clock.ts";
import { type Log, logFailure } from "../core/log.ts";
import { createPoll } from "../core/poll.ts";
import type { Retention, RetentionRules } from "../core/ports/retention.ts";

export interface RetentionDeps {
  store: Retention;
  rules: RetentionRules;
  clock: Pick<Clock, "now" | "sleep">;
  log: Log;
}

const everyMs = 60_000;
/** A machine that has just started may have a clock that is years ahead, and everything would be old. */
const firstAfterMs = 10 * 60_000;
/** Between two looks no busy machine is that late. */
const jumpMs = 60_000;

/**
 * However large the log is, what came within the last hour stays: calls of it may still be under way, and to remove it
 * would be to remove what people are looking at.
 */
const youngestRemovedMs = 3_600_000;

/**
 * The longest step. An alert may have to wait for one, so it is short while alerts come in. The longer it is, the fewer pages it
 * writes for each alert that it removes: it is longer where small steps do not keep ahead of a flood, and longest where nothing
 * comes in. Half of these lengths is too short.
 */
const longestStepMs = { usual: 1, behind: 2, alone: 10 };
const leastLimit = 4;
/**
 * The bounds where alerts wait for no step. A step waits for its own statements then, however few it removes, so it removes many:
 * with 4 a step an alert costs the server forty times what it costs with 512.
 */
const besideOthers = { longestStepMs: { usual: 100, behind: 250, alone: 500 }, leastLimit: 64 };
const mostLimit = 512;

const leastRestMs = 2;
const mostRestMs = 5_000;

/**
 * Removes alerts that are older than the rules say, then the oldest until the log is as small as they say, and gives
 * the room back to the disk: in small steps with rests between them.
 */
export function createRetention({ store, rules, clock, log }: RetentionDeps): {
  run(stop: AbortSignal): Promise<void>;
} {
  const { longestStepMs: longest, leastLimit: least } = store.removesBesideOthers
    ? besideOthers
    : { longestStepMs, leastLimit };
  let limit = least;
  const pace = createPace(clock.now);

  /** What is written has to be synced as well: where that takes long, and where many wait for it, the rests are longer. */
  async function timed<T extends { tookMs: number }>(step: Promise<T>): Promise<T & { wholeMs: number }> {
    const askedAt = clock.now();
    const done = await step;
    return { ...done, wholeMs: Math.max(done.tookMs, clock.now() - askedAt) };
  }

  const rest = (step: Step, stop: AbortSignal) => clock.sleep(pace.restAfter(step), stop);

  function adaptLimit(tookMs: number, isBehind: boolean): void {
    const most = longest[pace.isAlone() ? "alone" : isBehind ? "behind" : "usual"];
    if (tookMs < most / 2) limit = Math.min(mostLimit, limit * 2);
    if (tookMs > most) limit = Math.max(least, Math.floor(limit / 2));
  }

  /** Through all that came before, or until `isEnough`. Gives how many were removed, and what the log takes then. */
  async function remove(receivedBefore: number, isEnough: (usedBytes: number) => boolean, stop: AbortSignal) {
    let removed = 0;
    let leastUsed = Number.POSITIVE_INFINITY;
    for (let step = await timed(store.removeAlerts({ receivedBefore, limit })); ; ) {
      removed += step.removed;
      const { next: after, usedBytes, tookMs, wholeMs } = step;
      if (after === undefined || isEnough(usedBytes) || stop.aborted) return { removed, usedBytes };
      pace.note(step.accepted);
      // Where all are unfinished, going on is all that can be done.
      const alerts = step.removed > 0 ? step.removed : limit;
      leastUsed = Math.min(leastUsed, usedBytes);
      adaptLimit(tookMs, usedBytes > leastUsed * growthBehind);
      await rest({ wholeMs, alerts, isGrowing: usedBytes > leastUsed * growth }, stop);
      if (stop.aborted) return { removed, usedBytes };
      step = await timed(store.removeAlerts({ after, receivedBefore, limit }));
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
    const ofAge = await remove(Math.max(0, now - maxAgeMs), () => false, stop);
    let { removed, usedBytes } = ofAge;
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
          // It slept, or its clock was moved: like one that has just started.
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

/** A twentieth of the time at most, as long as the log does not grow. */
const longestRest = 20;
/**
 * A rest is at least as long as the step: half of the time is rest where the log grows and alerts come in that fast, and where
 * none do.
 */
const shortestRest = 1;
/** How far a flood may make the log grow before that: most alerts are over by then, and what they left is removed behind them. */
const growth = 1.05;
/** How far it may grow when small steps do not keep ahead of it. */
const growthBehind = 1.1;
/** A quarter faster than alerts come in, so that a log that has grown shrinks. */
const ahead = 1.25;
const perRoundMs = 1_000;
/** With fewer, nothing counts as coming in. */
const leastPerSecond = 1;

interface Step {
  /** How long it took until it was on disk. */
  wholeMs: number;
  /** How many it went past. */
  alerts: number;
  isGrowing: boolean;
}

/**
 * How long the rests are. Each step is one that alerts may wait for, so there are few of them while alerts come in, until
 * the log grows nevertheless: then as many as it takes to keep ahead of them. While nothing comes in nobody waits.
 */
function createPace(now: Now) {
  let round: { at: number; accepted: number } | undefined;
  let perSecond: number | undefined;

  return {
    /** @param accepted how many alerts were ever accepted */
    note(accepted: number): void {
      round ??= { at: now(), accepted };
      const elapsedMs = now() - round.at;
      if (elapsedMs >= 0 && elapsedMs < perRoundMs) return;
      perSecond = elapsedMs < 0 ? undefined : (1000 * (accepted - round.accepted)) / elapsedMs;
      round = { at: now(), accepted };
    },

    /** Nothing came in lately. */
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
