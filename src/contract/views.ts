import { z } from "zod";
import { alertOrigins, bodyFormats, severities, statuses } from "../core/alert.ts";
import { attemptOutcomes, deliveryPurposes, deliveryStates, reasonCodes } from "../core/delivery.ts";
import { gapVerdicts } from "../core/gaps.ts";
import { pictureResults } from "../core/picture-outcome.ts";
import { watchVerdicts } from "../core/ports/watch.ts";
import { decisionResults } from "../core/rules.ts";
import { placeTypes } from "../core/shape.ts";
import { refusedReasons } from "../core/source.ts";
import { vendors } from "../vendors/index.ts";
import { destinationVerdicts } from "../vendors/verdict.ts";
import { instant } from "./encode.ts";
import { canaryStages } from "./operations.ts";

/**
 * What anybody outside sees, each view once: its type for the program, where instants are epoch milliseconds, its JSON
 * (`encode.ts`), and its description at `/api`. Fields stand in the order of the answers.
 */

const text = z.string();
const id = text.meta({ example: "019aa5a0-7c3e-7d2a-9b1c-0242ac120002" });
const count = z.int();
const flag = z.boolean();
const channel = z.enum(vendors.map(({ type }) => type));
const health = z.enum(["ok", "degraded", "down", "dead", "paused"]);
const bodyEncoding = z.enum(["utf8", "base64"]);
const headers = z.array(z.tuple([text, text]));
const view = <S extends z.ZodRawShape>(id: string, shape: S) => z.object(shape).meta({ id });
const notReady = z.array(text).describe("Why it is not ready; empty when it is.");

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
  resentBy: id.optional().describe("It was resent: id of the delivery that replaces it. It counts as that one does."),
});

export const deliveryDetailView = view("DeliveryWithAttempts", {
  ...deliveryView.shape,
  attempts: z.array(attemptView),
  picture: z
    .object({
      result: z.enum(pictureResults),
      afterMs: count.optional().describe("From the text to the picture, or to its first fetch."),
      times: count.optional().describe("How often its address was fetched."),
      reason: text.optional().describe("Why there is none, in words."),
    })
    .optional()
    .describe("Known of the latest 200 of a destination, once it has come or failed."),
});

/** What was read of a body; title, severity and status stand beside it. */
const factsView = view("Facts", {
  format: z
    .enum(bodyFormats)
    .describe("`unreadable`: reading it failed twice; it was sent as received, and `notes` says why."),
  text: text.optional(),
  metric: text.optional(),
  token: text.optional(),
  chain: text.optional(),
  value: text.optional().describe("Digit for digit as sent."),
  previousValue: text.optional(),
  threshold: text.optional(),
  unit: text.optional(),
  occurredAt: instant.optional().describe("By the sender's word."),
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
  repeatOf: id
    .optional()
    .describe("Id of the first alert: this one has its body, which names one event, and was not sent."),
  title: text.nullable().describe("As sent. null until it has been read."),
  headline: text.nullable().optional().meta({
    description: "What messages and pages call it. Absent: the relay is older.",
    example: "ONYX504 pool TVL 18,623 USD, −8.2 %, below 19,000 (polygon)",
  }),
  learnedName: z
    .object({
      kind: z.enum(["token", "pool"]),
      chain: text,
      address: text.describe("As the sender wrote it."),
      name: text.describe("Plain text of the service's, as it stands in messages."),
      learnedAt: instant.describe("Messages of before have the address."),
    })
    .optional()
    .describe("What the service calls a token or pool that the sender names by its address alone."),
  severity: z.enum(severities).nullable(),
  status: z.enum(statuses).nullable(),
  facts: factsView.nullable(),
  deliveries: z.array(deliveryView),
});

const decisionView = view("Decision", {
  route: text,
  destination: text.optional(),
  result: z.enum(decisionResults).describe("`contained`: the message of another alert shows this one as well."),
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
  decisions: z.array(decisionView).describe("Of now, route by route."),
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
    configurationSha256: text.nullable().describe("Of the configuration in force when this was made, without secrets."),
  }),
  alert: alertDetailView,
  messages: z
    .array(
      z.object({
        destination: text,
        channel,
        texts: z.array(text).describe("Part by part; none where the destination is gone."),
        inDigest: flag.describe("It was sent in one message with others."),
      }),
    )
    .describe("Rebuilt from the stored alert, as its first message."),
  sameKey: z.object({
    isAll: flag.describe("Every alert of this key that is kept is listed."),
    alerts: z
      .array(
        z.object({
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
      )
      .describe("Newest first."),
  }),
});

