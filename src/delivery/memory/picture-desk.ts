import { Budget } from "../../core/budget.ts";
import type { PictureNotes } from "../../core/picture-outcome.ts";
import type { Illustrate, Illustration } from "../../core/ports/illustration.ts";
import { errorText } from "../../ground/text/error-text.ts";
import { hourMs, minuteMs } from "../../ground/time/spans.ts";
import type { EngineContext } from "../lane/context.ts";

export type Drawing = { illustration: Illustration } | { result: "not_drawn" | "late" | "many"; reason: string };

export type PictureDesk = ReturnType<typeof createPictureDesk>;

/** For a drawing. The rest of three seconds is for the call that adds it. */
const drawWithinMs = 2_000;
/** Drawings that begin in a minute, and in an hour. Each asks the service. */
const mostAMinute = 20;
const mostAnHour = 200;
const mostAtOnce = 4;
/** How long a drawing is kept: the chats of an alert get its text one after another. */
const keepMs = 10_000;

export interface PictureDeskDeps extends Pick<EngineContext, "clock" | "log"> {
  illustrate: Illustrate;
  notes?: Pick<PictureNotes, "note">;
}

/** Draws each alert once for all its chats, with a limit for a minute and an hour. A restart forgets the pictures. */
export function createPictureDesk(deps: PictureDeskDeps) {
  const { illustrate, notes, clock, log } = deps;
  const drawings = new Map<string, { begunAt: number; drawing: Promise<Drawing> }>();
  const ofMinute = new Budget(clock, mostAMinute, minuteMs);
  const ofHour = new Budget(clock, mostAnHour, hourMs);
  let underWay = 0;

  function whyNotNow(): string | undefined {
    if (underWay >= mostAtOnce) return `${mostAtOnce} other pictures were being drawn`;
    if (!ofMinute.isLeft()) return `${mostAMinute} pictures were drawn within the minute before`;
    if (!ofHour.isLeft()) return `${mostAnHour} pictures were drawn within the hour before`;
    return undefined;
  }

  async function begin(alertId: string, timeZone: string): Promise<Drawing> {
    const over = new AbortController();
    underWay += 1;
    const answer = (async () => illustrate(alertId, { timeZone, deadlineMs: drawWithinMs, signal: over.signal }))()
      .then((made): Drawing => ("none" in made ? { result: "not_drawn", reason: made.none } : { illustration: made }))
      .catch((error: unknown): Drawing => {
        log.error("picture.not_drawn", { alert: alertId, error: errorText(error) });
        return { result: "not_drawn", reason: "it could not be drawn; the log says more" };
      });
    const late = clock
      .sleep(drawWithinMs, over.signal)
      .then((): Drawing => ({ result: "late", reason: `it was not drawn within ${drawWithinMs / 1000} s` }));
    try {
      return await Promise.race([answer, late]);
    } finally {
      underWay -= 1;
      over.abort();
    }
  }

  return {
    /** Never rejects, and ends within `drawWithinMs`. */
    draw(alertId: string, timeZone: string): Promise<Drawing> {
      const key = `${alertId} ${timeZone}`;
      const now = clock.now();
      for (const [old, { begunAt }] of drawings) if (begunAt > now || begunAt < now - keepMs) drawings.delete(old);
      const known = drawings.get(key);
      if (known) return known.drawing;
      const reason = whyNotNow();
      if (reason !== undefined) return Promise.resolve({ result: "many", reason });
      ofMinute.spend();
      ofHour.spend();
      const drawing = begin(alertId, timeZone);
      drawings.set(key, { begunAt: now, drawing });
      return drawing;
    },
    note: (...outcome: Parameters<PictureNotes["note"]>) => notes?.note(...outcome),
  };
}
