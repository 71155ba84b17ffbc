import { expect } from "vitest";
import type { RelayProcess } from "./relay-process.ts";

/** Posts alerts to a relay from several senders at once, each behind the answer to the one before, until it is ended. */
export function keepPosting(relay: RelayProcess, senders: number, bodyOf: (sender: number, count: number) => string) {
  /** Ids of what was answered 202. */
  const accepted: string[] = [];
  /** The statuses of all others; 0 where nothing answered. */
  const refused: number[] = [];
  let isOver = false;
  async function post(sender: number): Promise<void> {
    for (let count = 0; !isOver; count += 1) {
      const answer = await relay.post(bodyOf(sender, count)).catch(() => undefined);
      if (answer?.status === 202) accepted.push(...answer.ids);
      else refused.push(answer?.status ?? 0);
    }
  }
  const all = Array.from({ length: senders }, (_, sender) => post(sender));
  return {
    accepted,
    refused,
    /** Waits until this many more were taken. */
    async grow(many: number) {
      const wanted = accepted.length + many;
      await expect.poll(() => accepted.length).toBeGreaterThanOrEqual(wanted);
    },
    async end() {
      isOver = true;
      await Promise.all(all);
    },
  };
}
