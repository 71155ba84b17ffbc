import type { Clock } from "../../core/clock.ts";
import type { AttemptRecord } from "../../core/ports/dispatch.ts";
import type { LaneStore } from "../lane-store.ts";

/** Attempts of one lane that are recorded together: a commit costs more than what is in it. */
export interface SharedRecords {
  /** Resolves when it is on disk; rejects as the store does, for all that were handed over with it. */
  record(attempt: AttemptRecord): Promise<"recorded" | "late">;
  /** Hands over what there is, since nothing will follow soon. */
  flush(): void;
}

/** Half of what a run leaves unrecorded, so that calls go on while as many are committed. */
const mostTogether = 8;
const longestWaitMs = 5;

interface Waiting {
  attempt: AttemptRecord;
  resolve(result: "recorded" | "late"): void;
  reject(error: unknown): void;
}

export function createSharedRecords(deps: { store: Pick<LaneStore, "recordAttempts">; clock: Clock }): SharedRecords {
  const { store, clock } = deps;
  let waiting: Waiting[] = [];

  function flush(): void {
    const together = waiting;
    waiting = [];
    if (together.length > 0) void hand(together);
  }

  async function hand(together: Waiting[]): Promise<void> {
    try {
      const results = await store.recordAttempts(together.map(({ attempt }) => attempt));
      for (const [index, { resolve }] of together.entries()) resolve(results[index] ?? "late");
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
  }

  async function flushSoon(together: Waiting[]): Promise<void> {
    await clock.sleep(longestWaitMs);
    if (waiting === together) flush();
  }

  return {
    record: (attempt) =>
      new Promise((resolve, reject) => {
        waiting.push({ attempt, resolve, reject });
        if (waiting.length >= mostTogether) flush();
        else if (waiting.length === 1) void flushSoon(waiting);
      }),
    flush,
  };
}
