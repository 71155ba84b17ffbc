import { Budget } from "../../core/budget.ts";
import type { Now } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";

/** How long a destination gets no pictures after a picture has harmed its message. */
const restMs = 30 * 60_000;
/** A slow answer: the vendor fetches the picture before it answers. */
const slowMs = 5_000;

/**
 * Sends messages with pictures. No picture loses or delays a text.
 *
 * `withPicture` is used outside of a rest. Undefined: the message has no picture. A refused message is sent `without` at once, in
 * the same call. A refusal, a slow answer or a missing one begins a rest of half an hour without pictures.
 */
export function createPictureRest(now: Now) {
  /** A rest spends the single unit, which returns after `restMs`. Meanwhile there are no pictures. */
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
