import { Budget } from "../../core/budget.ts";
import type { Now } from "../../core/clock.ts";
import type { DrawAlertPicture } from "../../core/ports/alert-picture.ts";

/** A mail cannot be changed once it was sent, so it waits for its picture: so long. */
const waitMs = 2_000;
const slowMs = 1_000;
/** The most calls of a mail account that wait at a time, so that others go by. */
const mostWaiting = 2;
/** After this many slow ones in a row none is waited for. */
const slowToRest = 2;
const restMs = 5 * 60_000;
/** A flood of mails gets none. */
const mostAMinute = 20;
const minuteMs = 60_000;

/** The picture for a mail, or undefined where there is none in time. Never rejects. */
export type WaitForPicture = ReturnType<typeof createPatience>;

/**
 * Waits for pictures as long as mails can bear it: 2 s each, two mails at a time and 20 a minute, and for some minutes not
 * at all when drawing has become slow, as it does while the market-data service hangs.
 */
export function createPatience(draw: DrawAlertPicture, now: Now) {
  const asked = new Budget({ now }, mostAMinute, minuteMs);
  /** One is spent when a rest begins; until it is left again, no picture is waited for. */
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
