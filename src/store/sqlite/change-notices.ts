import type { StoreChange } from "../../core/ports/store.ts";

export interface ChangeNotices {
  /** Tells everybody once for each version, in a turn of its own: a listener that throws must not undo a committed call. */
  announce(version: number): void;
  subscribe(listener: (change: StoreChange) => void): () => void;
}

export function createChangeNotices(): ChangeNotices {
  const listeners = new Set<(change: StoreChange) => void>();
  let lastVersion = -1;
  return {
    announce(version) {
      if (version <= lastVersion) return;
      lastVersion = version;
      for (const listener of listeners) {
        queueMicrotask(() => {
          if (listeners.has(listener)) listener({ version });
        });
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
