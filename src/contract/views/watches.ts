import { z } from "zod";
import { gapVerdicts } from "../../core/gaps.ts";
import { watchVerdicts } from "../../core/ports/watch.ts";
import { placeTypes } from "../../core/shape.ts";
import { refusedReasons } from "../../core/source.ts";
import { canaryStages } from "../operations.ts";
import { count, flag, id, instant, listOf, maybe, text, view } from "./parts.ts";

export const accountView = view("Account", {
  publicUrl: text.optional().describe("Absent: `PUBLIC_URL` is not set."),
  serviceConfigured: flag.describe("`ALERTING_URL` and `ALERTING_API_KEY` are set where the relay runs."),
  canPutBack: flag.default(false).describe("The outputs are others than setup left."),
  answer: maybe("What the alerting service said last. Absent: it was not heard since the start.", {
    at: instant,
    id: text.optional(),
    name: text.optional(),
    keyExpiresAt: instant.optional(),
    webhook: z
      .enum(["here", "stranger", "elsewhere", "answered", "nowhere"])
      .optional()
      .describe(
        `Where alerts go. \`stranger\`: here, with a secret that it does not take. \`answered\`: to another address than the registered
          one, where this relay answers. \`nowhere\`: the webhook is off.`,
      ),
    webhookAddress: text.optional().describe("Without its path, which may be a secret."),
    messengerChannelId: text.nullable().optional(),
  }),
});

export const watchView = view("Watch", {
  name: text.describe("E.g. `account`, `gaps`, `disk`."),
  verdict: z
    .enum(watchVerdicts)
    .describe("`unknown`: it cannot tell, which is no alarm. `idle`: there is nothing to watch."),
  summary: text.describe("What is true, in one line."),
  troubles: z.array(text).describe("What is wrong and what to do, a line each."),
  reason: text.optional().describe("What the other side answered last, in its own words."),
  level: z.literal("warn").optional().describe("Nothing is lost by it yet. Absent: it is bad."),
  note: text.optional().describe("What comes of it or is done about it, in a few words."),
  since: instant.optional().describe("Since when it is in trouble; absent: nobody can say."),
  lookedAt: instant.optional().describe("When it last looked; absent: not yet."),
});

export const silenceView = view("Silence", {
  watch: text.describe("`hook`, `route:NAME` or `source:NAME`."),
  of: z.enum(["hook", "route", "source"]),
  name: text.optional(),
  afterMs: count.optional().describe("Absent: `auto`, it is learned what is usual."),
  state: z
    .enum(["watching", "learning", "silent", "muted"])
    .describe("`learning`: too little is known for a notice. `muted`: no notice is sent."),
  since: instant.describe("Since when it is watched; what the log had before counts."),
  lastAt: instant.optional().describe("When the last alert came; absent: none since `since`."),
  lastId: id.optional(),
  quietMs: count.describe("Without an alert, while Tocsin ran."),
  usualMs: count.optional().describe("The usual longest gap at these hours, from the last alert on."),
  tellsAt: instant.optional().describe("When a notice is sent if no alert arrives until then."),
  toldAt: instant.optional().describe("When the notice was sent that no alert arrives."),
  learning: z
    .object({
      days: count,
      daysNeeded: count,
      arrivals: count.describe("Spans of five minutes in which something came, in the last six weeks."),
      arrivalsNeeded: count,
      isReading: flag.describe("The log is being read."),
    })
    .optional(),
  mute: z.object({ reason: text, until: instant }).optional(),
});

export const canaryView = view("Canary", {
  schedule: text.describe("When one is sent: `every 1 h`, `at 07:30 and 19:30, Europe/Zurich`."),
  state: z.enum(["waiting", "works", "fails"]).describe("`waiting`: none has arrived yet."),
  lastAt: instant.optional(),
  lastOkAt: instant.optional(),
  nextAt: instant,
  since: instant.optional().describe("Since when it fails."),
  stage: z.enum(canaryStages).optional().describe("What it did not pass."),
  detail: text.optional(),
  toldAt: instant.optional(),
});

export const sourceView = view("Source", {
  name: text,
  accepted: count.describe("Requests since the start that were answered 202."),
  checks: z.array(text).default([]).describe("What its sender has to prove; empty: to know the address is enough."),
  refused: z
    .partialRecord(z.enum(refusedReasons), count)
    .default({})
    .describe("Requests since the start that did not pass, by why."),
  account: accountView
    .pick({ answer: true, canPutBack: true })
    .optional()
    .describe("Its own at the service, where it has one that is watched."),
  lastAcceptedAt: instant.optional().describe("When the last of them came."),
  lastRefusedAt: instant.optional(),
});

