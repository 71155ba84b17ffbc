import { z } from "@hono/zod-openapi";
import { alertOrigins, bodyFormats, severities, statuses } from "../../core/alert.ts";
import { attemptOutcomes, deliveryPurposes, deliveryStates } from "../../core/delivery.ts";
import { gapVerdicts } from "../../core/gaps.ts";
import { canaryStages, troubleKinds } from "../../core/operations.ts";
import { pictureResults } from "../../core/picture-outcome.ts";
import { watchVerdicts } from "../../core/ports/watch.ts";
import { decisionResults } from "../../core/rules.ts";
import { placeTypes } from "../../core/shape.ts";
import { refusedReasons } from "../../core/source.ts";
import { vendors } from "../../vendors/index.ts";
import { destinationVerdicts } from "../../vendors/verdict.ts";

const channelType = z.enum(vendors.map(({ type }) => type));
export const instant = z.iso.datetime().openapi({ example: "2026-11-21T14:02:05.123Z" });
const health = z.enum(["ok", "degraded", "down", "dead", "paused"]);
const id = z.string().openapi({ example: "019aa5a0-7c3e-7d2a-9b1c-0242ac120002" });

export const attemptSchema = z
  .object({
    at: instant,
    outcome: z.enum(attemptOutcomes).openapi({
      description:
        "`sent`: taken. `retry`: tried again later. `rejected`: refused for good. `ambiguous`: it was sent, and no answer arrived.",
    }),
    reason: z.string().optional().openapi({ description: "A code, e.g. `rate_limited`." }),
    detail: z.string().optional().openapi({ description: "In words, ours or the vendor's." }),
    durationMs: z.number().int(),
    action: z.enum(["send", "edit", "reply"]),
    part: z.number().int().openapi({ description: "From 1; long texts go out in parts." }),
    parts: z.number().int(),
  })
  .openapi("Attempt");

export const deliverySchema = z
  .object({
    id,
    destination: z.string(),
    channel: channelType,
    recipient: z.string().openapi({ description: "Chat id or mailbox; for webhooks the destination's name." }),
    route: z.string(),
    purpose: z.enum(deliveryPurposes),
    state: z.enum(deliveryStates),
    reason: z.string().openapi({ description: "Why it is in that state." }),
    createdAt: instant,
    dueAt: instant.optional().openapi({ description: "Not tried before." }),
    finishedAt: instant.optional(),
    digestId: id.optional().openapi({ description: "Sent together with the others of the same digest." }),
    insteadOf: z.string().optional().openapi({ description: "The destination whose fallback it is." }),
    resentBy: id.optional().openapi({
      description:
        "It did not get through and was resent: id of the delivery of the same alert that replaces it. It counts as that one does, not as failed.",
    }),
  })
  .openapi("Delivery");

export const deliveryDetailSchema = deliverySchema
  .extend({
    attempts: z.array(attemptSchema),
    picture: z
      .object({
        result: z.enum(pictureResults),
        afterMs: z
          .number()
          .int()
          .optional()
          .openapi({ description: "From the text to when the picture joined, or was fetched for the first time." }),
        times: z.number().int().optional().openapi({ description: "How often its address was fetched." }),
        reason: z.string().optional().openapi({ description: "Why there is none, in words." }),
      })
      .optional()
      .openapi({
        description:
          "What became of the picture of its message. Known of the latest 200 of each destination; absent where none was to come, or while it is on its way.",
      }),
  })
  .openapi("DeliveryWithAttempts");

export const factsSchema = z
  .object({
    format: z.enum(bodyFormats).openapi({
      description: "`unreadable`: reading it failed twice; it was sent as received, and `notes` says why.",
    }),
    text: z.string().optional(),
    metric: z.string().optional(),
    token: z.string().optional(),
    chain: z.string().optional(),
    value: z.string().optional().openapi({ description: "Digit for digit as sent." }),
    previousValue: z.string().optional(),
    threshold: z.string().optional(),
    unit: z.string().optional(),
    occurredAt: instant.optional().openapi({ description: "By the sender's word." }),
    link: z.string().optional(),
    externalId: z.string().optional(),
    source: z.string().optional(),
    alertKey: z.string().openapi({ description: "Names the thing that fires and resolves." }),
    fields: z.array(z.object({ name: z.string(), value: z.string() })),
    unlistedFields: z.number().int().optional().openapi({ description: "How many more the body has. Absent: none." }),
    notes: z.array(z.string()).openapi({ description: "What had to be guessed or left out while it was read." }),
  })
  .openapi("Facts");

