/** Epoch milliseconds now. */
export type Now = () => number;

/** Uniform in [0, 1). Used for jitter only. */
export type Random = () => number;

/** Time for the long-running parts. Tests move it by hand. */
export interface Clock {
  now(): number;
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Acts after `ms`, unless the returned function is called before. An AbortSignal would cost more than the timer. */
  after(ms: number, act: () => void): () => void;
}

/** One error for all: `abort()` without a reason makes an exception with a stack each time. */
const over = new Error("the wait is over");

/** The answer, or undefined when `signal` is aborted or `ms` have passed. Rejects as `asked` does. */
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

/** Resolves at once when `signal` is aborted already. */
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
