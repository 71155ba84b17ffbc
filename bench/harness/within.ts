import { killAll } from "./processes.ts";

/**
 * Runs a function that starts processes and waits for them. After the time all are killed, so each wait ends with an error and the
 * run cleans up. After a failure they are killed too, as a load may still run.
 * @throws the function's error, or that it was too late
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