export const alertSchema = z
  .object({
    id,
    version: z
      .number()
      .int()
      .openapi({ description: "Grows with every change of any alert; the id of its event in the stream." }),
    url: z.string().openapi({ description: "Its page." }),
    origin: z.enum(alertOrigins),
    source: z.string().optional().openapi({
      description: "The source whose hook it arrived at; absent: the account's hook, or it is the relay's own.",
    }),
    receivedAt: instant,
    routedAt: instant.nullable().openapi({ description: "null until it has been read and routed." }),
    routingError: z.string().optional(),
    unmatched: z.boolean().openapi({ description: "No route wanted it." }),
    dropped: z.boolean().openapi({ description: "A route dropped it on purpose, and no other sent it anywhere." }),
    repeatOf: id.optional().openapi({
      description:
        "Id of the first alert: this one has the very same body, which names its own event by an id or a time, and was not sent.",
    }),
    title: z.string().nullable().openapi({ description: "As sent. null until it has been read." }),
    headline: z.string().nullable().optional().openapi({
      description:
        "What messages and pages call it: what happened, how much, by how much, beyond which limit, where. Absent: the relay is older.",
      example: "ONYX504 pool TVL 18,623 USD, −8.2 %, below 19,000 (polygon)",
    }),
    learnedName: z
      .object({
        kind: z.enum(["token", "pool"]),
        chain: z.string(),
        address: z.string().openapi({ description: "As the sender wrote it." }),
        name: z.string().openapi({ description: "Plain text of the service's, as it stands in messages." }),
        learnedAt: instant.openapi({ description: "Messages of before have the address." }),
      })
      .optional()
      .openapi({
        description:
          "What the service calls the token or pool that the sender names by its address alone; `headline` has it. Absent: the sender names it, or no name is known.",
      }),
    severity: z.enum(severities).nullable(),
    status: z.enum(statuses).nullable(),
    facts: factsSchema.nullable(),
    deliveries: z.array(deliverySchema),
  })
  .openapi("Alert");

export const decisionSchema = z
  .object({
    route: z.string(),
    destination: z.string().optional(),
    result: z.enum(decisionResults).openapi({
      description:
        "`contained`: the message of another alert shows this one as well: one of the same request, or one that said before that it is over.",
    }),
    reason: z.string(),
    muteId: z.string().optional(),
  })
  .openapi("Decision");

const routingPartSchema = z
  .object({
    result: z.enum([...decisionResults, "nothing"]).openapi({ description: "`nothing`: no route sends it there." }),
    route: z.string().optional(),
    reason: z.string(),
  })
  .openapi("RoutingPart");

export const routedAgainSchema = z
  .object({
    at: instant.openapi({ description: "As if the alert arrived then: now." }),
    isSame: z.boolean().openapi({ description: "Nothing differs but by the hour of the day." }),
    differences: z.array(
      z.object({
        destination: z.string().nullable().openapi({ description: "null: nobody." }),
        before: routingPartSchema,
        now: routingPartSchema,
        onlyByHour: z.boolean().openapi({ description: "The quiet hours of now would have done the same then." }),
      }),
    ),
    decisions: z.array(decisionSchema).openapi({ description: "Of now, route by route." }),
    isTooLarge: z.boolean().openapi({
      description: "The body was too large to be read for this: conditions on `payload` count as not met.",
    }),
  })
  .openapi("RoutedAgain");

export const requestSchema = z
  .object({
    receivedAt: instant,
    contentType: z.string().optional(),
    headers: z
      .array(z.tuple([z.string(), z.string()]))
      .openapi({ description: "In their order; credentials are `***`." }),
    body: z.string(),
    bodyEncoding: z.enum(["utf8", "base64"]).openapi({ description: "`base64` when the bytes are not valid UTF-8." }),
    bodyBytes: z.number().int(),
    item: z.number().int().openapi({ description: "From 1: which alert of the request's batch this one is." }),
    items: z.number().int(),
    dedupeKey: z.string().optional(),
    conflict: z.boolean().openapi({ description: "An earlier request had the same key and another body." }),
    duplicates: z.number().int().openapi({
      description: "Later requests that were the same: answered as duplicates by their key, or stored with `repeatOf`.",
    }),
  })
  .openapi("RawRequest");

export const alertDetailSchema = alertSchema
  .extend({
    deliveries: z.array(deliveryDetailSchema),
    decisions: z.array(decisionSchema),
    request: requestSchema
      .nullable()
      .openapi({ description: "null for what Tocsin writes itself: notices, and tests of one destination." }),
  })
  .openapi("AlertDetail");

