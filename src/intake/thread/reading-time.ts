/** One moment, while a body is read. */
export interface Look {
  /** The body that is being read: how many were read before it. */
  place: number;
  /** Monotonic, milliseconds. */
  now: number;
  /** All threads of this process together. */
  cpuMs: number;
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
 * @param limitOf processor time for the body at a place, milliseconds
 * @returns a function for each look: whether the body has used up its time
 */
export function createReadingTime({ lookEveryMs, limitOf }: { lookEveryMs: number; limitOf(place: number): number }) {
  let last: Look | undefined;
  let workedMs = 0;
  let waitedMs = 0;
  return (look: Look): boolean => {
    if (last?.place === look.place) {
      const passedMs = Math.min(look.now - last.now, 2 * lookEveryMs);
      workedMs += Math.min(passedMs, look.cpuMs - last.cpuMs);
      waitedMs += passedMs;
    } else [workedMs, waitedMs] = [0, 0];
    last = look;
    const limitMs = limitOf(look.place);
    return workedMs >= limitMs || waitedMs >= patience * limitMs;
  };
}
