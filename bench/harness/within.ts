import { killAll } from "./processes.ts";

/** Somebody waited longer than a bench may. */
export class TooLate extends Error {}

/**
 * Runs something that starts processes and waits for them. When it is too late all of them are killed, so that whoever
 * waits for one gets an error and cleans up behind itself; when it fails, too, as a load may go on that nobody asked for.
 * @throws its error, or `TooLate`
 */
export async function within<T>(seconds: number, run: () => Promise<T>): Promise<T> {
  if (seconds <= 0) throw new TooLate("not begun: the time for all is over");
  let isLate = false;
  const timers: NodeJS.Timeout[] = [];
  const late = new TooLate(`not done in ${Math.round(seconds)} s`);
  const kill = () => {
    isLate = true;
    killAll();
  };
  try {
    return await Promise.race([
      run(),
      new Promise<never>((_, reject) => {
        timers.push(setTimeout(kill, 1000 * seconds));
        // Should something wait for no process at all.
        timers.push(setTimeout(reject, 1000 * seconds + 20_000, late));
      }),
    ]);
  } catch (error) {
    killAll();
    throw isLate ? late : error;
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}