export const evidenceSchema = z
  .object({
    madeAt: instant,
    relay: z.object({
      version: z.string(),
      url: z.string(),
      configurationSha256: z.string().nullable().openapi({
        description: "Names the configuration in force when this was made: of all of it but its secrets.",
      }),
    }),
    alert: alertDetailSchema,
    messages: z
      .array(
        z.object({
          destination: z.string(),
          channel: channelType,
          texts: z.array(z.string()).openapi({ description: "Part by part; none where the destination is gone." }),
          inDigest: z.boolean().openapi({ description: "It was sent in one message with others." }),
        }),
      )
      .openapi({
        description: "Rebuilt from the stored alert, as its first message: without delay notes and earlier messages.",
      }),
    sameKey: z.object({
      isAll: z.boolean().openapi({ description: "Every alert of this key that is kept is listed." }),
      alerts: z
        .array(
          z.object({
            id,
            receivedAt: instant,
            severity: z.enum(severities),
            status: z.enum(statuses),
            value: z.string().optional(),
            threshold: z.string().optional(),
            unit: z.string().optional(),
            metric: z.string().optional(),
            token: z.string().optional(),
            chain: z.string().optional(),
            isRepeat: z.boolean(),
          }),
        )
        .openapi({ description: "Newest first." }),
    }),
  })
  .openapi("Evidence");

export const destinationSchema = z
  .object({
    name: z.string(),
    channel: channelType,
    recipients: z.array(z.string()),
    verdict: z.enum(destinationVerdicts).optional().openapi({
      description:
        "`proven`: a message or a probe got through. `untried`: nothing speaks against it, and nothing was ever tried. `failing`: `health`, `since` and `reason` say how; with `health` `ok` all that was sent there was refused. Absent: the relay is older.",
    }),
    provenAt: instant.optional().openapi({
      description: "When a message, or a probe that proves more than a connection, last got through.",
    }),
    health,
    reason: z.string(),
    since: instant.optional(),
    nextTryAt: instant.optional().openapi({
      description:
        "The next try without being asked. Absent where `health` is `dead` or `paused`: it can be reached again, and its next message is the try.",
    }),
    lastSentAt: instant.optional().openapi({ description: "When it last took a message." }),
    lastFailedAt: instant.optional().openapi({
      description: "When the newest of those ended that failed or expired and were not resent.",
    }),
    probeProves: z.enum(["delivery", "account", "connection"]).openapi({
      description:
        "What a probe, which sends nothing to people, proves: that a message would arrive, that the login is accepted, or only that the host answers.",
    }),
    lastProvenAt: instant.optional().openapi({
      description: "When it last said yes to a probe. With `connection` nothing can be proven without a message.",
    }),
    failedProbes: z
      .object({ count: z.number().int(), detail: z.string() })
      .optional()
      .openapi({ description: "The latest probes had no answer; it is asked again in some minutes." }),
    paused: z
      .object({ at: instant, by: z.string() })
      .optional()
      .openapi({ description: "A person has paused it: alerts for it wait until it is resumed." }),
    movedTo: z.string().optional(),
    relay: z.string().optional().openapi({
      description:
        "The relay that delivers to it, while several run. Absent: none of the others runs, or none has it just now.",
    }),
    definedAt: z.string(),
    counts: z
      .partialRecord(z.enum(deliveryStates), z.number().int())
      .openapi({ description: "Deliveries by state. One that was resent counts as its resend does." }),
    oldestWaitingAt: instant.optional(),
    heldByQuietHours: z
      .object({ count: z.number().int(), until: instant })
      .optional()
      .openapi({ description: "What quiet hours hold, and when the first of it is sent." }),
    resending: z.object({ made: z.number().int(), arrived: z.number().int(), since: instant }).optional().openapi({
      description: "How many of what was resent together have arrived, while some wait. Absent when none waits.",
    }),
  })
  .openapi("Destination");

export const relaySchema = z
  .object({
    version: z.string(),
    startedAt: instant,
    uptimeMs: z.number().int(),
    stopping: z.boolean().openapi({ description: "It is being stopped." }),
    ready: z.boolean().openapi({ description: "Alerts can be stored and deliveries go on, as `/readyz` says it." }),
    reasons: z.array(z.string()).openapi({ description: "Why it is not ready; empty when it is." }),
    unreadableAlerts: z.number().int().openapi({
      description: "Alerts since `startedAt` that were sent as received, because reading or routing them failed twice.",
    }),
    socketIsHeld: z.boolean().openapi({
      description: "The listening socket outlives the relay: alerts that arrive while it restarts wait there.",
    }),
    hearing: z
      .object({
        by: z.enum(["listen", "polls"]).openapi({ description: "`polls`: only by looking every few seconds." }),
        why: z.string().optional().openapi({ description: "Why not at once." }),
        isPooled: z.boolean().openapi({ description: "`DATABASE_URL` leads through a pooler." }),
      })
      .optional()
      .openapi({ description: "How it hears of what other relays have done; absent with SQLite." }),
  })
  .openapi("Relay");

