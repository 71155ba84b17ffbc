/** The state of a reading thread at one moment. */
export interface Look {
  /** The body that is being read, from 1. See `protocol.ts`. */
  place: number;
  /** Milliseconds of a monotonic clock. */
  now: number;
  /** Processor time of all threads of this process, milliseconds. */
  cpuMs: number;
}

export interface ReadingTimeOptions {
  /** The time between two looks, milliseconds. */
  lookEveryMs: number;
  /** The processor time allowed for the body at this place, milliseconds. */
  limitOf(place: number): number;
  start: Pick<Look, "now" | "cpuMs">;
}

/** A thread that waits forever uses no processor time. This many times the limit is long even on a busy machine. */
const patience = 30;

/**
 * Judges whether a body has used up its time, by processor time and not by wall time. Otherwise a stopped process, a sleeping
 * machine or a busy one would count against the body that is being read.
 *
 * Node 20 does not report the time of one thread, so the process's time is an upper bound. Each other busy thread of the
 * process takes at most as much as this one, since the kernel is fair, and the limit is ten times what a body takes. A late
 * look means that this thread was held up, perhaps with the reading one, so no single look counts for much.
 *
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
