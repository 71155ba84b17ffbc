import { z } from "zod";
import { refusedReasons } from "../../core/source.ts";
import { bodyEncoding, count, flag, headers, id, instant, maybe, text, view } from "./parts.ts";

export const refusedView = view("RefusedRequest", {
  id,
  source: text,
  reason: z.enum(refusedReasons),
  detail: text.describe("Why, in words."),
  address: text.describe("Where it came from, as far as the proxies before it are believed."),
  contentType: text.optional(),
  items: count.describe("How many alerts it would be."),
  unkept: count.describe("How many before it were refused and not kept: of a flood only some are."),
  bodyBytes: count,
  receivedAt: instant,
  released: maybe("When a person had it relayed anyway.", { at: instant, alertIds: z.array(text) }),
});

export const refusedDetailView = refusedView
  .extend({ headers: headers.describe("Credentials are `***`."), body: text, bodyEncoding })
  .meta({ id: "RefusedRequestDetail" });

export const releasedRefusedView = z.object({
  ids: z.array(text).describe("The ids of the alerts."),
  duplicate: flag.default(false).describe("They were there before: released, or sent again by a sender that passed."),
});
