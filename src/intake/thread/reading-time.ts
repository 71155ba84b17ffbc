/** What is seen of a reading thread at one moment. */
export interface Look {
  /** The body that is being read, from 1; see `protocol.ts`. */
  place: number;
  /** Milliseconds of a clock that nobody sets. */
  now: number;
  /** Milliseconds of processor time that all threads of this process have had. */
  cpuMs: number;
}

export interface ReadingTimeOptions {
  /** Between two looks. */
  lookEveryMs: number;
  /** How long the body at this place may take, of the time that the thread has had. */
  limitOf(place: number): number;
  start: Pick<Look, "now" | "cpuMs">;
}

/**
 * A thread that waits for what never comes uses no processor. This many times the limit is long also for a busy
 * machine.
 */
const patience = 30;

/**
 * Judges whether a body has had its time, by what the thread could do and not by a clock on the wall. A process that is
 * stopped, a machine that sleeps, and one that is busy with others would otherwise be the fault of the body that was
 * being read.
 *
 * Node 20 does not say what one thread has used; the process's time is the most that it can be. Others of the process
 * that work meanwhile take as much as the thread at most each, since the kernel is fair to those that can run, and the
 * limit is ten times what a body takes. What looks late was kept from looking, as the thread may have been, so no single look
 * counts for much.
 *
 * @returns to be called at each look: whether the body at this place has had its time.
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
