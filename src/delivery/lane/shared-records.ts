import type { Clock } from "../../core/clock.ts";
import type { AttemptRecord } from "../../core/ports/dispatch.ts";
import type { LaneStore } from "./context.ts";

/** Half of what a run leaves unrecorded, so that calls go on while as many are committed. */
const mostTogether = 8;
const longestWaitMs = 5;

interface Waiting {
  attempt: AttemptRecord;
  resolve(result: "recorded" | "late"): void;
  reject(error: unknown): void;
}

/** Attempts of one lane that are recorded together: a commit costs more than what is in it. */
export class SharedRecords {
  #waiting: Waiting[] = [];

  constructor(private readonly deps: { store: Pick<LaneStore, "recordAttempts">; clock: Clock }) {}

  /** Resolves when it is on disk; rejects as the store does, for all that were handed over with it. */
  record(attempt: AttemptRecord): Promise<"recorded" | "late"> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ attempt, resolve, reject });
      if (this.#waiting.length >= mostTogether) this.flush();
      else if (this.#waiting.length === 1) void this.#flushSoon(this.#waiting);
    });
  }

  /** Hands over what there is, since nothing will follow soon. */
  flush(): void {
    const together = this.#waiting;
    this.#waiting = [];
    if (together.length > 0) void this.#hand(together);
  }

  async #flushSoon(together: Waiting[]): Promise<void> {
    await this.deps.clock.sleep(longestWaitMs);
    if (this.#waiting === together) this.flush();
  }

  async #hand(together: Waiting[]): Promise<void> {
    try {
      const results = await this.deps.store.recordAttempts(together.map(({ attempt }) => attempt));
      for (const [index, { resolve }] of together.entries()) resolve(results[index] ?? "late");
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  }
}
