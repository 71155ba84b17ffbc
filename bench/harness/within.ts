import { killAll } from "./processes.ts";

/**
 * Runs something that starts processes and waits for them. When it is too late all of them are killed, so that each wait for one
 * ends with an error and the run cleans up behind itself; when it fails, too, as a load may continue that nobody asked for.
 * @throws its error, or that it was not done in time
 */
export async function within<T>(seconds: number, run: () => Promise<T>): Promise<T> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    killAll();
  }, 1000 * seconds);
  try {
    return await run();
  } catch (error) {
    killAll();
    throw isLate ? new Error(`not done in ${seconds} s`) : error;
  } finally {
    clearTimeout(timer);
  }
}
