import type { TestClock } from "./test-clock.ts";

/** The states of watches as the store keeps them, for what needs nothing else of it. */
export function keepStates({
  clock,
  kept = new Map(),
}: {
  clock: Pick<TestClock, "sleep">;
  kept?: Map<string, unknown>;
}) {
  const writes: string[] = [];
  const behaviour = { isFailing: false, readingTakesMs: 0 };
  return {
    kept,
    /** Names of what was saved. */
    writes,
    behaviour,
    store: {
      async loadWatchState(name: string) {
        const found = kept.get(name);
        await clock.sleep(behaviour.readingTakesMs);
        return found;
      },
      async changeWatchState({ name, state }: { name: string; state: unknown }, from: unknown) {
        if (behaviour.isFailing) throw new Error("the disk is full");
        if (JSON.stringify(kept.get(name)) !== JSON.stringify(from)) return false;
        writes.push(name);
        kept.set(name, JSON.parse(JSON.stringify(state)));
        return true;
      },
    },
  };
}