export const destinationView = view("Destination", {
  name: text,
  channel,
  recipients: z.array(text).describe("Chat id or mailboxes; for webhooks the host of the address only."),
  verdict: z
    .enum(destinationVerdicts)
    .describe(
      "`proven`: a message or a probe got through. `untried`: nothing was tried yet. `failing`: `health`, `since` and `reason` say how; with `health` `ok` all that was sent there was refused.",
    ),
  provenAt: instant.optional().describe("When a message, or a probe that proves as much, last got through."),
  health: health.describe("The worse of its own and that of the account it shares."),
  reason: text.describe("Why it is not ok; empty when it is."),
  reasonCode: z
    .enum(reasonCodes)
    .optional()
    .describe("The same as a code. Absent: it is ok, or was bad before there was one."),
  since: instant.optional(),
  nextTryAt: instant
    .optional()
    .describe("The next try without being asked. Absent where it can be reached: its next message is the try."),
  lastSentAt: instant.optional().describe("When it last took a message."),
  lastFailedAt: instant.optional().describe("When the newest ended that failed or expired and was not resent."),
  probeProves: z
    .enum(["delivery", "account", "connection"])
    .describe("What a probe proves: a message would arrive, the login is accepted, or only the host answers."),
  lastProvenAt: instant.optional().describe("When it last said yes to a probe."),
  failedProbes: z
    .object({ count: count, detail: text })
    .optional()
    .describe("The latest had no answer; it is asked again in some minutes."),
  paused: z
    .object({ at: instant, by: text.describe("`page`, `api` or `command`.") })
    .optional()
    .describe("By a person: alerts for it wait until it is resumed."),
  movedTo: text.optional().describe("The group was upgraded; messages go there."),
  relay: text.optional().describe("The relay that delivers to it, while several run. Absent: none has it just now."),
  definedAt: text,
  counts: z
    .partialRecord(z.enum(deliveryStates), count)
    .describe("Deliveries by state. One that was resent counts as its resend does."),
  oldestWaitingAt: instant.optional(),
  heldByQuietHours: z
    .object({ count: count, until: instant })
    .optional()
    .describe("What quiet hours hold, and when the first of it is sent."),
  resending: z
    .object({ made: count, arrived: count, since: instant })
    .optional()
    .describe("Of what was resent together, while some of it waits."),
});

const relayView = view("Relay", {
  version: text,
  startedAt: instant,
  uptimeMs: count,
  stopping: flag.describe("It is being stopped."),
  ready: flag.describe("Alerts can be stored and deliveries go on, as `/readyz` says it."),
  reasons: notReady,
  unreadableAlerts: count.describe("Alerts that were sent as received, because reading or routing them failed twice."),
  socketIsHeld: flag.describe("It outlives the relay: alerts that arrive while it restarts wait there."),
  hearing: z
    .object({
      by: z.enum(["listen", "polls"]).describe("`polls`: only by looking every few seconds."),
      why: text.optional().describe("Why not at once."),
      isPooled: flag.describe("`DATABASE_URL` leads through a pooler."),
    })
    .optional()
    .describe("How it hears of what other relays have done; absent with SQLite."),
});

export const runningRelayView = view("RunningRelay", {
  id: text.describe("Of its process: another one after each start."),
  name: text.describe("Of its machine, as a rule; no two have the same."),
  version: text,
  isSelf: flag.describe("It is the one that answers."),
  configuration: z
    .enum(["newest", "older", "starting"])
    .describe("Those with the `newest` route and deliver; the others only accept."),
  configurationVersion: count.describe("The higher, the later the database saw it first."),
  watches: flag.describe("It watches account, silence and the like for all."),
  ready: flag.optional().describe("Absent, as the counts: its version does not say it."),
  unheardMs: count
    .optional()
    .describe("For so long it has said nothing. Another one takes over 15 s after its last word."),
  reasons: notReady,
  accepted: count.optional().describe("Alerts since its start."),
  spooled: count.optional().describe("Alerts that wait in its spool; absent without one."),
  startedAt: instant,
  seenAt: instant.describe("When it last said that it runs: every 3 s."),
  destinations: z
    .array(z.object({ name: text, since: instant.optional() }))
    .describe("Of those that the relay which answers has."),
});

