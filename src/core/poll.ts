import type { Clock } from "./clock.ts";

export interface Poll {
  /** Looks at once. While a look runs, looks once more after it. */
  wake(): void;
  /** Looks at once, then repeatedly until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

export interface PollOptions {
  look(): Promise<void>;
  /** The longest wait between two looks. A function is asked after each look. */
  everyMs: number | (() => number);
  clock: Pick<Clock, "now" | "sleep">;
  /** Called for the first failure of several in a row. */
  onFailed(error: unknown): void;
}

/** One error for all: `abort()` without a reason makes an exception with a stack each time. */
const woken = new Error("woken");

/** Looks at intervals, and whenever `wake` is called. One look runs at a time. */
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
