import { createRoute, z } from "@hono/zod-openapi";
import { severities } from "../../core/alert.ts";
import { failedStates } from "../../core/delivery.ts";
import { idPartPattern } from "../../core/id.ts";
import { alertFilters, failedFilters, limitSchema } from "../alert-query.ts";
import { exportFormats } from "../export.ts";
import { stateFilters } from "../search-language.ts";
import {
  alertDetailSchema,
  alertSchema,
  deliverySchema,
  destinationSchema,
  destinationTestSchema,
  errorSchema,
  evidenceSchema,
  gapsSchema,
  instant,
  mutePreviewSchema,
  muteSchema,
  newMuteSchema,
  refusedDetailSchema,
  refusedSchema,
  releaseSchema,
  resendPreviewSchema,
  resendResultSchema,
  routedAgainSchema,
  runningRelaySchema,
  shapesSchema,
  statusSchema,
  tryResultSchema,
} from "./schemas.ts";

const json = <T extends z.ZodType>(schema: T) => ({ "application/json": { schema } });
const answer = <T extends z.ZodType>(description: string, data: T) => ({
  description,
  content: json(z.object({ data })),
});
const failure = (description: string) => ({ description, content: json(errorSchema) });
const refused = {
  401: failure("No admin token, or a wrong one."),
  429: failure("A wrong admin token after many others. The right one is taken at any time."),
};
const idParameter = z.object({ id: z.string().openapi({ description: "An id of the log." }) });

/** The filters are read by `alertFilters`; this says what they mean. */
const filterQuery = {
  q: alertFilters.shape.q.openapi({
    description:
      "Words that all must occur in title, text, facts or fields; each may be the start of a word. What is in quotes must occur literally. `token:USDC`, `chain:eth`, `metric:tvl`, `title:depeg`, `value>1000000`, `status:firing` ask for facts; `raw:` asks for a text in the body as it came; `severity:`, `state:`, `destination:`, `route:`, `source:` and `key:` are the filters of these names.",
  }),
  severity: alertFilters.shape.severity.openapi({ enum: [...severities] }),
  destination: alertFilters.shape.destination.openapi({ description: "Its name." }),
  route: alertFilters.shape.route.openapi({ description: "At least one delivery is by the route of this name." }),
  key: alertFilters.shape.key.openapi({ description: "Has this alert key, as `facts.alertKey` says it." }),
  source: alertFilters.shape.source.openapi({ description: "Received at the hook of this source." }),
  from: alertFilters.shape.from.openapi({
    type: "string",
    format: "date-time",
    description: "Received at or after.",
  }),
  to: alertFilters.shape.to.openapi({
    type: "string",
    format: "date-time",
    description: "Received at or before.",
  }),
};

const stateQuery = {
  state: alertFilters.shape.state.openapi({
    enum: [...stateFilters],
    description:
      "A state that at least one delivery has, or `problem` (a delivery failed, expired or may not have arrived, no route wanted the alert, or routing failed), `unmatched` (no route wanted it), `dropped` (by a route, on purpose), `repeat` (of an earlier alert, not sent), or `unrouted` (not decided yet). A delivery that was resent counts as its resend does.",
  }),
};

const listQuery = z.strictObject({
  ...filterQuery,
  ...stateQuery,
  limit: limitSchema.openapi({ type: "integer", minimum: 1, maximum: 200, default: 50 }),
  cursor: z.string().optional().openapi({ type: "string", description: "`meta.nextCursor` of the answer before." }),
});

export const listAlertsRoute = createRoute({
  method: "get",
  path: "/api/alerts",
  summary: "The log, newest first",
  request: { query: listQuery },
  responses: {
    200: {
      description:
        "One page. `nextCursor` is null at the end of the log. With `searchedTo` the page is not full though the log goes on: filters that few alerts pass are looked for no longer than a moment, and alerts older than that time come with `nextCursor`.",
      content: json(
        z.object({
          data: z.array(alertSchema),
          meta: z.object({ nextCursor: z.string().nullable(), searchedTo: instant.optional() }),
        }),
      ),
    },
    400: failure("A parameter cannot be read."),
    ...refused,
  },
});

