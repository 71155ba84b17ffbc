import { z } from "zod";
import { alertOrigins, bodyFormats, severities, statuses } from "../../core/alert.ts";
import { attemptOutcomes, deliveryPurposes, deliveryStates } from "../../core/delivery.ts";
import { pictureResults } from "../../core/picture-outcome.ts";
import { dampers } from "../../core/ring.ts";
import { decisionResults } from "../../core/rules.ts";
import { bodyEncoding, channel, count, flag, headers, id, instant, listOf, maybe, text, view } from "./parts.ts";

export const attemptView = view("Attempt", {
  at: instant,
  outcome: z
    .enum(attemptOutcomes)
    .describe(
      "`sent`: taken. `retry`: tried again later. `rejected`: refused for good. `ambiguous`: it was sent, and no answer arrived.",
    ),
  reason: text.optional().describe("A code, e.g. `rate_limited`."),
  detail: text.optional().describe("In words, ours or the vendor's."),
  durationMs: count,
  action: z.enum(["send", "edit", "reply"]),
  part: count.describe("From 1; long texts go out in parts."),
  parts: count,
});

export const deliveryView = view("Delivery", {
  id,
  destination: text,
  channel,
  recipient: text.describe("Chat id or mailbox; for webhooks the destination's name."),
  route: text,
  purpose: z.enum(deliveryPurposes),
  state: z.enum(deliveryStates),
  reason: text.describe("Why it is in that state."),
  createdAt: instant,
  dueAt: instant.optional().describe("Not tried before."),
  finishedAt: instant.optional(),
  digestId: id.optional().describe("Sent together with the others of the same digest."),
  insteadOf: text.optional().describe("The destination whose fallback it is."),
  extras: maybe("What its route adds to its message.", {
    silent: z.literal(true).optional().describe("Without a sound, where the channel can be silent."),
    note: text.optional(),
    title: text.optional().describe("The first line of its message, in place of the built-in one."),
    links: z.array(z.object({ label: text, url: text })).optional(),
    with: maybe("Alerts that wait while it fires.", { count, titles: z.array(text) }),
    late: text.optional().describe("Why it is late: a mute had held it back."),
  }),
  damped: maybe("What its message says of the alerts of its key that did not ring there.", {
    by: z.enum(dampers).optional().describe("What holds it back. Absent: it rings, or tells what did not ring."),
    why: text,
    count: count.describe("Alerts of its key that did not ring since the last one that did, up to it."),
    sinceAt: instant,
    worst: z.object({ id, at: instant, severity: z.enum(severities), value: z.number().optional() }),
    lowest: z.number().optional(),
    highest: z.number().optional(),
    advice: text.optional().describe("What would mend the rule."),
  }),
  resentBy: id.optional().describe("It was resent: id of the delivery that replaces it. It counts as that one does."),
});

export const deliveryDetailView = view("DeliveryWithAttempts", {
  ...deliveryView.shape,
  attempts: z.array(attemptView),
  picture: maybe("Known of the latest 200 of a destination, once it has come or failed.", {
    result: z.enum(pictureResults),
    afterMs: count.optional().describe("From the text to the picture, or to its first fetch."),
    times: count.optional().describe("How often its address was fetched."),
    reason: text.optional().describe("Why there is none, in words."),
  }),
});

/** The facts of a body. Title, severity and status are next to it. */
const factsView = view("Facts", {
  format: z.enum(bodyFormats).describe("`unreadable`: reading failed twice; it was sent as received, see `notes`."),
  text: text.optional(),
  metric: text.optional(),
  token: text.optional(),
  chain: text.optional(),
  value: text.optional().describe("Digit for digit as sent."),
  previousValue: text.optional(),
  threshold: text.optional(),
  unit: text.optional(),
  occurredAt: instant.optional().describe("As the sender says."),
  link: text.optional(),
  externalId: text.optional(),
  source: text.optional(),
  alertKey: text.describe("Names the thing that fires and resolves."),
  fields: z.array(z.object({ name: text, value: text })),
  unlistedFields: count.optional().describe("How many more the body has. Absent: none."),
  notes: z.array(text).describe("What had to be guessed or left out while it was read."),
});

