import { killAll } from "./processes.ts";

/** After the time, or a failure, all processes are killed, so each wait ends with an error. @throws that error */
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