export const exportRoute = createRoute({
  method: "get",
  path: "/api/export",
  summary: "Every alert that the filters let through, newest first, as a file",
  description:
    "Sent as it is read. A file that is not whole ends with a line that says so (in NDJSON an object with `error`), and its connection breaks before the end.",
  request: {
    query: z.strictObject({
      ...filterQuery,
      ...stateQuery,
      format: z.enum(exportFormats, { error: "must be csv or ndjson" }).default("ndjson").openapi({
        description:
          "`ndjson`: an alert a line, as the list gives it. `csv`: RFC 4180, where nothing that a sender wrote is a formula.",
      }),
      view: z
        .enum(["events", "keys"], { error: "must be events or keys" })
        .default("events")
        .openapi({ description: "`keys`: of each alert key the newest alert alone." }),
    }),
  },
  responses: {
    200: {
      description: "The file.",
      content: { "application/x-ndjson": { schema: z.string() }, "text/csv": { schema: z.string() } },
    },
    400: failure("A parameter cannot be read."),
    ...refused,
  },
});

export const getAlertRoute = createRoute({
  method: "get",
  path: "/api/alerts/{id}",
  summary: "One alert: its request as received, what was decided, every delivery and attempt",
  request: { params: idParameter },
  responses: {
    200: answer("All that is known of it.", alertDetailSchema),
    404: failure("No such alert."),
    ...refused,
  },
});

export const evidenceRoute = createRoute({
  method: "get",
  path: "/api/alerts/{id}/evidence",
  summary: "All that is known of one alert, as one document",
  description:
    "The alert as `GET /api/alerts/{id}` gives it, its messages made again, the alerts of the same key, and the hash of the configuration. Without credentials.",
  request: { params: idParameter },
  responses: {
    200: answer("The evidence.", evidenceSchema),
    404: failure("No such alert."),
    ...refused,
  },
});

export const routedAgainRoute = createRoute({
  method: "get",
  path: "/api/alerts/{id}/routes",
  summary: "What today's routes and mutes would do with an alert, beside what was decided then",
  description: "By the facts as they were read when it arrived. Stores and sends nothing.",
  request: { params: idParameter },
  responses: {
    200: answer("What differs by destination, and each route's answer.", routedAgainSchema),
    404: failure("No such alert."),
    409: failure("No route was asked for it: it is not routed yet, a repeat, or one that Tocsin wrote itself."),
    ...refused,
  },
});

export const findIdsRoute = createRoute({
  method: "get",
  path: "/api/ids",
  summary: "Alerts whose id begins or ends with a part of one",
  request: {
    query: z.strictObject({
      part: z
        .string()
        .toLowerCase()
        .regex(idPartPattern, "must be 4 to 36 characters of an id")
        .openapi({ description: "The first characters of an id, or the last.", example: "ac120002" }),
    }),
  },
  responses: {
    200: {
      description:
        "At most 10, newest first. Beginnings are found at any age, endings among the newest 100,000 alerts: with `searchedTo` no further back than that time.",
      content: json(z.object({ data: z.array(alertSchema), meta: z.object({ searchedTo: instant.optional() }) })),
    },
    400: failure("The part cannot be one."),
    ...refused,
  },
});

export const resendRoute = createRoute({
  method: "post",
  path: "/api/alerts/{id}/resend",
  summary: "Send an alert once more, marked as a resend",
  request: {
    params: idParameter,
    body: {
      required: false,
      content: json(
        z.strictObject({
          destination: z.string().optional().openapi({ description: "Default: every destination that it had." }),
        }),
      ),
    },
  },
  responses: {
    200: answer("The new deliveries.", z.array(deliverySchema)),
    400: failure("The body cannot be read."),
    404: failure("No such alert or destination."),
    409: failure("Not routed yet, or nowhere to send it."),
    ...refused,
  },
});

export const releaseRoute = createRoute({
  method: "post",
  path: "/api/release",
  summary: "Send now what quiet hours hold",
  description:
    "Without a body: all of it, at every destination. It goes out as the summary that the end of the quiet hours would bring. What is held since nobody knows whether it arrived is released only where its alert is named, and goes out marked as a possible repeat; `resend` is the other way. Asked again, it releases nothing more.",
  request: {
    body: {
      required: false,
      content: json(
        z.strictObject({
          destination: z.string().optional().openapi({ description: "Default: every destination." }),
          alerts: z
            .array(z.string())
            .min(1, "must name at least one alert")
            .max(200, "must name at most 200 alerts")
            .optional()
            .openapi({ description: "Ids. Default: every alert." }),
        }),
      ),
    },
  },
  responses: {
    200: answer("What is sent now; destinations that held nothing are left out.", z.array(releaseSchema)),
    400: failure("The body cannot be read."),
    404: failure("No such alert or destination."),
    ...refused,
  },
});

