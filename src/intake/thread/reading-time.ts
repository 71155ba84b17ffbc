/** A reading thread at one moment. */
export interface Look {
  /** The body that is being read, from 1 (`protocol.ts`). */
  place: number;
  /** Monotonic, milliseconds. */
  now: number;
  /** All threads of this process together. */
  cpuMs: number;
}

export interface ReadingTimeOptions {
  /** Between two looks. */
  lookEveryMs: number;
  /** Processor time for the body at this place, milliseconds. */
  limitOf(place: number): number;
  start: Pick<Look, "now" | "cpuMs">;
}

/** A thread that waits for ever uses no processor time. This many times the limit is long even on a busy machine. */
const patience = 30;

/**
 * Judges whether a body has used up its time. Processor time counts: wall time would charge the body for a stopped
 * process, a sleeping or a busy machine.
 *
 * Node 20 has no processor time of one thread, so the process's is the upper bound. The kernel is fair, so each other
 * busy thread takes at most as much. The limit is ten times what a body takes. A late look shows that this thread was
 * held up, so no single look counts for much.
 * @returns a function for each look: whether the body at this place has used up its time
 */
export function createReadingTime({ lookEveryMs, limitOf, start }: ReadingTimeOptions) {
  let last: Look = { place: 0, ...start };
  let workedMs = 0;
  let waitedMs = 0;
  return function isOver(look: Look): boolean {
    const passedMs = Math.min(look.now - last.now, 2 * lookEveryMs);
    const isSame = look.place === last.place;
    workedMs = isSame ? workedMs + Math.min(passedMs, look.cpuMs - last.cpuMs) : 0;
    waitedMs = isSame ? waitedMs + passedMs : 0;
    last = look;
    const limitMs = limitOf(look.place);
    return workedMs >= limitMs || waitedMs >= patience * limitMs;
  };
}
