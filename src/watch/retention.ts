import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createPoll } from "../core/poll.ts";
import type { Retention, RetentionRules } from "../core/ports/retention.ts";

export interface RetentionDeps {
  store: Retention;
  rules: RetentionRules;
  clock: Clock;
  log: Log;
}

const everyMs = 60_000;
/** A machine that has just started may have a clock that is years ahead, and everything would be old. */
const firstAfterMs = 10 * 60_000;

/**
 * However large the log is, what came within the last hour stays: calls of it may still be under way, and to remove it
 * would be to remove what people are looking at.
 */
const youngestRemovedMs = 3_600_000;

/** Between these a step is neither so long that an alert waits for it, nor so short that it is mostly its sync. */
const shortMs = 1;
const longMs = 2;
const leastLimit = 4;
const mostLimit = 512;

/** So long that its commits are few among those of the alerts: with rests of four times the step, one in a hundred alerts waited half as long again. */
const restPerStep = 20;
const leastRestMs = 10;
const mostRestMs = 5_000;

/**
 * Removes alerts that are older than the rules say, then the oldest until the log is as small as they say, and gives
 * the room back to the disk: in small steps with rests between them.
 */
export function createRetention({ store, rules, clock, log }: RetentionDeps): {
  run(stop: AbortSignal): Promise<void>;
} {
  let limit = 16;

  /** What is written has to be synced as well: where that takes long, and where many wait for it, the rests are longer. */
  async function timed<T extends { tookMs: number }>(step: Promise<T>): Promise<T & { wholeMs: number }> {
    const askedAt = clock.now();
    const done = await step;
    return { ...done, wholeMs: Math.max(done.tookMs, clock.now() - askedAt) };
  }

  const rest = (wholeMs: number, stop: AbortSignal) =>
    clock.sleep(Math.min(mostRestMs, Math.max(leastRestMs, wholeMs * restPerStep)), stop);

  function adaptLimit(tookMs: number): void {
    if (tookMs < shortMs) limit = Math.min(mostLimit, limit * 2);
    if (tookMs > longMs) limit = Math.max(leastLimit, Math.floor(limit / 2));
  }

  /** Through all that came before, or until `isEnough`. Gives how many were removed, and what the log takes then. */
  async function remove(receivedBefore: number, isEnough: (usedBytes: number) => boolean, stop: AbortSignal) {
    let removed = 0;
    for (let step = await timed(store.removeAlerts({ receivedBefore, limit })); ; ) {
      removed += step.removed;
      const { next: after, usedBytes, tookMs, wholeMs } = step;
      if (after === undefined || isEnough(usedBytes) || stop.aborted) return { removed, usedBytes };
      adaptLimit(tookMs);
      await rest(wholeMs, stop);
      if (stop.aborted) return { removed, usedBytes };
      step = await timed(store.removeAlerts({ after, receivedBefore, limit }));
    }
  }

  async function giveBackRoom(stop: AbortSignal): Promise<void> {
    while (store.giveBackRoom !== undefined && !stop.aborted) {
      const { more, wholeMs } = await timed(store.giveBackRoom());
      if (!more) return;
      await rest(wholeMs, stop);
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
      const poll = createPoll({
        look: () => look(stop),
        everyMs,
        clock,
        onFailed: (error) => log.error("retention.failed", { error: String(error).slice(0, 300) }),
      });
      await clock.sleep(firstAfterMs, stop);
      await poll.run(stop);
    },
  };
}