export const runningRelaySchema = z
  .object({
    id: z.string().openapi({ description: "Of its process: another one after each start." }),
    name: z.string().openapi({ description: "Of its machine, as a rule; no two have the same." }),
    version: z.string(),
    startedAt: instant,
    seenAt: instant.openapi({ description: "When it last said that it runs: every 3 s." }),
    unheardMs: z.number().int().optional().openapi({
      description:
        "For so long it has said nothing, while others have. Another one takes over 15 s after its last word.",
    }),
    isSelf: z.boolean().openapi({ description: "It is the one that answers." }),
    configuration: z.enum(["newest", "older", "starting"]).openapi({
      description:
        "Those with the `newest` route and deliver. `older`, and `starting` with a newer one, only accept: they leave the rest to the others.",
    }),
    configurationVersion: z.number().int().openapi({ description: "The higher, the later the database saw it first." }),
    destinations: z
      .array(z.object({ name: z.string(), since: instant.optional() }))
      .openapi({ description: "What it delivers to, of those that the relay which answers has, and since when." }),
    watches: z.boolean().openapi({ description: "It watches account, silence and the like for all." }),
    ready: z.boolean().optional(),
    reasons: z.array(z.string()).openapi({ description: "Why it is not ready; empty when it is." }),
    accepted: z.number().int().optional().openapi({ description: "Alerts since its start." }),
    spooled: z.number().int().optional().openapi({ description: "Alerts that wait in its spool; absent without one." }),
  })
  .openapi("RunningRelay");

export const queueSchema = z
  .object({
    unrouted: z.number().int().openapi({ description: "Alerts accepted and not decided about yet." }),
    oldestUnroutedAt: instant.optional().openapi({ description: "When the oldest of them arrived." }),
    queued: z.number().int().openapi({ description: "Deliveries at all `destinations` together, by state." }),
    waiting: z.number().int(),
    sending: z.number().int(),
    held: z.number().int(),
    failed: z.number().int().openapi({ description: "One that was resent counts as its resend does." }),
    expired: z.number().int(),
    oldestWaitingAt: instant.optional().openapi({
      description: "When the oldest delivery that waits was made. What quiet hours hold waits.",
    }),
  })
  .openapi("Queue");

export const alertCountsSchema = z
  .object({
    total: z.number().int().openapi({ description: "Alerts that were ever stored, Tocsin's own notices among them." }),
    kept: z.number().int().openapi({ description: "Those of them that were not removed since." }),
    oldestReceivedAt: instant.optional().openapi({ description: "When the oldest came that is kept." }),
    lastReceivedAt: instant.optional().openapi({ description: "Absent: none came yet." }),
  })
  .openapi("AlertCounts");

export const diskSchema = z
  .object({
    databaseBytes: z.number().int(),
    freeBytes: z.number().int().optional().openapi({ description: "Absent where the database is another machine's." }),
    full: z.boolean().openapi({ description: "New alerts are answered 503 until there is room." }),
    damage: z.string().optional().openapi({
      description:
        "Earlier alerts could not be looked up since the relay's start, so repeats may have been sent: why. The database is probably damaged.",
    }),
  })
  .openapi("Disk");

const retentionSchema = z
  .object({
    maxAgeMs: z.number().int().optional().openapi({ description: "Absent: alerts are kept however old they are." }),
    maxBytes: z.number().int().optional().openapi({ description: "Absent: alerts are kept however much they take." }),
  })
  .openapi("Retention");

const accountSchema = z
  .object({
    publicUrl: z.string().optional().openapi({
      description: "Absent: `PUBLIC_URL` is not set, so there is no address that the account could send to.",
    }),
    serviceConfigured: z.boolean().openapi({
      description: "`ALERTING_URL` and `ALERTING_API_KEY` are set where the relay runs.",
    }),
    answer: z
      .object({
        at: instant,
        id: z.string().optional(),
        name: z.string().optional(),
        keyExpiresAt: instant.optional(),
        webhook: z.enum(["here", "stranger", "elsewhere", "answered", "nowhere"]).optional().openapi({
          description:
            "Where the account's alerts go. `stranger`: to this relay, with a secret that it does not take. `answered`: to another address than the registered one, where this relay answers. `nowhere`: the webhook is off.",
        }),
        webhookAddress: z.string().optional().openapi({ description: "Without its path, which may be a secret." }),
        messengerChannelId: z.string().nullable().optional(),
      })
      .optional()
      .openapi({
        description:
          "What the alerting service said last; what it does not say is absent. Absent as a whole: it was not heard since the start, or nobody asks it.",
      }),
    canPutBack: z.boolean().default(false).openapi({
      description: "The outputs are others than setup left; `POST /api/account/put-back` changes that.",
    }),
  })
  .openapi("Account");

