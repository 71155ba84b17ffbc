import type { Hono } from "hono";
import type { NoAlertPicture } from "../core/ports/alert-picture.ts";
import { minuteMs } from "../ground/time/spans.ts";
import { type PictureName, readPictureName } from "./access/picture-address.ts";
import type { WebDeps } from "./web-deps.ts";
import type { WebContext, WebEnv } from "./web-env.ts";

/** The time from request to picture. Slack refuses a message whose picture takes longer than some seconds. */
const drawWithinMs = 2_500;
/** The most different pictures, and the most answers with a picture, in a minute. Others are asked to come again. */
const mostPictures = 60;
const mostAnswers = 1_200;

/** With these reasons there is no picture later either. */
const lasting: readonly NoAlertPicture[] = ["unknown_alert", "no_values", "no_renderer", "no_font"];

type Deps = Pick<WebDeps, "adminToken" | "clock" | "drawPicture" | "notePictureFetched">;

/** Signed addresses need no login. Any wrong address gets the same 404. A right one is drawn only once. */
export function addPictures(app: Hono<WebEnv>, { adminToken, clock, drawPicture, notePictureFetched }: Deps): void {
  const limit = createLimit(clock.now);

  app.get("/pictures/:name", async (c) => {
    const name = readPictureName(c.req.param("name"), adminToken, clock.now());
    if (name === undefined || drawPicture === undefined) return answerNone(c);
    if (!limit.allows(name)) return askLater(c);
    const { alertId, tag, ...options } = name;
    const picture = await drawPicture(alertId, { ...options, signal: c.req.raw.signal, deadlineMs: drawWithinMs });
    if ("none" in picture) return lasting.includes(picture.none) ? answerNone(c) : askLater(c);
    if (tag !== undefined && c.req.method === "GET") notePictureFetched?.(alertId, tag);
    return c.body(new Uint8Array(picture.png), 200, {
      "content-type": "image/png",
      "content-disposition": 'inline; filename="chart.png"',
      "cache-control": "private, max-age=300",
      // The vendor shows the picture within its own page.
      "cross-origin-resource-policy": "cross-origin",
    });
  });
}

function answerNone(c: WebContext): Response {
  return c.text("Not found.\n", 404);
}

function askLater(c: WebContext): Response {
  return c.text("Not now.\n", 503, { "retry-after": "10" });
}

/** Counts by the minute. A picture of this minute may be given again, since it is not drawn again. */
function createLimit(now: () => number) {
  let since = 0;
  let answers = 0;
  const pictures = new Set<string>();

  return {
    allows({ alertId, theme, timeZone }: PictureName): boolean {
      if (now() - since >= minuteMs || now() < since) {
        since = now();
        answers = 0;
        pictures.clear();
      }
      const key = `${alertId} ${theme} ${timeZone}`;
      if (answers >= mostAnswers || (!pictures.has(key) && pictures.size >= mostPictures)) return false;
      answers += 1;
      pictures.add(key);
      return true;
    },
  };
}