const alertCountsView = view("AlertCounts", {
  total: count.describe("Alerts that were ever stored, Tocsin's own notices among them."),
  kept: count.describe("Those of them that were not removed since."),
  oldestReceivedAt: instant.optional().describe("When the oldest came that is kept."),
  lastReceivedAt: instant
    .optional()
    .describe("Of the last alert from a sender; tests and Tocsin's own notices do not count. Absent: none came yet."),
});

const queueView = view("Queue", {
  unrouted: count.describe("Alerts accepted and not decided about yet."),
  oldestUnroutedAt: instant.optional().describe("When the oldest of them arrived."),
  queued: count.describe("Deliveries at all `destinations` together, by state."),
  waiting: count,
  sending: count,
  held: count,
  failed: count.describe("One that was resent counts as its resend does."),
  expired: count,
  oldestWaitingAt: instant
    .optional()
    .describe("When the oldest delivery that waits was made. What quiet hours hold waits."),
});

const diskView = view("Disk", {
  databaseBytes: count,
  freeBytes: count.optional().describe("Absent where the database is another machine's."),
  full: flag.describe("New alerts are answered 503 until there is room."),
  damage: text.optional().describe("Why earlier alerts could not be looked up, so that repeats may have been sent."),
});

const retentionView = view("Retention", {
  maxAgeMs: count.optional().describe("Absent: alerts are kept however old they are."),
  maxBytes: count.optional().describe("Absent: alerts are kept however much they take."),
});

const accountView = view("Account", {
  publicUrl: text.optional().describe("Absent: `PUBLIC_URL` is not set."),
  serviceConfigured: flag.describe("`ALERTING_URL` and `ALERTING_API_KEY` are set where the relay runs."),
  canPutBack: flag.default(false).describe("The outputs are others than setup left."),
  answer: z
    .object({
      at: instant,
      id: text.optional(),
      name: text.optional(),
      keyExpiresAt: instant.optional(),
      webhook: z
        .enum(["here", "stranger", "elsewhere", "answered", "nowhere"])
        .optional()
        .describe(
          "Where alerts go. `stranger`: here, with a secret that it does not take. `answered`: to another address than the registered one, where this relay answers. `nowhere`: the webhook is off.",
        ),
      webhookAddress: text.optional().describe("Without its path, which may be a secret."),
      messengerChannelId: text.nullable().optional(),
    })
    .optional()
    .describe("What the alerting service said last. Absent: it was not heard since the start."),
});