export const watchSchema = z
  .object({
    name: z.string().openapi({
      description:
        "`account`: the account at the alerting service. `gaps`: alerts that should have come. `disk`: room on the disk.",
    }),
    verdict: z.enum(watchVerdicts).openapi({
      description:
        "`unknown`: it cannot tell, which is no alarm. `idle`: there is nothing to watch, or to compare with.",
    }),
    summary: z.string().openapi({ description: "What is true, in one line." }),
    troubles: z.array(z.string()).openapi({ description: "What is wrong and what to do, a line each." }),
    since: instant.optional().openapi({ description: "Since when it is in trouble; absent: nobody can say." }),
    reason: z.string().optional().openapi({ description: "What the other side answered last, in its own words." }),
    level: z.literal("warn").optional().openapi({
      description: "Not certain yet, or nothing is lost by it yet. Absent: it is bad.",
    }),
    note: z.string().optional().openapi({ description: "What comes of it or is done about it, in a few words." }),
    lookedAt: instant.optional().openapi({ description: "When it last looked; absent: not yet." }),
  })
  .openapi("Watch");
const silenceSchema = z
  .object({
    watch: z.string().openapi({ description: "`hook`, `route:NAME` or `source:NAME`." }),
    of: z.enum(["hook", "route", "source"]),
    name: z.string().optional(),
    afterMs: z.number().int().optional().openapi({ description: "Absent: `auto`." }),
    state: z.enum(["watching", "learning", "silent", "muted"]).openapi({
      description: "`learning`: too little is known for a notice. `muted`: no notice is sent.",
    }),
    since: instant.openapi({ description: "Since when it is watched; what the log had before counts." }),
    lastAt: instant.optional().openapi({ description: "When the last alert came; absent: none since `since`." }),
    lastId: id.optional(),
    quietMs: z.number().int().openapi({ description: "Without an alert, while Tocsin ran." }),
    usualMs: z
      .number()
      .int()
      .optional()
      .openapi({ description: "The usual longest gap at these hours, from the last alert on." }),
    tellsAt: instant.optional().openapi({ description: "When a notice is sent if no alert arrives until then." }),
    toldAt: instant.optional().openapi({ description: "When the notice was sent that no alert arrives." }),
    learning: z
      .object({
        days: z.number().int(),
        daysNeeded: z.number().int(),
        arrivals: z.number().int(),
        arrivalsNeeded: z.number().int(),
        isReading: z.boolean(),
      })
      .optional(),
    mute: z.object({ reason: z.string(), until: instant }).optional(),
  })
  .openapi("Silence");

const spoolSchema = z
  .object({
    alerts: z.number().int().openapi({ description: "How many wait." }),
    bytes: z.number().int().openapi({ description: "What its files take." }),
    maxBytes: z.number().int().openapi({ description: "Beyond it alerts are answered 503." }),
    oldestAt: instant.optional().openapi({ description: "When the oldest that waits came." }),
    since: instant.optional().openapi({ description: "Since when something has waited." }),
    problem: z.string().optional().openapi({ description: "Why the last that should have waited there could not." }),
    stuck: z.number().int().openapi({ description: "Requests of those that the database refuses for what they are." }),
    unreadable: z.number().int().openapi({ description: "Alerts that could not be read back since the start." }),
    damagedFiles: z
      .array(z.string())
      .openapi({ description: "Files that were kept aside, since they hold alerts that cannot be read." }),
  })
  .openapi("Spool");

const canarySchema = z
  .object({
    schedule: z
      .string()
      .openapi({ description: "When one is sent: `every 1 h`, `at 07:30 and 19:30, Europe/Zurich`." }),
    state: z.enum(["waiting", "works", "fails"]).openapi({ description: "`waiting`: none has arrived yet." }),
    lastAt: instant.optional(),
    lastOkAt: instant.optional(),
    nextAt: instant,
    since: instant.optional().openapi({ description: "Since when it fails." }),
    stage: z.enum(canaryStages).optional().openapi({ description: "What it did not pass." }),
    detail: z.string().optional(),
    toldAt: instant.optional(),
  })
  .openapi("Canary");