export const troubleView = view("Trouble", {
  kind: z
    .enum([
      "store",
      "spool",
      "reading",
      "muted",
      "lane",
      "destination",
      "undelivered",
      "resending",
      "watch",
      "canary",
      "silence",
      "backlog",
      "paused",
      "relay",
      "unsteady",
    ])
    .describe(
      `\`store\`, \`reading\`: alerts are refused, or sent as received. \`spool\`: alerts wait on this relay for the database. \`muted\`: a
      mute holds back every alert. \`lane\`: no relay delivers there, or watches, though some run. \`destination\`: one takes no messages.
      \`undelivered\`: one takes messages, and has refused some in the last 24 hours. \`resending\`: some of what failed there waits to be
      sent again. \`watch\`, \`canary\`, \`silence\`: alerts may be missing. \`backlog\`: something waits too long. \`paused\`: by a
      person. \`relay\`: another configuration, or another relay that is not ready. \`unsteady\`: a destination fails at times.`,
    ),
  level: z.enum(["bad", "warn"]).describe("`bad`: lost, missing, or reaching nobody. `warn`: late."),
  what: text.meta({ example: "trading-desk is dead" }),
  since: instant.optional(),
  until: instant.optional().describe("When a mute of everything ends."),
  notes: z.array(text).meta({ description: "What comes of it.", example: ["3 not delivered"] }),
  reason: text.optional().describe("What was said last."),
  name: text.optional().describe("The destination, watch, route, source or mute it is about."),
  source: text.optional().describe("The source whose account a watch is about."),
  failed: count.optional().describe("Deliveries to it that failed or expired and were not resent."),
  expired: count.optional().describe("Those of them that expired."),
  canPutBack: flag.optional().describe("`POST /api/account/put-back` would fix it."),
});

export const shapesView = view("Shapes", {
  kinds: z.array(
    z.object({
      number: count,
      title: text.describe("The title of the first alert of the kind."),
      alerts: count,
      shapes: count.describe("Different ones among them that are known."),
      source: text.nullable().describe("What that sender calls itself."),
      firstAt: instant,
      lastAt: instant,
      places: z.array(
        z.object({
          path: text.meta({ description: "As a matcher names it.", example: "payload.rule.name" }),
          type: z.enum(placeTypes),
          example: text.describe('From one body; "(not shown)" where it may be a credential.'),
          alerts: count,
          firstAt: instant,
          lastAt: instant,
          facts: z.array(text).describe("What is read from it."),
          routes: z.array(text).describe("Those that look at it, or at what is read from it."),
          isGone: flag.describe("It was in all of them, and is in none of the last."),
        }),
      ),
    }),
  ),
  unfollowed: z
    .object({ unknown: count, without: count })
    .describe("Alerts of unknown shapes beside too many others, and those without one."),
});

export const gapsView = view("Gaps", {
  since: instant,
  until: instant,
  checkedAt: instant,
  downtimes: listOf("When no relay ran, to a minute.", {
    fromAt: instant,
    toAt: instant,
    asleep: flag.describe("A relay ran and did nothing: asleep, or its clock was set."),
    restored: flag.describe("The log was restored from a backup, which lacks what came then."),
  }),
  missing: listOf("Alerts that should have arrived, the newest first. None is sent afterwards.", {
    verdict: z.enum(gapVerdicts).describe("`likely`: chance would seldom explain it, and `reason` says what may."),
    odds: z.number().describe("It is 1 to so many that nothing is wrong."),
    rule: text.describe("The subscription's id, or metric and condition."),
    metricKey: text,
    metricName: text.optional().describe("What the service calls the metric."),
    condition: text.meta({ example: "above 3300" }),
    status: z.enum(["firing", "resolved"]).describe("What the alert would have said."),
    fromAt: instant.describe("The record before the crossing."),
    toAt: instant.describe("The record after it."),
    before: z.number(),
    after: z.number(),
    reason: text,
    whileDown: flag.describe("The relay did not run then."),
    outage: text.optional().describe("The `id` of its outage. Absent: it is missing alone."),
  }),
  outages: listOf("Times in which alerts did not arrive, more than chance explains.", {
    id: text.describe("In this answer alone."),
    fromAt: instant,
    toAt: instant,
    due: count.describe("Alerts that were due in it."),
    lost: count.describe("Those of them that are missing."),
    rule: text.optional().describe("It is about this rule alone. Absent: the account."),
    whileDown: flag,
    asleep: flag.optional().describe("The relay ran and did nothing: asleep, or its clock was set."),
    comesAgainAt: instant.optional().describe("When the first alert after it came, or the relay ran again."),
  }),
  unknown: listOf("What is not known, each reason once.", {
    what: text.describe("The first names of those that it is true of."),
    names: count.describe("How many names there are."),
    why: text,
    crossings: count.describe("That cannot be told for this reason."),
  }),
  rules: count,
  crossings: count.describe("Each is answered, missing, fresh, unclear or not due."),
  answered: count.describe("Those of them of which an alert came."),
  fresh: count.describe("Those whose alert may still be on its way."),
  unclear: count.describe("Those of which it cannot be told whether an alert was due."),
  notDue: count.describe("Before the first alert came here, or while the account was off."),
  freshMs: z.number().describe("For so long an alert may be on its way, as the past shows."),
  lastAlertAt: instant.optional().describe("When the newest alert that came happened."),
  recordEveryMs: z
    .number()
    .optional()
    .describe("Between two records of a metric: what begins and ends within it is not seen."),
});
