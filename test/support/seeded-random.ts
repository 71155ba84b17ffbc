/** The same numbers for the same seed (mulberry32). */
export type SeededRandom = ReturnType<typeof createSeededRandom>;

export function createSeededRandom(seed: number) {
  let state = seed;
  /** From 0 up to, and without, 1. */
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  /** A whole number from 0 up to, and without, `end`. */
  const below = (end: number) => Math.floor(next() * end);
  return { next, below, pick: <T>(list: readonly T[]) => list[below(list.length)] as T };
}