export const sourceSchema = z
  .object({
    name: z.string(),
    accepted: z.number().int().openapi({ description: "Requests since the start that were answered 202." }),
    lastAcceptedAt: instant.optional().openapi({ description: "When the last of them came." }),
    checks: z
      .array(z.string())
      .default([])
      .openapi({ description: "What its sender has to prove; empty: to know the address is enough." }),
    refused: z
      .partialRecord(z.enum(refusedReasons), z.number().int())
      .default({})
      .openapi({ description: "Requests since the start that did not pass, by why." }),
    lastRefusedAt: instant.optional(),
    account: accountSchema
      .pick({ answer: true, canPutBack: true })
      .optional()
      .openapi({ description: "Its own account at the service; absent: it has none, or nobody watches it." }),
  })
  .openapi("Source");

export const refusedSchema = z
  .object({
    id,
    source: z.string(),
    receivedAt: instant,
    reason: z.enum(refusedReasons),
    detail: z.string().openapi({ description: "Why, in words." }),
    address: z.string().openapi({ description: "Where it came from, as far as the proxies before it are believed." }),
    contentType: z.string().optional(),
    items: z.number().int().openapi({ description: "How many alerts it would be." }),
    unkept: z.number().int().openapi({
      description: "How many were refused since the one before it and not kept: of a flood only some are.",
    }),
    bodyBytes: z.number().int(),
    released: z
      .object({ at: instant, alertIds: z.array(z.string()) })
      .optional()
      .openapi({ description: "When a person had it relayed anyway." }),
  })
  .openapi("RefusedRequest");

export const refusedDetailSchema = refusedSchema
  .extend({
    headers: z.array(z.tuple([z.string(), z.string()])).openapi({ description: "Credentials are `***`." }),
    body: z.string(),
    bodyEncoding: z.enum(["utf8", "base64"]),
  })
  .openapi("RefusedRequestDetail");

const troubleSchema = z
  .object({
    kind: z.enum(troubleKinds).openapi({
      description:
        "`store`, `reading`: alerts are refused, or sent as received. `spool`: alerts wait on this relay for the database. `lane`: no relay delivers there, or watches, though some run. `destination`: one takes no messages. `resending`: some of what failed there waits to be sent again. `watch`, `canary`, `silence`: alerts may be missing. `backlog`: something waits too long. `paused`: by a person. `relay`: another configuration, or another relay that is not ready. `unsteady`: a destination fails at times.",
    }),
    level: z.enum(["bad", "warn"]).openapi({ description: "`bad`: lost, missing, or reaching nobody. `warn`: late." }),
    what: z.string().openapi({ example: "trading-desk is dead" }),
    since: instant.optional(),
    notes: z.array(z.string()).openapi({ description: "What comes of it.", example: ["3 not delivered"] }),
    reason: z.string().optional().openapi({ description: "What was said last." }),
    name: z.string().optional().openapi({ description: "The destination, watch, route or source it is about." }),
    source: z.string().optional().openapi({ description: "Of a watch over the account of a source." }),
    failed: z
      .number()
      .int()
      .optional()
      .openapi({ description: "Deliveries to it that failed or expired and were not resent." }),
    expired: z.number().int().optional().openapi({ description: "How many of those expired." }),
    canPutBack: z.boolean().optional().openapi({ description: "`POST /api/account/put-back` would fix it." }),
  })
  .openapi("Trouble");

export const statusSchema = z
  .object({
    troubles: z
      .array(troubleSchema)
      .default([])
      .openapi({ description: "What is wrong now, worst first, as the strip on every page says it." }),
    relay: relaySchema.openapi({ description: "The relay that answers." }),
    relays: z
      .array(runningRelaySchema)
      .default([])
      .openapi({ description: "All that run on the database, the one that answers first." }),
    alerts: alertCountsSchema,
    queue: queueSchema,
    destinations: z.array(destinationSchema).openapi({ description: "In the order of the configuration." }),
    disk: diskSchema,
    retention: retentionSchema.openapi({ description: "What is removed by and by, once it is finished." }),
    silence: z.array(silenceSchema).default([]).openapi({
      description: "The watches over alerts that do not come; none when nothing is watched.",
    }),
    canary: canarySchema.optional().openapi({
      description: "The test that Tocsin sends to its own public address; absent when it sends none.",
    }),
    account: accountSchema.openapi({
      description: "What the relay knows from its watch over the account. Nothing is asked for this answer.",
    }),
    spool: spoolSchema.optional().openapi({
      description:
        "Alerts that were answered 202 while the database was away, and wait on this relay's disk; absent without `SPOOL_DIR`.",
    }),
    sources: z.array(sourceSchema).default([]).openapi({ description: "Named hooks beside the account's." }),
    watches: z.array(watchSchema).default([]).openapi({ description: "What the relay watches around it." }),
  })
  .openapi("Status");