const failedQuery = z.strictObject({
  ...filterQuery,
  state: failedFilters.shape.state.openapi({ enum: [...failedStates], description: "Default: both." }),
  failedUntil: failedFilters.shape.failedUntil.openapi({
    type: "string",
    format: "date-time",
    description: "Failed at or before. Default: now.",
  }),
});

export const previewResendRoute = createRoute({
  method: "get",
  path: "/api/resend",
  summary: "How much failed and was not resent, by destination",
  description: "The filters are those of the log. Changes nothing; see `POST /api/resend`.",
  request: { query: failedQuery },
  responses: {
    200: answer("What a resend with these filters would take up.", resendPreviewSchema),
    400: failure("A parameter cannot be read."),
    ...refused,
  },
});

export const resendFailedRoute = createRoute({
  method: "post",
  path: "/api/resend",
  summary: "Resend everything that failed",
  description:
    "To the destinations where it failed, one message in four while other alerts are due there, and as digests when it is much: `resending` of the destination says how many have arrived. Give `failedUntil` as the preview has said it, and nothing is resent that the preview has not counted. Asked for twice, it makes nothing twice. A destination that is dead or paused is tried first; while it still refuses, what failed there stays failed.",
  request: { body: { required: false, content: json(failedQuery) } },
  responses: {
    200: answer("What is on its way, and what stays failed.", resendResultSchema),
    400: failure("The body cannot be read."),
    ...refused,
  },
});

export const tryDestinationRoute = createRoute({
  method: "post",
  path: "/api/destinations/{name}/try",
  summary: "Ask a destination now whether it works",
  description:
    "Nothing is sent to people. When it works again, what waits is sent. It is not called before the time until which it has asked for silence.",
  request: { params: z.object({ name: z.string().openapi({ description: "Of the destination." }) }) },
  responses: {
    200: answer("What it said.", tryResultSchema),
    404: failure("No such destination."),
    ...refused,
  },
});

export const testDestinationRoute = createRoute({
  method: "post",
  path: "/api/destinations/{name}/test",
  summary: "Send one marked test message straight to a destination",
  description:
    "Whatever routes, mutes and quiet hours say, and also where it is dead or paused. It goes as any delivery does: `GET /api/alerts/{id}` with the id in `alert` says what becomes of it. While one is still on its way there, and within 10 s of one, no second one is sent: that one is the answer.",
  request: {
    params: z.object({ name: z.string().openapi({ description: "Of the destination." }) }),
    body: {
      required: false,
      content: json(
        z.strictObject({
          severity: z
            .enum(severities, { error: `must be one of ${severities.join(", ")}` })
            .optional()
            .openapi({ description: "What it says of itself. Default: info." }),
        }),
      ),
    },
  },
  responses: {
    200: answer("The test, with a delivery for each recipient.", destinationTestSchema),
    400: failure("The body cannot be read."),
    404: failure("No such destination."),
    ...refused,
  },
});

const ofDestination = z.object({ name: z.string().openapi({ description: "Of the destination." }) });

export const pauseDestinationRoute = createRoute({
  method: "post",
  path: "/api/destinations/{name}/pause",
  summary: "Let nothing be sent to a destination until it is resumed",
  description:
    "New alerts for it wait and do not expire; routes' fallbacks are used as ever; a test and the resend of one alert are sent. It outlives a restart. Nothing changes at one that is paused already.",
  request: { params: ofDestination },
  responses: {
    200: answer("The destination, with `paused`.", destinationSchema),
    404: failure("No such destination."),
    ...refused,
  },
});

export const resumeDestinationRoute = createRoute({
  method: "post",
  path: "/api/destinations/{name}/resume",
  summary: "Send to a destination again",
  description: "What waited is sent now, as digests when it is much. Nothing changes at one that is not paused.",
  request: { params: ofDestination },
  responses: {
    200: answer("The destination.", destinationSchema),
    404: failure("No such destination."),
    ...refused,
  },
});

