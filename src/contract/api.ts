import { z } from "zod";
import { idPartPattern } from "../core/id.ts";
import { alertFilters, exportFormats, failedFilters, limitSchema, trueOrFalse } from "./alert-query.ts";
import { encode, instant, writtenInstant } from "./encode.ts";
import * as alerts from "./views/alerts.ts";
import * as destinations from "./views/destinations.ts";
import * as mutes from "./views/mutes.ts";
import * as refused from "./views/refused.ts";
import * as relays from "./views/status.ts";
import * as status from "./views/status.ts";
import * as watches from "./views/watches.ts";

/** Failures besides those that `failuresOf` finds in the route itself. */
type Failure = 400 | 404 | 409 | 502 | 503;

/** One route of the API. Handlers, client, document and access rights come from it. */
export interface Route {
  path: `${"GET" | "POST" | "DELETE"} /api/${string}`;
  /** One line. `more`: further explanations. */
  says: string;
  more?: string;
  query?: z.ZodObject;
  /** JSON. May be left out if nothing in it is required. */
  body?: z.ZodObject;
  answers: string;
  /** The content of the answer. Absent: no content, or one of these media types. */
  data?: z.ZodType;
  meta?: z.ZodObject;
  media?: readonly string[];
  /** Default: 200, or 204 without content. */
  status?: 201;
  fails?: Partial<Record<Failure, string>>;
  /** How long a client waits, milliseconds. Default: the client's own limit. */
  timeoutMs?: number;
  /** Advice for a relay that is too old for this route. */
  instead?: string;
}

const route = <const P extends Route["path"], const R extends Omit<Route, "path">>(path: P, rest: R) => ({
  path,
  ...rest,
});

/** Each destination that refuses may take 20 s to refuse again. */
const tryTimeoutMs = 60_000;
/** Resending 100,000 alerts takes half a minute. */
const resendTimeoutMs = 10 * 60_000;
/** One call of the service for each metric, with rests between. */
const checkTimeoutMs = 5 * 60_000;

const { state, ...filters } = alertFilters.shape;
const filterQuery = {
  ...filters,
  q: filters.q.describe(
    `Words that all must occur in title, text, facts or fields; each may be the start of a word, and what is in quotes must occur
    literally. \`token:USDC\`, \`chain:eth\`, \`metric:tvl\`, \`title:depeg\`, \`value>1000000\`, \`status:firing\` ask for facts; \`raw:\`
    asks for a text in the body as it came; \`severity:\`, \`state:\`, \`destination:\`, \`route:\`, \`source:\` and \`key:\` are filters.`,
  ),
  route: filters.route.describe("At least one delivery is by the route of this name."),
  key: filters.key.describe("Has this alert key, as `facts.alertKey` says it."),
  source: filters.source.describe("Received at the hook of this source."),
  from: filters.from.describe("Received at or after."),
  to: filters.to.describe("Received at or before."),
};
const logQuery = {
  ...filterQuery,
  state: state.describe(
    `A state that at least one delivery has (a resent one counts as its resend), or \`problem\` (a delivery failed, expired or may not have
    arrived, no route wanted the alert, or routing failed), \`unmatched\` (no route wanted it), \`damped\` (it did not ring somewhere),
    \`dropped\` (by a route, on purpose), \`repeat\` (of an earlier alert, not sent), or \`unrouted\` (not decided yet).`,
  ),
};
const failedQuery = z.strictObject({
  ...filterQuery,
  state: failedFilters.shape.state.describe("Default: both."),
  failedUntil: failedFilters.shape.failedUntil.describe("Failed at or before. Default: now."),
  mute: failedFilters.shape.mute.describe("What this mute, which has ended, has held back, in place of what failed."),
  over: failedFilters.shape.over.describe("`true`: of a mute also what is over already."),
});
const gapSource = z.string().optional().describe("Whose account is meant. Default: the account of the environment.");
const match = z
  .union(
    [z.string(), z.array(z.string()).min(1, "must name at least one condition"), z.record(z.string(), z.unknown())],
    {
      error: 'must be a text such as "severity=info value<5", a list of such, or a map of field to value or conditions',
    },
  )
  .meta({
    description: "As in the configuration: a text (`severity=info value<5`), a list of them, or a map. All must hold.",
    example: { severity: "info", value: { lt: 5 } },
  });