export const releaseSchema = z
  .object({
    destination: z.string(),
    released: z.number().int().openapi({ description: "Deliveries that are sent now." }),
  })
  .openapi("Release");

export const resendPreviewSchema = z
  .object({
    failedUntil: instant.openapi({ description: "For `POST /api/resend`: what fails later is not counted." }),
    deliveries: z.number().int().openapi({ description: "At destinations that are configured." }),
    destinations: z.array(
      z.object({
        destination: z.string(),
        deliveries: z.number().int(),
        alerts: z.number().int(),
        oldestAt: instant.openapi({ description: "When the oldest of the alerts came." }),
        newestAt: instant,
        health: health
          .optional()
          .openapi({ description: "Absent: it is no longer configured, and nothing is resent to it." }),
        asDigests: z.boolean().openapi({ description: "They are too many to go out one by one." }),
      }),
    ),
  })
  .openapi("ResendPreview");

export const resendResultSchema = z
  .object({
    made: z.number().int().openapi({ description: "New deliveries." }),
    resent: z.number().int().openapi({ description: "Failed ones that count as their resend does now." }),
    left: z
      .array(z.object({ destination: z.string(), deliveries: z.number().int(), why: z.string() }))
      .openapi({ description: "What stays failed." }),
  })
  .openapi("ResendResult");

export const tryResultSchema = z
  .object({
    destination: z.string(),
    result: z.enum(["works", "answers", "fails", "parked"]).openapi({
      description:
        "`works`: it takes messages. `answers`: it can be reached; the next message shows whether it takes them. `fails`: it does not work. `parked`: it has asked for silence until `nextTryAt`, and was not called.",
    }),
    detail: z.string().openapi({ description: "What it said." }),
    nextTryAt: instant.optional().openapi({ description: "The next try without being asked." }),
    health,
    waiting: z.number().int().openapi({ description: "Deliveries that wait for it." }),
  })
  .openapi("TryResult");

export const destinationTestSchema = z
  .object({
    isNew: z
      .boolean()
      .openapi({ description: "false: this is an earlier one, still on its way or less than 10 s old." }),
    alert: alertSchema,
  })
  .openapi("DestinationTest");

const conditionSchema = z
  .object({
    equals: z.array(z.string()).optional(),
    not: z.array(z.string()).optional(),
    lt: z.number().optional(),
    lte: z.number().optional(),
    gt: z.number().optional(),
    gte: z.number().optional(),
    exists: z.boolean().optional(),
    matches: z.string().optional(),
    notMatches: z.string().optional(),
  })
  .openapi("Condition");

export const muteSchema = z
  .object({
    id: z.string(),
    state: z.enum(["active", "coming", "ended"]),
    matchers: z.array(z.object({ field: z.string(), condition: conditionSchema })),
    reason: z.string(),
    startsAt: instant,
    endsAt: instant,
    createdAt: instant,
    createdBy: z.string(),
  })
  .openapi("Mute");

export const mutePreviewSchema = z
  .object({
    matched: z.number().int().openapi({ description: "Alerts that it would have muted." }),
    looked: z
      .number()
      .int()
      .openapi({ description: "Alerts of senders that were looked at, the newest of the last 24 hours." }),
    complete: z.boolean().openapi({
      description: "false when there were more: 10,000 are looked at, 1,000 where a matcher looks into bodies.",
    }),
    since: instant,
  })
  .openapi("MutePreview");

export const newMuteSchema = muteSchema
  .extend({
    preview: mutePreviewSchema
      .nullable()
      .openapi({ description: "What it would have held; null when the log could not be read just then." }),
  })
  .openapi("MuteWithPreview");

