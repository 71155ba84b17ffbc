import type { Now } from "../../core/clock.ts";

/**
 * Waiting by the injected clock: whoever waits is woken by `runDue`, which the service calls on every tick. Tests move
 * the clock by hand and tick; nothing sleeps.
 */
export interface Timeline {
  /** Resolves true at the first tick at or after the instant, false when the sandbox closes before. */
  waitUntil(at: number): Promise<boolean>;
  runDue(): void;
  /** How many wait. */
  waiting(): number;
  close(): void;
}

export function createTimeline(now: Now): Timeline {
  const waiters = new Set<{ at: number; wake: (isDue: boolean) => void }>();
  let isClosed = false;

  return {
    waitUntil(at) {
      if (isClosed) return Promise.resolve(false);
      if (at <= now()) return Promise.resolve(true);
      return new Promise((wake) => waiters.add({ at, wake }));
    },
    runDue() {
      for (const waiter of waiters) {
        if (waiter.at > now()) continue;
        waiters.delete(waiter);
        waiter.wake(true);
      }
    },
    waiting: () => waiters.size,
    close() {
      isClosed = true;
      for (const waiter of waiters) waiter.wake(false);
      waiters.clear();
    },
  };
}