const muted = {
  match: match.optional(),
  all: z.literal(true, { error: "must be true" }).optional().describe("Every alert. Either this or `match`."),
};

export const api = {
  listAlerts: route("GET /api/alerts", {
    says: "The log, newest first",
    query: z.strictObject({
      ...logQuery,
      limit: limitSchema.meta({ default: 50 }),
      cursor: z.string().optional().describe("`meta.nextCursor` of the answer before."),
    }),
    answers: `One page; \`nextCursor\` is null at the end of the log. \`searchedTo\`: the page is not full though the log has more, as
    filters that few alerts pass are looked for no longer than a moment. \`nextCursor\` leads to alerts before that time.`,
    data: z.array(alerts.alertView),
    meta: z.object({ nextCursor: z.string().nullable(), searchedTo: instant.optional() }),
  }),
  exportAlerts: route("GET /api/export", {
    says: "Every alert that the filters let through, newest first, as a file",
    more: "Sent as it is read. A file that is not whole ends with a line that says so (NDJSON: `error`), and its connection breaks.",
    query: z.strictObject({
      ...logQuery,
      format: z
        .enum(exportFormats, { error: "must be csv or ndjson" })
        .default("ndjson")
        .describe("`ndjson`: an alert a line, as in the list. `csv`: RFC 4180; no text of a sender is a formula."),
      view: z
        .enum(["events", "keys"], { error: "must be events or keys" })
        .default("events")
        .describe("`keys`: of each alert key the newest alert alone."),
    }),
    answers: "The file.",
    media: ["application/x-ndjson", "text/csv"],
  }),
  findAlert: route("GET /api/alerts/:id", {
    says: "One alert: its request as received, what was decided, every delivery and attempt",
    answers: "All that is known of it.",
    data: alerts.alertDetailView,
  }),
  readEvidence: route("GET /api/alerts/:id/evidence", {
    says: "All that is known of one alert, as one document",
    more: "`GET /api/alerts/{id}`, its messages made again, the alerts of the same key, the hash of the configuration. No credentials.",
    answers: "The evidence.",
    data: alerts.evidenceView,
  }),
  routeAgain: route("GET /api/alerts/:id/routes", {
    says: "What today's routes and mutes would do with an alert, next to what was decided then",
    more: "Judges the facts as they were read when it arrived. Stores and sends nothing.",
    answers: "What differs by destination, and each route's answer.",
    data: alerts.routedAgainView,
    fails: { 409: "No route was asked for it: it is not routed yet, a repeat, or one that Tocsin wrote itself." },
  }),
  findByIdPart: route("GET /api/ids", {
    says: "Alerts whose id begins or ends with a part of one",
    query: z.strictObject({
      part: z
        .string()
        .toLowerCase()
        .regex(idPartPattern, "must be 4 to 36 characters of an id")
        .meta({ description: "The first characters of an id, or the last.", example: "ac120002" }),
    }),
    answers:
      "At most 10, newest first. Beginnings are found at any age, endings among the newest 100,000 alerts, back to `searchedTo`.",
    data: z.array(alerts.alertView),
    meta: z.object({ searchedTo: instant.optional() }),
    fails: { 400: "The part cannot be one." },
    instead: "give it the whole id",
  }),
  resend: route("POST /api/alerts/:id/resend", {
    says: "Send an alert once more, marked as a resend",
    body: z.strictObject({ destination: z.string().optional().describe("Default: every destination that it had.") }),
    answers: "The new deliveries.",
    data: z.array(alerts.deliveryView),
    fails: { 404: "No such alert or destination.", 409: "Not routed yet, or nowhere to send it." },
  }),
  release: route("POST /api/release", {
    says: "Send now what quiet hours hold",
    more: `Without a body: all of it, everywhere, as the summary that the end of the quiet hours would bring. An alert that is held because
    nobody knows whether it arrived is sent only where it is named, marked as a possible repeat. Asked again, it sends nothing more.`,
    body: z.strictObject({
      destination: z.string().optional().describe("Default: every destination."),
      alerts: z
        .array(z.string())
        .min(1, "must name at least one alert")
        .max(200, "must name at most 200 alerts")
        .optional()
        .describe("Ids. Default: every alert."),
    }),
    answers: "What is sent now; destinations that held nothing are left out.",
    data: z.array(destinations.releaseView),
    fails: { 404: "No such alert or destination." },
  }),
  previewResend: route("GET /api/resend", {
    says: "How much failed and was not resent, by destination",
    more: "The filters are those of the log. Changes nothing; see `POST /api/resend`.",
    query: failedQuery,
    answers: "What a resend with these filters would take up.",
    data: destinations.resendPreviewView,
    timeoutMs: tryTimeoutMs,
  }),
  resendFailed: route("POST /api/resend", {
    says: "Resend everything that failed",
    more: `Goes where it failed, one message in four while other alerts are due, as digests when it is much; \`resending\` of the
    destination counts what has arrived. With the \`failedUntil\` of the preview, nothing is resent that the preview has not counted. Asked
    twice, it makes nothing twice. A dead or paused destination is tried first; while it still refuses, what failed there stays failed.`,
    body: failedQuery,
    answers: "What is on its way, and what stays failed.",
    data: destinations.resendResultView,
    timeoutMs: resendTimeoutMs,
  }),
  readStatus: route("GET /api/status", {
    says: "Health of the relay, its queue, its destinations and its disk",
    more: "For monitors, as cheap as `/readyz`. Answers 200 also while not ready: see `relay.ready`, `relay.reasons`. Fields may be added.",
    answers: "As it is now.",
    data: status.statusView,
    fails: { 503: "The store does not answer." },
  }),
  putBack: route("POST /api/account/put-back", {
    says: "Make the account send to this relay again",
    more: "Sets webhook and messenger channel at the alerting service as setup left them, and reads back. Changes nothing if they are.",
    body: z.strictObject({
      source: z.string().optional().describe("Whose own account. Default: that of the environment."),
    }),
    answers: "What was done.",
    data: z.object({ result: z.enum(["put-back", "unchanged"]) }),
    fails: {
      404: "This relay was not registered from here yet.",
      409: "The key belongs to another account, setup has turned the webhook off, or nobody watches the account.",
      502: "The service refused it, or could not be reached.",
    },
  }),
  listRelays: route("GET /api/relays", {
    says: "The relays that run on this log, and what each of them does",
    more: "The same on every relay, as each has told it some seconds ago. With SQLite it is one.",
    answers: "The one that answers first.",
    data: z.array(relays.runningRelayView),
  }),
  listDestinations: route("GET /api/destinations", {
    says: "Every destination with its health and the states of its deliveries",
    answers: "In the order of the configuration.",
    data: z.array(destinations.destinationView),
  }),
  tryDestination: route("POST /api/destinations/:name/try", {
    says: "Ask a destination now whether it works",
    more: "Nothing is sent to people. If it works, what waits is sent. It is not called while it has asked for silence.",
    answers: "What it said.",
    data: destinations.tryResultView,
    timeoutMs: tryTimeoutMs,
  }),
  testDestination: route("POST /api/destinations/:name/test", {
    says: "Send one marked test message straight to a destination",
    more: `Whatever routes, mutes and quiet hours say, and also where it is dead or paused. \`GET /api/alerts/{id}\` with the id in
    \`alert\` says what becomes of it. While one is on its way, and within 10 s of one, that one is the answer.`,
    body: z.strictObject({
      severity: filters.severity.describe("What it says of itself. Default: info."),
    }),
    answers: "The test, with a delivery for each recipient.",
    data: destinations.destinationTestView,
  }),
  pauseDestination: route("POST /api/destinations/:name/pause", {
    says: "Let nothing be sent to a destination until it is resumed",
    more: `New alerts for it wait and do not expire; fallbacks are used as ever; a test and the resend of one alert are sent. It outlives a
    restart. Nothing changes at one that is paused already.`,
    answers: "The destination, with `paused`.",
    data: destinations.destinationView,
  }),
  resumeDestination: route("POST /api/destinations/:name/resume", {
    says: "Send to a destination again",
    more: "What waited is sent now, as digests when it is much. Nothing changes at one that is not paused.",
    answers: "The destination.",
    data: destinations.destinationView,
  }),
  readShapes: route("GET /api/shapes", {
    says: "What the payloads of alerts are made of",
    more: "One entry a kind of alert, the last seen first: its paths with type, example, how many had it and when, and what reads it.",
    answers: "As far as this relay has seen.",
    data: watches.shapesView,
  }),
  listRefused: route("GET /api/refused", {
    says: "Requests whose sender did not pass the check of their source, newest first",
    more: "They are no alerts and went to nobody. Each source keeps 200, and only some of a flood.",
    query: z.strictObject({
      source: z.string().optional(),
      before: z.string().optional().describe("Only those older than the one with this id."),
      limit: limitSchema.meta({ default: 50 }),
    }),
    answers: "One page.",
    data: z.array(refused.refusedView),
  }),
  findRefused: route("GET /api/refused/:id", {
    says: "One of them as received",
    answers: "With headers and body.",
    data: refused.refusedDetailView,
  }),
  releaseRefused: route("POST /api/refused/:id/release", {
    says: "Relay one of them anyway",
    more: "Accepted now, as if its sender had passed. Asked again, or sent again by a sender that passed, it is the same alerts.",
    answers: "Ids of the alerts; `duplicate`: they were there before.",
    data: refused.releasedRefusedView,
  }),
  lastGaps: route("GET /api/gaps", {
    says: "Alerts that should have arrived and did not, as the last look found",
    more: "Compares the records of the service with the log. Asks nobody now; null before the first look, or where nobody looks.",
    query: z.strictObject({ source: gapSource }),
    answers: "What the last seven days show.",
    data: watches.gapsView.nullable(),
  }),
  checkGaps: route("POST /api/gaps", {
    says: "Look now for alerts that should have arrived and did not",
    more: "Asks the alerting service, one metric after the other, so it may take a minute. Sends no notice.",
    body: z.strictObject({
      since: writtenInstant.optional().describe("Default, and at most: seven days ago, as far as records go."),
      until: writtenInstant.optional().describe("Default: now."),
      source: gapSource,
    }),
    answers: "What is missing, and what is not known.",
    data: watches.gapsView,
    fails: {
      400: "The body cannot be read, or `since` is not before `until`.",
      404: "No account of a source of that name is looked at.",
      409: "This relay does not look for any.",
    },
    timeoutMs: checkTimeoutMs,
  }),
  listMutes: route("GET /api/mutes", {
    says: "Active and coming mutes",
    query: z.strictObject({
      ended: trueOrFalse.describe("`true` lists past ones as well."),
    }),
    answers: "Those of the configuration among them.",
    data: z.array(mutes.muteView),
  }),
  addMute: route("POST /api/mutes", {
    says: "Record matching alerts without sending them, until a time",
    body: z.strictObject({
      ...muted,
      for: z.string().optional().meta({ description: "A duration. This, `until` or `untilOver`.", example: "2h" }),
      until: writtenInstant.optional(),
      untilOver: z
        .literal(true, { error: "must be true" })
        .optional()
        .describe("Until the alert key that `match` names is over, for 24 hours at most. Its end is sent."),
      from: writtenInstant.optional().describe("Default: now."),
      reason: z
        .string({ error: "must say in a few words why" })
        .trim()
        .min(1, "must say in a few words why")
        .max(500, "must be at most 500 characters"),
    }),
    answers: "It holds from now on.",
    data: mutes.newMuteView,
    status: 201,
    fails: { 400: "A matcher, a time or the reason is missing or cannot be read.", 409: "It is over already." },
  }),
  previewMute: route("POST /api/mutes/preview", {
    says: "What a mute would have held of the last 24 hours; makes none",
    body: z.strictObject(muted),
    answers: "Judged by the matcher that routing uses.",
    data: mutes.mutePreviewView,
    fails: { 400: "A matcher is missing or cannot be read." },
  }),
  endMute: route("DELETE /api/mutes/:id", {
    says: "End a mute now",
    answers: "It is ended.",
    fails: { 404: "No such active mute.", 409: "It is in the configuration, and is ended there." },
  }),
  openStream: route("GET /api/stream", {
    says: "Changes of alerts as server-sent events",
    more: `\`event: alert\` has the alert as in the list, its version as \`id\`, and only the last of several changes. Resumes by
    Last-Event-ID. \`event: ready\` comes first, with the place where the stream begins; what is before is read through /api/alerts.
    \`event: reset\`: the database is older than the id given (restored from a copy); read the log anew. \`event: stopping\` is the last
    before the relay stops; open the stream again after \`retry\` milliseconds.`,
    query: z.strictObject({
      after: z.string().optional().describe("Like Last-Event-ID, for clients that cannot set headers."),
    }),
    answers: "Until one of the two ends it.",
    media: ["text/event-stream"],
    fails: { 503: "Too many streams are open, or the relay is being stopped." },
  }),
};

