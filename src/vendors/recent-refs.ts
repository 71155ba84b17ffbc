/** References to messages, the latest thousand of them. */
export interface RecentRefs {
  has(ref: string): boolean;
  add(ref: string): void;
}

const mostRefs = 1_000;

/** Which messages of a channel are known to have a picture. A restart forgets it, so it is never more than a first guess. */
export function createRecentRefs(): RecentRefs {
  const refs = new Set<string>();
  return {
    has: (ref) => refs.has(ref),
    add(ref) {
      refs.add(ref);
      for (const oldest of refs) {
        if (refs.size <= mostRefs) return;
        refs.delete(oldest);
      }
    },
  };
}