const watchView = view("Watch", {
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

const silenceView = view("Silence", {
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

const canaryView = view("Canary", {
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

const spoolView = view("Spool", {
  alerts: count.describe("How many wait."),
  bytes: count.describe("What its files take."),
  maxBytes: count.describe("Beyond it alerts are answered 503."),
  oldestAt: instant.optional().describe("When the oldest that waits came."),
  since: instant.optional().describe("Since when something has waited."),
  problem: text.optional().describe("Why the last that should have waited there could not."),
  stuck: count.describe("Requests that the database refuses for what they are."),
  unreadable: count.describe("Alerts that could not be read back since the start."),
  damagedFiles: z.array(text).describe("Files with alerts that cannot be read, kept aside."),
});

const sourceView = view("Source", {
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

const troubleView = view("Trouble", {
  kind: z
    .enum([
      "store",
      "spool",
      "reading",
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
      "`store`, `reading`: alerts are refused, or sent as received. `spool`: alerts wait on this relay for the database. `lane`: no relay delivers there, or watches, though some run. `destination`: one takes no messages. `undelivered`: one takes messages, and has refused some in the last 24 hours. `resending`: some of what failed there waits to be sent again. `watch`, `canary`, `silence`: alerts may be missing. `backlog`: something waits too long. `paused`: by a person. `relay`: another configuration, or another relay that is not ready. `unsteady`: a destination fails at times.",
    ),
  level: z.enum(["bad", "warn"]).describe("`bad`: lost, missing, or reaching nobody. `warn`: late."),
  what: text.meta({ example: "trading-desk is dead" }),
  since: instant.optional(),
  notes: z.array(text).meta({ description: "What comes of it.", example: ["3 not delivered"] }),
  reason: text.optional().describe("What was said last."),
  name: text.optional().describe("The destination, watch, route or source it is about."),
  source: text.optional().describe("Of a watch over the account of a source."),
  failed: count.optional().describe("Deliveries to it that failed or expired and were not resent."),
  expired: count.optional().describe("Of those."),
  canPutBack: flag.optional().describe("`POST /api/account/put-back` would fix it."),
});

/** What the store knows, whether a relay runs or not. */
export const logView = z.object({
  alerts: alertCountsView,
  queue: queueView.describe("What is on its way, at the destinations that are configured."),
  destinations: z.array(destinationView).describe("In the order of the configuration."),
  disk: diskView,
  retention: retentionView.describe("What is removed by and by, once it is finished."),
});

export const statusView = view("Status", {
  troubles: z
    .array(troubleView)
    .default([])
    .describe("What is wrong now, worst first, as the top of every page says it."),
  relay: relayView.describe("The relay that answers."),
  relays: z.array(runningRelayView).default([]).describe("All that run on the database, the one that answers first."),
  ...logView.shape,
  account: accountView.describe("As the relay's watch last heard. Nothing is asked for this answer."),
  sources: z.array(sourceView).default([]).describe("Named hooks beside the account's."),
  watches: z.array(watchView).default([]).describe("What the relay watches around it."),
  silence: z.array(silenceView).default([]).describe("The watches over alerts that do not come."),
  canary: canaryView.optional().describe("The test that Tocsin sends to its own address, if it sends one."),
  spool: spoolView
    .optional()
    .describe("Alerts that wait on this relay's disk for the database; absent without `SPOOL_DIR`."),
});

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
  released: z
    .object({ at: instant, alertIds: z.array(text) })
    .optional()
    .describe("When a person had it relayed anyway."),
});

export const refusedDetailView = refusedView
  .extend({ headers: headers.describe("Credentials are `***`."), body: text, bodyEncoding })
  .meta({ id: "RefusedRequestDetail" });

export const releasedRefusedView = z.object({
  ids: z.array(text).describe("Of the alerts."),
  duplicate: flag.default(false).describe("They were there before: released, or sent again by a sender that passed."),
});

export const releaseView = z
  .object({ destination: text, released: count.describe("Deliveries that are sent now.") })
  .meta({ id: "Release" });

export const resendPreviewView = view("ResendPreview", {
  failedUntil: instant.describe("For `POST /api/resend`: what fails later is not counted."),
  deliveries: count.describe("At destinations that are configured."),
  destinations: z.array(
    z.object({
      destination: text,
      deliveries: count,
      alerts: count,
      health: health.optional().describe("Absent: it is no longer configured, and nothing is resent to it."),
      asDigests: flag.describe("They are too many to go out one by one."),
      oldestAt: instant.describe("When the oldest of the alerts came."),
      newestAt: instant,
    }),
  ),
});

export const resendResultView = view("ResendResult", {
  made: count.describe("New deliveries."),
  resent: count.describe("Failed ones that count as their resend does now."),
  left: z.array(z.object({ destination: text, deliveries: count, why: text })).describe("What stays failed."),
});

export const tryResultView = view("TryResult", {
  destination: text,
  result: z
    .enum(["works", "answers", "fails", "parked"])
    .describe(
      "`works`: it takes messages. `answers`: it can be reached; the next message shows whether it takes them. `parked`: it has asked for silence until `nextTryAt`, and was not called.",
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

export const shapesView = view("Shapes", {
  kinds: z.array(
    z.object({
      number: count,
      title: text.describe("Of the first alert of the kind."),
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
  downtimes: z
    .array(
      z.object({
        fromAt: instant,
        toAt: instant,
        asleep: flag.describe("A relay ran and did nothing: asleep, or its clock was set."),
        restored: flag.describe("The log was restored from a backup, which lacks what came then."),
      }),
    )
    .describe("When no relay ran, to a minute."),
  missing: z
    .array(
      z.object({
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
    )
    .describe("Alerts that should have arrived, the newest first. None is sent afterwards."),
  outages: z
    .array(
      z.object({
        id: text.describe("In this answer alone."),
        fromAt: instant,
        toAt: instant,
        due: count.describe("Alerts that were due in it."),
        lost: count.describe("Those of them that are missing."),
        rule: text.optional().describe("It is about this rule alone. Absent: the account."),
        whileDown: flag,
        asleep: flag.optional().describe("The relay ran and did nothing: asleep, or its clock was set."),
        comesAgainAt: instant.optional().describe("Of the first alert after it, or of the relay."),
      }),
    )
    .describe("Times in which alerts did not arrive, more than chance explains."),
  unknown: z
    .array(
      z.object({
        what: text.describe("The first names of those that it is true of."),
        names: count.describe("How many names there are."),
        why: text,
        crossings: count.describe("That cannot be told for this reason."),
      }),
    )
    .describe("What is not known, each reason once."),
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

export const errorView = z
  .object({ error: z.object({ code: text, message: text, hint: text.optional() }) })
  .meta({ id: "Error" });