export const shapesSchema = z
  .object({
    kinds: z.array(
      z.object({
        number: z.int(),
        title: z.string().openapi({ description: "Of the first alert of the kind." }),
        source: z.string().nullable().openapi({ description: "What that sender calls itself." }),
        alerts: z.int(),
        shapes: z.int().openapi({ description: "Different ones among them that are known." }),
        firstAt: instant,
        lastAt: instant,
        places: z.array(
          z.object({
            path: z.string().openapi({ example: "payload.rule.name" }),
            type: z.enum(placeTypes),
            example: z.string().openapi({ description: 'From one body; "(not shown)" where it may be a credential.' }),
            alerts: z.int(),
            firstAt: instant,
            lastAt: instant,
            facts: z.array(z.string()).openapi({ description: "What is read from it." }),
            routes: z.array(z.string()).openapi({ description: "Those that look at it, or at what is read from it." }),
            isGone: z.boolean().openapi({ description: "It was in all of them, and is in none of the last." }),
          }),
        ),
      }),
    ),
    unfollowed: z
      .object({ unknown: z.int(), without: z.int() })
      .openapi({ description: "Alerts of unknown shapes beside too many others, and those without a shape." }),
  })
  .openapi("Shapes");

export const gapsSchema = z
  .object({
    since: instant,
    until: instant,
    checkedAt: instant,
    downtimes: z
      .array(
        z.object({
          fromAt: instant,
          toAt: instant,
          asleep: z.boolean().openapi({
            description: "A relay ran and did nothing: its machine was asleep, or its clock was set.",
          }),
          restored: z.boolean().openapi({
            description: "A relay may have run: the log was restored from a backup, which lacks what came then.",
          }),
        }),
      )
      .openapi({ description: "When no relay ran, to a minute." }),
    missing: z
      .array(
        z.object({
          verdict: z.enum(gapVerdicts).openapi({
            description:
              "`sure`: nothing else explains it. `likely`: chance would seldom explain it, and `reason` says what may.",
          }),
          odds: z.number().openapi({ description: "It is 1 to so many that nothing is wrong." }),
          rule: z.string().openapi({ description: "The subscription's id, or metric and condition." }),
          metricKey: z.string(),
          metricName: z.string().optional().openapi({ description: "What the service calls the metric." }),
          condition: z.string().openapi({ example: "above 3300" }),
          status: z.enum(["firing", "resolved"]).openapi({ description: "What the alert would have said." }),
          fromAt: instant.openapi({ description: "The record before the crossing." }),
          toAt: instant.openapi({ description: "The record after it." }),
          before: z.number(),
          after: z.number(),
          reason: z.string(),
          whileDown: z.boolean().openapi({ description: "The relay did not run then." }),
          outage: z
            .string()
            .optional()
            .openapi({ description: "The `id` of its outage. Absent: it is missing alone." }),
        }),
      )
      .openapi({
        description: "Alerts that should have arrived and did not, the newest first. None is sent afterwards.",
      }),
    outages: z
      .array(
        z.object({
          id: z.string().openapi({ description: "In this answer alone." }),
          fromAt: instant,
          toAt: instant,
          due: z.int().openapi({ description: "Alerts that were due in it." }),
          lost: z.int().openapi({ description: "Those of them that are missing." }),
          rule: z.string().optional().openapi({ description: "It is about this rule alone. Absent: the account." }),
          whileDown: z.boolean(),
          asleep: z.boolean().optional().openapi({
            description: "The relay ran and did nothing then: its machine was asleep, or its clock was set.",
          }),
          comesAgainAt: instant.optional().openapi({
            description: "When the first alert after it arrived, or the relay was there again.",
          }),
        }),
      )
      .openapi({ description: "Times in which alerts did not arrive, more than chance explains." }),
    unknown: z
      .array(
        z.object({
          what: z.string().openapi({ description: "The first names of those that it is true of." }),
          names: z.int().openapi({ description: "How many names there are." }),
          why: z.string(),
          crossings: z.int().openapi({ description: "That cannot be told for this reason." }),
        }),
      )
      .openapi({ description: "What is not known, each reason once." }),
    rules: z.int(),
    crossings: z.int().openapi({
      description: "That the records show, of all rules: each is answered, missing, fresh, unclear or not due.",
    }),
    answered: z.int().openapi({ description: "Those of them of which an alert came." }),
    fresh: z.int().openapi({ description: "Those whose alert may still be on its way." }),
    unclear: z.int().openapi({ description: "Those of which it cannot be told whether an alert was due." }),
    notDue: z.int().openapi({
      description: "Those of which none was due: before the first alert came here, or while the account was off.",
    }),
    freshMs: z.number().openapi({ description: "For so long an alert may be on its way, as the past shows." }),
    lastAlertAt: instant.optional().openapi({ description: "When the newest alert that came happened." }),
    recordEveryMs: z.number().optional().openapi({
      description:
        "The longest usual time between two records of a metric: what begins and ends within it is not seen.",
    }),
  })
  .openapi("Gaps");

export const errorSchema = z
  .object({
    error: z.object({ code: z.string(), message: z.string(), hint: z.string().optional() }),
  })
  .openapi("Error");
