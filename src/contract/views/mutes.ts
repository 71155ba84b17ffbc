import { z } from "zod";
import { instant } from "../encode.ts";
import { count, flag, text, view } from "./shapes.ts";

/** What is silenced. */

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
});

export const muteView = view("Mute", {
  id: text,
  state: z.enum(["active", "coming", "ended"]),
  matchers: z.array(z.object({ field: text, condition: conditionView })),
  reason: text,
  startsAt: instant,
  endsAt: instant,
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