export const putBackRoute = createRoute({
  method: "post",
  path: "/api/account/put-back",
  summary: "Make the account send to this relay again",
  description:
    "Sets webhook and messenger channel at the alerting service to what setup had left, and reads back. Changes nothing when they are that.",
  request: {
    body: {
      required: false,
      content: json(
        z.strictObject({
          source: z
            .string()
            .optional()
            .openapi({ description: "Whose own account. Default: that of the environment." }),
        }),
      ),
    },
  },
  responses: {
    200: answer("What was done.", z.object({ result: z.enum(["put-back", "unchanged"]) })),
    404: failure("This relay was not registered from here yet."),
    409: failure(
      "The key belongs to another account, setup has turned the webhook off, or nobody watches the account.",
    ),
    502: failure("The service refused it, or could not be reached."),
    ...refused,
  },
});

export const statusRoute = createRoute({
  method: "get",
  path: "/api/status",
  summary: "Health of the relay, its queue, its destinations and its disk",
  description:
    "For monitors and `tocsin status`. Answers 200 also while the relay is not ready; `relay.ready` says so, and `relay.reasons` why. " +
    "It costs as much as `/readyz`, however long the log is. Fields may be added.",
  responses: {
    200: answer("As it is now.", statusSchema),
    ...refused,
    503: failure("The store does not answer."),
  },
});

export const listRelaysRoute = createRoute({
  method: "get",
  path: "/api/relays",
  summary: "The relays that run on this log, and what each of them does",
  description: "The same on every relay, as each has told it some seconds ago. With SQLite it is one.",
  responses: {
    200: answer("The one that answers first.", z.array(runningRelaySchema)),
    ...refused,
  },
});

export const listDestinationsRoute = createRoute({
  method: "get",
  path: "/api/destinations",
  summary: "Every destination with its health and the states of its deliveries",
  responses: {
    200: answer("In the order of the configuration.", z.array(destinationSchema)),
    ...refused,
  },
});

export const listMutesRoute = createRoute({
  method: "get",
  path: "/api/mutes",
  summary: "Active and coming mutes",
  request: {
    query: z.strictObject({
      ended: z
        .enum(["true", "false"], { error: "must be true or false" })
        .optional()
        .openapi({ description: "`true` lists past ones as well." }),
    }),
  },
  responses: {
    200: answer("Those of the configuration among them.", z.array(muteSchema)),
    400: failure("A parameter cannot be read."),
    ...refused,
  },
});

const matchSchema = z
  .union(
    [z.string(), z.array(z.string()).min(1, "must name at least one condition"), z.record(z.string(), z.unknown())],
    {
      error: 'must be a text such as "severity=info value<5", a list of such, or a map of field to value or conditions',
    },
  )
  .openapi({
    description:
      "As in the configuration: a text such as `severity=info value<5`, a list of such, or a map. All must hold.",
    example: { severity: "info", value: { lt: 5 } },
  });

export const previewMuteRoute = createRoute({
  method: "post",
  path: "/api/mutes/preview",
  summary: "What a mute would have held of the last 24 hours; makes none",
  request: {
    body: { required: true, content: json(z.strictObject({ match: matchSchema }).openapi("MuteToPreview")) },
  },
  responses: {
    200: answer("Judged by the matcher that routing uses.", mutePreviewSchema),
    400: failure("A matcher is missing or cannot be read."),
    ...refused,
  },
});

export const addMuteRoute = createRoute({
  method: "post",
  path: "/api/mutes",
  summary: "Record matching alerts without sending them, until a time",
  request: {
    body: {
      required: true,
      content: json(
        z
          .strictObject({
            match: matchSchema,
            for: z.string().optional().openapi({ description: "A duration. Either this or `until`.", example: "2h" }),
            until: z.string().optional().openapi({ format: "date-time" }),
            from: z.string().optional().openapi({ format: "date-time", description: "Default: now." }),
            reason: z
              .string({ error: "must say in a few words why" })
              .trim()
              .min(1, "must say in a few words why")
              .max(500, "must be at most 500 characters"),
          })
          .openapi("NewMute"),
      ),
    },
  },
  responses: {
    201: answer("It holds from now on.", newMuteSchema),
    400: failure("A matcher, a time or the reason is missing or cannot be read."),
    ...refused,
  },
});

export const endMuteRoute = createRoute({
  method: "delete",
  path: "/api/mutes/{id}",
  summary: "End a mute now",
  request: { params: idParameter },
  responses: {
    204: { description: "It is ended." },
    404: failure("No such active mute."),
    409: failure("It is in the configuration, and is ended there."),
    ...refused,
  },
});

