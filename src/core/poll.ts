import type { Clock } from "./clock.ts";

export interface Poll {
  /** Looks at once, or once more behind the look that is under way. */
  wake(): void;
  /** Looks now, then again and again until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

export interface PollOptions {
  look(): Promise<void>;
  /**
   * The longest wait between two looks: how late a lost signal is found. Asked anew after each look where it is a
   * function. Milliseconds.
   */
  everyMs: number | (() => number);
  clock: Pick<Clock, "now" | "sleep">;
  /** Called for the first of looks that fail one after another. */
  onFailed(error: unknown): void;
}

/** A reason that is made once: each of `abort()` without one is an exception with a stack. */
const woken = new Error("woken");

/** One look at a time: whenever a signal wakes it, and now and then without one. */
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
