import { Budget } from "../../core/budget.ts";
import type { Now } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";

/** How long a destination gets no pictures after one that its message suffered from. */
const restMs = 30 * 60_000;
/** A vendor that fetches the picture before it answers, and has to wait for it. */
const slowMs = 5_000;

/**
 * Sends messages with pictures. No picture loses or delays a text.
 *
 * `withPicture`, if now is a time for it; undefined: the message has none. A message that is refused is sent `without` at once, as
 * the same call; after that, and after one that was slow or that nobody answered for, there are no pictures for half an hour.
 */
export function createPictureRest(now: Now) {
  /** One is spent when a rest begins; until it is left again, there are no pictures. */
  const rests = new Budget({ now }, 1, restMs);
  return async (
    withPicture: (() => Promise<Outcome>) | undefined,
    without: () => Promise<Outcome>,
  ): Promise<Outcome> => {
    if (withPicture === undefined || !rests.isLeft()) return without();
    const startedAt = now();
    const outcome = await withPicture();
    const isRefused = outcome.kind === "rejected" && outcome.scope === "message";
    if (isRefused || outcome.kind === "ambiguous" || now() - startedAt > slowMs) rests.spend();
    if (!isRefused) return outcome;
    const again = await without();
    if (again.kind !== "sent") return again;
    return { ...again, note: `Sent without its picture, with which it was refused: ${outcome.detail}` };
  };
}
