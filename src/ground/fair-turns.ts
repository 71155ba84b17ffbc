interface Party {
  waiting: (() => void)[];
  size: number;
  isBusy: boolean;
}

/**
 * Gives turns to several parties, so none waits for all the work of another. `atOnce`: pieces that run at the same time.
 * @param mostOfOne what one party may have waiting and running, in the unit of the sizes. One piece is always taken
 */
export function createFairTurns({ atOnce, mostOfOne }: { atOnce: number; mostOfOne: number }) {
  /** Parties with work, in the order of their next turns. */
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

  /** @returns undefined where the party has too much waiting. The work is then not begun */
  return <T>(name: string, size: number, work: () => Promise<T>): Promise<T> | undefined => {
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
