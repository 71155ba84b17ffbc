import { z } from "zod";
import { deliveryStates, reasonCodes } from "../../core/delivery.ts";
import { destinationVerdicts } from "../../vendors/verdict.ts";
import { alertView } from "./alerts.ts";
import { channel, count, flag, health, instant, listOf, maybe, text, view } from "./parts.ts";

export const destinationView = view("Destination", {
  name: text,
  channel,
  recipients: z.array(text).describe("Chat id or mailboxes; for webhooks the host of the address only."),
  verdict: z.enum(destinationVerdicts).describe(
    `\`proven\`: a message or a probe got through. \`untried\`: nothing was tried yet. \`failing\`: \`health\`, \`since\` and \`reason\`
    say how; with \`health\` \`ok\` all that was sent there was refused.`,
  ),
  provenAt: instant.optional().describe("When a message, or a probe that proves as much, last got through."),
  health: health.describe("The worse of its own and that of the account it shares."),
  reason: text.describe("Why it is not ok; empty when it is."),
  reasonCode: z
    .enum(reasonCodes)
    .optional()
    .describe("As a code. Absent: it is ok, or was bad before there were codes."),
  since: instant.optional(),
  nextTryAt: instant.optional().describe("The next try by itself. Absent: its next message is the try."),
  lastSentAt: instant.optional().describe("When it last took a message."),
  lastFailedAt: instant.optional().describe("When the newest ended that failed or expired and was not resent."),
  probeProves: z
    .enum(["delivery", "account", "connection"])
    .describe("What a probe proves: a message would arrive, the login is accepted, or only the host answers."),
  lastProvenAt: instant.optional().describe("When it last said yes to a probe."),
  failedProbes: maybe("The latest had no answer; it is asked again in some minutes.", { count: count, detail: text }),
  paused: maybe("A person has paused it: alerts for it wait until it is resumed.", {
    at: instant,
    by: text.describe("`page`, `api` or `command`."),
  }),
  movedTo: text.optional().describe("The group was upgraded; messages go there."),
  relay: text.optional().describe("The relay that delivers to it, while several run. Absent: none has it just now."),
  definedAt: text,
  counts: z
    .partialRecord(z.enum(deliveryStates), count)
    .describe("Deliveries by state. One that was resent counts as its resend does."),
  oldestWaitingAt: instant.optional(),
  heldByQuietHours: maybe("What quiet hours hold, and when the first of it is sent.", { count: count, until: instant }),
  resending: maybe("Given while some of what was resent together waits.", {
    made: count,
    arrived: count,
    since: instant,
  }),
});

export const releaseView = z
  .object({ destination: text, released: count.describe("Deliveries that are sent now.") })
  .meta({ id: "Release" });

export const resendPreviewView = view("ResendPreview", {
  failedUntil: instant.describe("For `POST /api/resend`: what fails later is not counted."),
  deliveries: count.describe("At destinations that are configured."),
  over: count.optional().describe("For a mute: what is left out since its alert is over. `over` includes it."),
  destinations: z.array(
    z.object({
      destination: text,
      deliveries: count,
      alerts: count,
      heldBack: count.optional().describe("For a mute: all the alerts, of which these are the latest of each key."),
      health: health.optional().describe("Absent: it is no longer configured, and nothing is resent to it."),
      paused: flag.optional().describe("A person has paused it: what is resent waits until it is resumed."),
      asDigests: flag.describe("They are too many to go out one by one."),
      oldestAt: instant.describe("When the oldest of the alerts came."),
      newestAt: instant,
    }),
  ),
});

export const resendResultView = view("ResendResult", {
  made: count.describe("New deliveries."),
  resent: count.describe("Failed ones that count as their resend does now."),
  left: listOf("What stays failed.", { destination: text, deliveries: count, why: text }),
});

export const tryResultView = view("TryResult", {
  destination: text,
  result: z.enum(["works", "answers", "fails", "parked"]).describe(
    `\`works\`: it takes messages. \`answers\`: it can be reached; the next message shows whether it takes them. \`parked\`: it has asked
    for silence until \`nextTryAt\`, and was not called.`,
  ),
  detail: text.describe("What it said."),
  health,
  waiting: count.describe("Deliveries that wait for it."),
  nextTryAt: instant.optional().describe("The next try without being asked."),
});

export const destinationTestView = view("DestinationTest", {
  isNew: flag.describe("false: this is an earlier one, still on its way or less than 10 s old."),
  alert: alertView,
});
