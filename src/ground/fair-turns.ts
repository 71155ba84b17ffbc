export interface FairTurnLimits {
  /** Pieces of work that run at the same time. */
  atOnce: number;
  /** What one party may have waiting and running, in the unit of the sizes. One piece is always taken. */
  mostOfOne: number;
}

/** @returns undefined, without beginning the work, where its party has too much waiting */
export type TakeFairTurn = <T>(party: string, size: number, work: () => Promise<T>) => Promise<T> | undefined;

interface Party {
  waiting: (() => void)[];
  size: number;
  isBusy: boolean;
}

/**
 * Turns for work of several parties, one turn at a time for each; none waits behind the work of another:
 * whose turn ended goes to the end of the row.
 */
export function createFairTurns({ atOnce, mostOfOne }: FairTurnLimits): TakeFairTurn {
  /** The parties that have work, in the order of their next turns. */
  const parties = new Map<string, Party>();
  let running = 0;

  function beginNext(): void {
    for (const party of parties.values()) {
      if (running === atOnce) return;
      const begin = party.isBusy ? undefined : party.waiting.shift();
      if (begin === undefined) continue;
      party.isBusy = true;
      running += 1;
      begin();
    }
  }

  return (name, size, work) => {
    const party = parties.get(name) ?? { waiting: [], size: 0, isBusy: false };
    if (party.size > 0 && party.size + size > mostOfOne) return undefined;
    parties.set(name, party);
    party.size += size;
    const turn = new Promise<void>((resolve) => party.waiting.push(resolve));
    beginNext();
    return turn.then(work).finally(() => {
      party.size -= size;
      party.isBusy = false;
      running -= 1;
      parties.delete(name);
      if (party.waiting.length > 0) parties.set(name, party);
      beginNext();
    });
  };
}
