import { Budget } from "../../core/budget.ts";
import type { Now } from "../../core/clock.ts";
import type { DrawAlertPicture } from "../../core/ports/alert-picture.ts";

/** How long a mail waits for its picture, as a sent mail cannot be changed. */
const waitMs = 2_000;
const slowMs = 1_000;
/** The most mails of an account that wait at once, so others can pass. */
const mostWaiting = 2;
/** After this many slow pictures in a row no mail waits for one. */
const slowToRest = 2;
const restMs = 5 * 60_000;
/** The most pictures a minute: a flood of mails gets none. */
const mostAMinute = 20;
const minuteMs = 60_000;

/** Gets the picture for a mail. Undefined where there is none in time. Never rejects. */
export type WaitForPicture = ReturnType<typeof createPatience>;

/**
 * Waits for pictures within bounds: 2 s each, two mails at once and 20 a minute. When drawing has become slow, as while the
 * market-data service hangs, it pauses for some minutes.
 */
export function createPatience(draw: DrawAlertPicture, now: Now) {
  const asked = new Budget({ now }, mostAMinute, minuteMs);
  /** A pause spends the single unit, which returns after `restMs`. Meanwhile no mail waits for a picture. */
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