export const streamRoute = createRoute({
  method: "get",
  path: "/api/stream",
  summary: "Changes of alerts as server-sent events",
  description:
    "`event: alert` with the alert as in the list, `id` its version. Of several changes in a row only the last is sent. Resumes by Last-Event-ID; `event: ready` comes first and has the id of the place where the stream begins. The log before is read through /api/alerts. `event: reset` says that the database is older than the id given (it was restored from a copy): read the log anew. `event: stopping` is the last before the relay is stopped: open the stream again after `retry` milliseconds.",
  request: {
    query: z.strictObject({
      after: z.string().optional().openapi({ description: "Like Last-Event-ID, for clients that cannot set headers." }),
    }),
  },
  responses: {
    200: {
      description: "Until one of the two ends it.",
      content: { "text/event-stream": { schema: z.string() } },
    },
    503: failure("Too many streams are open, or the relay is being stopped."),
    ...refused,
  },
});

const gapSource = z
  .string()
  .optional()
  .openapi({ description: "The source whose account is meant. Default: the account of the environment." });

export const gapsRoute = createRoute({
  method: "get",
  path: "/api/gaps",
  summary: "Alerts that should have arrived and did not, as the last look found",
  description:
    "Compares the metrics' records at the alerting service with the log. Asks nobody outside; null before the first look after a start, or where nobody looks.",
  request: { query: z.strictObject({ source: gapSource }) },
  responses: {
    200: answer("Of the last seven days.", gapsSchema.nullable()),
    400: failure("A parameter cannot be read."),
    ...refused,
  },
});

export const checkGapsRoute = createRoute({
  method: "post",
  path: "/api/gaps",
  summary: "Look now for alerts that should have arrived and did not",
  description: "Asks the alerting service, one metric after the other, so it may take a minute. Sends no notice.",
  request: {
    body: {
      required: false,
      content: json(
        z.strictObject({
          since: alertFilters.shape.from.openapi({
            type: "string",
            format: "date-time",
            description: "Default, and at most: seven days ago, which is what the service has records of.",
          }),
          until: alertFilters.shape.to.openapi({ type: "string", format: "date-time", description: "Default: now." }),
          source: gapSource,
        }),
      ),
    },
  },
  responses: {
    200: answer("What is missing, and what is not known.", gapsSchema),
    400: failure("The body cannot be read, or `since` is not before `until`."),
    404: failure("No account of a source of that name is looked at."),
    409: failure("This relay does not look for any."),
    ...refused,
  },
});

export const shapesRoute = createRoute({
  method: "get",
  path: "/api/shapes",
  summary: "What the payloads of alerts are made of",
  description:
    "By kinds of alerts that are made alike, the one that was seen last first: each path with its type, an example, how many had it and when, what is read from it and which routes look at it.",
  responses: { 200: answer("As far as this relay has seen.", shapesSchema), ...refused },
});

export const listRefusedRoute = createRoute({
  method: "get",
  path: "/api/refused",
  summary: "Requests whose sender did not pass the check of their source, newest first",
  description: "They are no alerts and went to nobody. Of each source 200 are kept, of a flood only some.",
  request: {
    query: z.strictObject({
      source: z.string().optional(),
      before: z.string().optional().openapi({ description: "Only those older than the one with this id." }),
      limit: limitSchema.openapi({ type: "integer", minimum: 1, maximum: 200, default: 50 }),
    }),
  },
  responses: {
    200: answer("One page.", z.array(refusedSchema)),
    400: failure("A parameter cannot be read."),
    ...refused,
  },
});

export const getRefusedRoute = createRoute({
  method: "get",
  path: "/api/refused/{id}",
  summary: "One of them as received",
  request: { params: idParameter },
  responses: {
    200: answer("With headers and body.", refusedDetailSchema),
    404: failure("No such request."),
    ...refused,
  },
});

export const releaseRefusedRoute = createRoute({
  method: "post",
  path: "/api/refused/{id}/release",
  summary: "Relay one of them anyway",
  description:
    "It is accepted now, as if its sender had passed the check. Asked again, it is the same alerts, and so it is when its sender has sent it again since and passed.",
  request: { params: idParameter },
  responses: {
    200: answer(
      "Ids of the alerts; `duplicate`: they were there before.",
      z.object({ ids: z.array(z.string()), duplicate: z.boolean() }),
    ),
    404: failure("No such request."),
    ...refused,
  },
});
