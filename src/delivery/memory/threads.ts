import type { DueDelivery, Thread, ThreadUpdate } from "../../core/delivery-job.ts";

type Keyed = Pick<DueDelivery, "destination" | "recipient" | "alertKey">;

/**
 * The threads of one lane that are changed by messages whose record is not on disk yet: a claim of the same run has read
 * the thread as it was before them. Kept while any claim of the key is under way, so a later claim reads what is stored.
 */
export interface ThreadMemory {
  hold(delivery: Keyed): void;
  release(delivery: Keyed): void;
  note(delivery: Keyed, update: ThreadUpdate): void;
  latest(delivery: Keyed): Thread | undefined;
}

export function createThreadMemory(): ThreadMemory {
  const known = new Map<string, { claims: number; thread?: Thread }>();
  const keyOf = ({ recipient, alertKey }: Keyed) => `${recipient}\n${alertKey}`;
  return {
    hold(delivery) {
      const key = keyOf(delivery);
      const entry = known.get(key);
      if (entry) entry.claims += 1;
      else known.set(key, { claims: 1 });
    },
    release(delivery) {
      const key = keyOf(delivery);
      const entry = known.get(key);
      if (!entry) return;
      entry.claims -= 1;
      if (entry.claims === 0) known.delete(key);
    },
    note({ destination, recipient, alertKey }, update) {
      const entry = known.get(keyOf({ destination, recipient, alertKey }));
      if (entry) entry.thread = { destination, recipient, alertKey, ...update };
    },
    latest: (delivery) => known.get(keyOf(delivery))?.thread,
  };
}
