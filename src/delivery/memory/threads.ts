import type { DueDelivery, Thread, ThreadUpdate } from "../../core/delivery-job.ts";

type Keyed = Pick<DueDelivery, "destination" | "recipient" | "alertKey">;

/**
 * The threads of one lane that are changed by messages whose record is not on disk yet: a claim of the same run has read
 * the thread as it was before them. Kept while any claim of the key is under way, so a later claim reads what is stored.
 */
export class ThreadMemory {
  readonly #known = new Map<string, { claims: number; thread?: Thread }>();

  hold = (delivery: Keyed): void => {
    const entry = this.#known.get(keyOf(delivery));
    if (entry) entry.claims += 1;
    else this.#known.set(keyOf(delivery), { claims: 1 });
  };

  release = (delivery: Keyed): void => {
    const entry = this.#known.get(keyOf(delivery));
    if (!entry) return;
    entry.claims -= 1;
    if (entry.claims === 0) this.#known.delete(keyOf(delivery));
  };

  note({ destination, recipient, alertKey }: Keyed, update: ThreadUpdate): void {
    const entry = this.#known.get(keyOf({ destination, recipient, alertKey }));
    if (entry) entry.thread = { destination, recipient, alertKey, ...update };
  }

  latest(delivery: Keyed): Thread | undefined {
    return this.#known.get(keyOf(delivery))?.thread;
  }
}

function keyOf({ recipient, alertKey }: Keyed): string {
  return `${recipient}\n${alertKey}`;
}
