import type { Clock } from "./clock.ts";

export interface Poll {
  /** Looks at once, or once more behind the look that is under way. */
  wake(): void;
  /** Looks now, then again and again until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

export interface PollOptions {
  look(): Promise<void>;
  /** The longest wait between two looks: how late a lost signal is found. Milliseconds. */
  everyMs: number;
  clock: Clock;
  /** Called for the first of looks that fail one after another. */
  onFailed(error: unknown): void;
}

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

  const wake = () => waiting.abort();
  return {
    wake,
    async run(stop) {
      stop.addEventListener("abort", wake, { once: true });
      while (!stop.aborted) {
        waiting = new AbortController();
        await lookOnce();
        await clock.sleep(everyMs, waiting.signal);
      }
    },
  };
}