export const alertView = view("Alert", {
  id,
  version: count.describe("Grows with every change of any alert; the id of its event in the stream."),
  url: text.describe("Its page."),
  origin: z.enum(alertOrigins),
  source: text.optional().describe("Whose hook it arrived at; absent: the account's, or it is the relay's own."),
  receivedAt: instant,
  routedAt: instant.nullable().describe("null until it has been read and routed."),
  routingError: text.optional(),
  unmatched: flag.describe("No route wanted it."),
  dropped: flag.describe("A route dropped it on purpose, and no other sent it anywhere."),
  repeatOf: id.optional().describe("Id of the first alert with this body, which names its event; not sent again."),
  title: text.nullable().describe("As sent. null until it has been read."),
  headline: text.nullable().optional().meta({
    description: "What messages and pages call it. Absent: the relay is older.",
    example: "ONYX504 pool TVL 18,623 USD, −8.2 %, below 19,000 (polygon)",
  }),
  learnedName: maybe("What the service calls a token or pool that the sender names by its address alone.", {
    kind: z.enum(["token", "pool"]),
    chain: text,
    address: text.describe("As the sender wrote it."),
    name: text.describe("Plain text of the service's, as it stands in messages."),
    learnedAt: instant.describe("Messages of before have the address."),
  }),
  severity: z.enum(severities).nullable(),
  status: z.enum(statuses).nullable(),
  facts: factsView.nullable(),
  deliveries: z.array(deliveryView),
});

const decisionView = view("Decision", {
  route: text,
  destination: text.optional(),
  result: z
    .enum(decisionResults)
    .describe(
      "`contained`: the message of another alert shows this one as well. `damped`: it did not ring there, and is counted.",
    ),
  reason: text,
  muteId: text.optional(),
});

const routingPartView = view("RoutingPart", {
  result: z.enum([...decisionResults, "nothing"]).describe("`nothing`: no route sends it there."),
  route: text.optional(),
  reason: text,
});

export const routedAgainView = view("RoutedAgain", {
  at: instant.describe("As if the alert arrived then: now."),
  isSame: flag.describe("Nothing differs but by the hour of the day."),
  differences: z.array(
    z.object({
      destination: text.nullable().describe("null: nobody, on one side since a route drops it on purpose."),
      before: routingPartView,
      now: routingPartView,
      onlyByHour: flag.describe("The quiet hours of now would have done the same then."),
    }),
  ),
  decisions: z.array(decisionView).describe("Today's decisions, route by route."),
  isTooLarge: flag.describe("The body was too large to be read: conditions on `payload` count as not met."),
});

const requestView = view("RawRequest", {
  receivedAt: instant,
  contentType: text.optional(),
  headers: headers.describe("In their order; credentials are `***`."),
  body: text,
  bodyEncoding: bodyEncoding.describe("`base64` when the bytes are not valid UTF-8."),
  bodyBytes: count,
  item: count.describe("From 1: which alert of the request's batch this one is."),
  items: count,
  dedupeKey: text.optional(),
  conflict: flag.describe("An earlier request had the same key and another body."),
  duplicates: count.describe("Later requests that were the same."),
});

export const alertDetailView = view("AlertDetail", {
  ...alertView.shape,
  deliveries: z.array(deliveryDetailView),
  decisions: z.array(decisionView),
  request: requestView.nullable().describe("null for notices, and tests of one destination."),
});

export const evidenceView = view("Evidence", {
  madeAt: instant,
  relay: z.object({
    version: text,
    url: text,
    configurationSha256: text.nullable().describe("Names the configuration in force then, without its secrets."),
  }),
  alert: alertDetailView,
  messages: listOf("Rebuilt from the stored alert, as its first message.", {
    destination: text,
    channel,
    texts: z.array(text).describe("Part by part; none where the destination is gone."),
    inDigest: flag.describe("It was sent in one message with others."),
  }),
  sameKey: z.object({
    isAll: flag.describe("Every alert of this key that is kept is listed."),
    alerts: listOf("Newest first.", {
      id,
      severity: z.enum(severities),
      status: z.enum(statuses),
      value: text.optional(),
      threshold: text.optional(),
      unit: text.optional(),
      metric: text.optional(),
      token: text.optional(),
      chain: text.optional(),
      isRepeat: flag,
      receivedAt: instant,
    }),
  }),
});
