/** Epoch milliseconds now. Injected everywhere, so tests move time by hand. */
export type Now = () => number;

/** Uniform in [0, 1). Injected; used for jitter only. */
export type Random = () => number;

/** Time for the long-running parts. Tests move it by hand. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Acts after `ms`, unless the returned function is called before. Meant for time limits that are rarely reached: a signal
   * costs more than the timer.
   */
  after(ms: number, act: () => void): () => void;
}

/** Made once, since each `abort()` without a reason makes an exception with a stack. */
const over = new Error("the wait is over");

/** Undefined when no answer comes within `ms` by the clock, or the signal is aborted. Rejects as `asked` does. */
export async function within<T>(
  asked: Promise<T>,
  ms: number,
  clock: Pick<Clock, "sleep">,
  stop?: AbortSignal,
): Promise<T | undefined> {
  const waiting = new AbortController();
  const end = () => waiting.abort(over);
  stop?.addEventListener("abort", end, { once: true });
  if (stop?.aborted) end();
  try {
    return await Promise.race([asked, clock.sleep(ms, waiting.signal).then(() => undefined)]);
  } finally {
    end();
    stop?.removeEventListener("abort", end);
  }
}

/** Resolves when `signal` is aborted, at once when it is aborted already. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Longer waits would overflow Node's timer, which then fires at once. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: Date.now,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted || ms <= 0) {
        resolve();
        return;
      }
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, longestTimerMs));
      signal?.addEventListener("abort", end, { once: true });
    }),
  after(ms, act) {
    const timer = setTimeout(act, Math.min(ms, longestTimerMs));
    return () => clearTimeout(timer);
  },
};
