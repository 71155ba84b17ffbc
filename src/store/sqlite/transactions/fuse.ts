import { isDiskFull } from "../store-error.ts";
import { RunAgain } from "./context.ts";

/** Accepting goes on without what has failed for this long; then it is tried again. */
const blownMs = 60_000;

/** Stands before a part of accepting that an alert can do without, such as looking for an earlier one. */
export interface Fuse {
  /** Why the part is to be left out for an alert of that time. Undefined: it is not. */
  blown(at: number): string | undefined;
  /**
   * Runs the part.
   * @throws RunAgain when it fails; it is left out from then on. A full disk is no failure of the part, and is thrown on.
   */
  guard<T>(at: number, part: () => T): T;
}

export function createFuse(): Fuse {
  let blownAt = Number.NEGATIVE_INFINITY;
  let why = "";
  return {
    // A clock that was set back must not leave it blown for longer.
    blown: (at) => (Math.abs(at - blownAt) < blownMs ? why : undefined),
    guard(at, part) {
      try {
        return part();
      } catch (error) {
        if (isDiskFull(error)) throw error;
        blownAt = at;
        why = (error as Error).message;
        throw new RunAgain(why, { cause: error });
      }
    },
  };
}
