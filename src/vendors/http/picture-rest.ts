import { Budget } from "../../core/budget.ts";
import type { Now } from "../../core/clock.ts";
import type { Outcome } from "../../core/delivery.ts";

/** How long a destination gets no pictures after a picture has harmed its message. */
const restMs = 30 * 60_000;
/** A slower answer begins a rest: the vendor fetches the picture before it answers. */
const slowMs = 5_000;

/**
 * Keeps pictures from losing or delaying a text. A message whose picture is refused is sent `without` at once. A
 * refusal, a slow answer or no answer begins a rest without pictures. `withPicture` undefined: no picture.
 */
export function createPictureRest(now: Now) {
  /** A rest spends the single unit, which returns after `restMs`. */
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
