import type { Clock } from "./clock.ts";

export interface Poll {
  /** Looks at once, or once more after the present look. */
  wake(): void;
  /** Looks at once, then repeatedly until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

export interface PollOptions {
  look(): Promise<void>;
  /**
   * The longest wait between two looks, which bounds the delay of a lost signal. A function is asked anew after each look.
   * Milliseconds.
   */
  everyMs: number | (() => number);
  clock: Pick<Clock, "now" | "sleep">;
  /** Called for the first of consecutive failures. */
  onFailed(error: unknown): void;
}

/** Made once, since each `abort()` without a reason makes an exception with a stack. */
const woken = new Error("woken");

/** Looks whenever a signal wakes it, and at intervals without one. One look runs at a time. */
export function createPoll({ look, everyMs, clock, onFailed }: PollOptions): Poll {
  let waiting = new AbortController();
  let isFailing = false;

  async function lookOnce(): Promise<void> {
    try {
      await look();
      isFailing = false;
    } catch (error) {
      if (!isFailing) onFailed(error);
      isFailing = true;
    }
  }

  const wake = () => waiting.abort(woken);
  return {
    wake,
    async run(stop) {
      stop.addEventListener("abort", wake, { once: true });
      while (!stop.aborted) {
        waiting = new AbortController();
        await lookOnce();
        await clock.sleep(typeof everyMs === "number" ? everyMs : everyMs(), waiting.signal);
      }
    },
  };
}
