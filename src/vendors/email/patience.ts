import { Budget } from "../../core/budget.ts";
import type { Now } from "../../core/clock.ts";
import type { DrawAlertPicture } from "../../core/ports/alert-picture.ts";

/** How long a mail waits for its picture. A sent mail cannot get one later. */
const waitMs = 2_000;
const slowMs = 1_000;
/** The most mails of an account that wait at once. Others pass them without pictures. */
const mostWaiting = 2;
/** This many slow pictures in a row begin a rest of `restMs`. */
const slowToRest = 2;
const restMs = 5 * 60_000;
/** The most pictures a minute. Further mails get none. */
const mostAMinute = 20;
const minuteMs = 60_000;

export type WaitForPicture = ReturnType<typeof createPatience>;

/** Gets pictures for mails. Undefined where none is ready in time. Never rejects. Slow pictures begin a rest. */
export function createPatience(draw: DrawAlertPicture, now: Now) {
  const asked = new Budget({ now }, mostAMinute, minuteMs);
  /** A rest spends the single unit, which returns after `restMs`. */
  const rests = new Budget({ now }, 1, restMs);
  let waiting = 0;
  let slowInARow = 0;

  return async (alertId: string, options: { timeZone: string; signal: AbortSignal }) => {
    if (waiting >= mostWaiting || !asked.isLeft() || !rests.isLeft()) return undefined;
    const startedAt = now();
    waiting += 1;
    asked.spend();
    try {
      const result = await draw(alertId, { ...options, deadlineMs: waitMs });
      const isSlow = now() - startedAt > slowMs || ("none" in result && result.none === "late");
      slowInARow = isSlow ? slowInARow + 1 : 0;
      if (slowInARow >= slowToRest) {
        rests.spend();
        slowInARow = 0;
      }
      return "none" in result ? undefined : result;
    } catch {
      return undefined;
    } finally {
      waiting -= 1;
    }
  };
}
