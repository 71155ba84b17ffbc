import { z } from "zod";
import type { Matcher } from "../../core/rules.ts";
import { count, flag, instant, text, view } from "./parts.ts";

const conditionView = view("Condition", {
  equals: z.array(text).optional(),
  not: z.array(text).optional(),
  lt: z.number().optional(),
  lte: z.number().optional(),
  gt: z.number().optional(),
  gte: z.number().optional(),
  exists: flag.optional(),
  matches: text.optional(),
  notMatches: text.optional(),
  glob: z.array(text).optional().describe("A text that one of these fits; `*` stands for any characters."),
});

/** A condition on a field, or a group of conditions. */
const matcherView = view("Matcher", {
  field: text.optional(),
  condition: conditionView.optional(),
  any: z
    .array(z.lazy((): z.ZodType => matchersView))
    .optional()
    .describe("Instead of a field: one of these lists holds."),
  not: z
    .lazy((): z.ZodType => matchersView)
    .optional()
    .describe("Instead of a field: this list does not hold."),
}) as z.ZodType as z.ZodType<Matcher, Matcher>;

const matchersView = z.array(matcherView).meta({ id: "Matchers", description: "All must hold." });

export const muteView = view("Mute", {
  id: text,
  state: z.enum(["active", "coming", "ended", "disabled"]),
  matchers: matchersView,
  reason: text,
  startsAt: instant,
  endsAt: instant,
  untilOver: text.optional().describe("An alert key: it ends when that is over, and at `endsAt` at the latest."),
  silenced: count.optional().describe("Alerts that it held back and nobody has released; a week after its end none."),
  createdAt: instant,
  createdBy: text,
});

export const mutePreviewView = view("MutePreview", {
  matched: count.describe("Alerts that it would have muted."),
  looked: count.describe("How many were looked at, the newest of the last 24 hours."),
  complete: flag.describe("false: there were more. 10,000 are looked at, 1,000 of bodies."),
  since: instant,
});

export const newMuteView = view("MuteWithPreview", {
  ...muteView.shape,
  preview: mutePreviewView.nullable().describe("null when the log could not be read just then."),
});
