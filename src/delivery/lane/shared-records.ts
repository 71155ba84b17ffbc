import type { Clock } from "../../core/clock.ts";
import type { AttemptRecord } from "../../core/ports/dispatch.ts";
import type { LaneStore } from "./context.ts";

/** Half of a run's bound on unrecorded calls: calls continue while the other half is committed. */
const mostTogether = 8;
const longestWaitMs = 5;

interface Waiting {
  attempt: AttemptRecord;
  resolve(result: "recorded" | "late"): void;
  reject(error: unknown): void;
}

/** Records attempts of one lane together: a commit costs more than the rows in it. */
export class SharedRecords {
  #waiting: Waiting[] = [];

  constructor(private readonly deps: { store: Pick<LaneStore, "recordAttempts">; clock: Clock }) {}

  /** Resolves when the attempt is on disk. Rejects as the store does, for all attempts of the same commit. */
  record(attempt: AttemptRecord): Promise<"recorded" | "late"> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ attempt, resolve, reject });
      if (this.#waiting.length >= mostTogether) this.flush();
      else if (this.#waiting.length === 1) void this.#flushSoon(this.#waiting);
    });
  }

  /** Hands the waiting attempts to the store at once: no other will follow soon. */
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
