/** Epoch milliseconds now. Injected everywhere, so that tests move time by hand. */
export type Now = () => number;

/** Uniform in [0, 1). Injected; used for jitter only. */
export type Random = () => number;

/** Time as the long-running parts see it; tests move it by hand. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
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
};