export type Api = typeof api;
export type RouteName = keyof Api;
export const routes: readonly (readonly [RouteName, Route])[] = Object.entries(api) as [RouteName, Route][];

/** `:name` of a path becomes `{ name: string }`. */
type Params<P extends string> = P extends `${string}:${infer A}/${infer R}`
  ? { [K in A]: string } & Params<`/${R}`>
  : P extends `${string}:${infer A}`
    ? { [K in A]: string }
    : unknown;
type Given<R> = (R extends { query: infer Q extends z.ZodType } ? z.output<Q> : unknown) &
  (R extends { body: infer B extends z.ZodType } ? z.output<B> : unknown);

/** A route's input: path, query and body in one object. */
export type Asked<N extends RouteName> = Params<Api[N]["path"]> & Given<Api[N]>;

/** A route's output: its data, or with a `meta` both. */
export type Said<N extends RouteName> = Api[N] extends {
  data: infer D extends z.ZodType;
  meta: infer M extends z.ZodType;
}
  ? { data: z.output<D>; meta: z.output<M> }
  : Api[N] extends { data: infer D extends z.ZodType }
    ? z.output<D>
    : undefined;

export type Written<N extends RouteName> = Api[N] extends { data: infer D extends z.ZodType } ? z.input<D> : undefined;

/** The routes that answer with JSON, or with nothing. */
export type JsonRoute = Exclude<RouteName, "exportAlerts" | "openStream">;

/** One function for each route, for server and client. */
export type Answers<N extends JsonRoute = JsonRoute> = {
  [K in N]: (...asked: unknown extends Asked<K> ? [] : [Asked<K>]) => Promise<Said<K>>;
};

export function toAnswer(name: JsonRoute, said: unknown): { data: unknown; meta?: Record<string, unknown> } {
  const { data, meta }: Route = api[name];
  if (data === undefined) return { data: undefined };
  if (meta === undefined) return { data: encode(data, said) };
  const both = said as { data: unknown; meta: Record<string, unknown> };
  return { data: encode(data, both.data), meta: encode(meta, both.meta) };
}
