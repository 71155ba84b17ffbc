/** What has to be ended with a run, as it would with a test: the last first. */
export interface Scope {
  atEnd(undo: () => unknown): void;
  end(): Promise<void>;
}

export function createScope(): Scope {
  const undo: (() => unknown)[] = [];
  return {
    atEnd: (one) => void undo.push(one),
    async end() {
      for (const one of undo.splice(0).reverse()) await one();
    },
  };
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** False when it did not come about in time. */
export async function until(isSo: () => boolean | Promise<boolean>, limitMs: number, everyMs = 100): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if (await isSo()) return true;
    await pause(everyMs);
  }
  return isSo();
}
