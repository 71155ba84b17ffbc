import type { z } from "zod";
import type { AlertFilters, FailedFilters } from "../../contract/alert-query.ts";
import type {
  alertDetailView,
  alertView,
  deliveryDetailView,
  deliveryView,
  destinationTestView,
  destinationView,
  gapsView,
  mutePreviewView,
  muteView,
  newMuteView,
  refusedDetailView,
  refusedView,
  releaseView,
  resendPreviewView,
  resendResultView,
  shapesView,
  statusView,
  tryResultView,
} from "../../contract/views.ts";
import type { Severity } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import type { GapWindow } from "../../core/gaps.ts";
import type { Secret } from "../../core/secret.ts";
import { createRelayTransport, olderRelay, type RelayCall, type RelayTransportOptions } from "./relay-transport.ts";

export interface NewMute {
  /** `field=value` texts; all must hold. */
  match: string[];
  /** A duration such as `2h`. Either this or `until`. */
  for?: string;
  /** ISO 8601. */
  until?: string;
  reason: string;
}

/**
 * The API of a running relay. Every method throws an `AppError`: `relay_unreachable` when nothing answers,
 * `unauthorized` for a missing or wrong token, `timeout`, what the relay itself refuses with, and `failed` for a
 * server that is no Tocsin.
 */
export interface RelayClient {
  readonly url: string;
  /** Whether it accepts and delivers alerts now. Needs no token. */
  isReady(): Promise<boolean>;
  /** How the relay is. Throws `failed` for a relay that is too old to say it. */
  readStatus(): Promise<StatusOnWire>;
  listAlerts(filters: AlertFilters, page: { limit?: number; cursor?: string }): Promise<AlertPageOnWire>;
  findAlert(id: string): Promise<AlertDetailOnWire | undefined>;
  /** Alerts whose id begins or ends so. Throws `failed` for a relay that is too old to look. */
  findByIdPart(part: string): Promise<AlertsNamedOnWire>;
  /** To every destination that it had, or to the one named. */
  resend(id: string, destination?: string): Promise<DeliveryOnWire[]>;
  /** Sends now what quiet hours hold: all of it, or at a destination, or of these alerts. */
  release(held: { destination?: string; alerts?: string[] }): Promise<ReleaseOnWire[]>;
  previewResend(filters: FailedFilters): Promise<ResendPreviewOnWire>;
  resendFailed(filters: FailedFilters): Promise<ResendResultOnWire>;
  listDestinations(): Promise<DestinationOnWire[]>;
  /** Asks it at once whether it works. */
  tryDestination(name: string): Promise<TryResultOnWire>;
  /**
   * Sends one marked message straight to it. `isNew` false: an earlier one is still on its way or only just sent, and
   * is the answer. Throws `failed` for a relay that is too old to do it.
   */
  testDestination(name: string, severity?: Severity): Promise<DestinationTestOnWire>;
  /** Nothing is sent there until it is resumed. Throws `failed` for a relay that is too old to do it. */
  pauseDestination(name: string): Promise<DestinationOnWire>;
  /** The same. */
  resumeDestination(name: string): Promise<DestinationOnWire>;
  /** What alerts are made of. Throws `failed` for a relay that is too old to say it. */
  readShapes(): Promise<ShapesOnWire>;
  /** Requests whose sender did not pass, newest first. */
  listRefused(query: { limit: number; source?: string; before?: string }): Promise<RefusedOnWire[]>;
  /** Throws `not_found`. */
  findRefused(id: string): Promise<RefusedDetailOnWire>;
  /** Relays one of them anyway. `duplicate`: that was done before, or it came again and passed. */
  releaseRefused(id: string): Promise<{ ids: string[]; duplicate: boolean }>;
  /**
   * Looks now for alerts that did not come. Throws `failed` for a relay that is too old to do it, `not_found` for a source
   * without an account.
   */
  checkGaps(window: GapWindow, source?: string): Promise<GapsOnWire>;
  listMutes(includeEnded: boolean): Promise<MuteOnWire[]>;
  addMute(mute: NewMute): Promise<NewMuteOnWire>;
  /** What a mute with these `field=value` texts would have held of the last 24 hours. */
  previewMute(match: string[]): Promise<MutePreviewOnWire>;
  endMute(id: string): Promise<void>;
  /** What `/api/stream` sends, from after `lastEventId` or from now on, until `ending` is aborted. */
  openStream(lastEventId: string | undefined, ending: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  /** Posts JSON to the relay's own hook. The id of the stored alert. */
  postToHook(hookSecret: Secret, body: unknown, headers: Record<string, string>): Promise<string>;
}

export function createRelayClient(options: RelayTransportOptions): RelayClient {
  const transport = createRelayTransport(options);

  /** The `data` of an answer. */
  async function readData<S extends z.ZodType>(call: RelayCall, pick: (schemas: Schemas) => S): Promise<z.input<S>> {
    const schemas = await loadSchemas();
    const schema = pick(schemas);
    const { data } = (await transport.read(call, schemas.z.object({ data: schema }))) as { data: z.output<S> };
    return schemas.encode(schema, data);
  }

  const changeDestination = (name: string, change: "pause" | "resume") =>
    readData(
      { path: `/api/destinations/${encodeURIComponent(name)}/${change}`, method: "POST" },
      ({ destinationView }) => destinationView,
    ).catch((error: unknown) => {
      throw isUnknownRoute(error) ? olderRelay(options.url, `POST /api/destinations/NAME/${change}`) : error;
    });

  return {
    url: options.url,

    async isReady() {
      const answer = await transport.ask({ path: "/readyz", needsToken: false });
      if (answer.status === 200) return true;
      if (answer.status === 503) return false;
      throw transport.refusal(answer);
    },

    readStatus: () =>
      readData({ path: "/api/status" }, ({ statusView }) => statusView).catch((error: unknown) => {
        throw isNotFound(error) ? olderRelay(options.url, "GET /api/status") : error;
      }),

    async listAlerts(filters, page) {
      const { alertView, z, encode } = await loadSchemas();
      const list = z.array(alertView);
      const schema = z.object({
        data: list,
        meta: z.object({ nextCursor: z.string().nullable() }),
      });
      const { data, meta } = await transport.read({ path: `/api/alerts${toQuery(filters, page)}` }, schema);
      return { alerts: encode(list, data), nextCursor: meta.nextCursor ?? undefined };
    },

    findAlert: (id) =>
      readData({ path: `/api/alerts/${encodeURIComponent(id)}` }, ({ alertDetailView }) => alertDetailView).catch(
        (error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        },
      ),

    async findByIdPart(part) {
      const { alertView, z, encode } = await loadSchemas();
      const list = z.array(alertView);
      const schema = z.object({ data: list, meta: z.object({ searchedTo: z.string().optional() }) });
      const call = { path: `/api/ids?${new URLSearchParams({ part })}` };
      const { data, meta } = await transport.read(call, schema).catch((error: unknown) => {
        throw isNotFound(error) ? olderRelay(options.url, "GET /api/ids; give it the whole id") : error;
      });
      return { alerts: encode(list, data), searchedTo: meta.searchedTo };
    },

    resend: (id, destination) =>
      readData(
        { path: `/api/alerts/${encodeURIComponent(id)}/resend`, method: "POST", body: { destination } },
        ({ z, deliveryView }) => z.array(deliveryView),
      ),

    release: (held) =>
      readData({ path: "/api/release", method: "POST", body: held }, ({ z, releaseView }) => z.array(releaseView)),

    previewResend: (filters) =>
      readData(
        { path: `/api/resend?${new URLSearchParams(toFields(filters))}`, timeoutMs: tryTimeoutMs },
        ({ resendPreviewView }) => resendPreviewView,
      ),

    resendFailed: (filters) =>
      readData(
        { path: "/api/resend", method: "POST", body: toFields(filters), timeoutMs: resendTimeoutMs },
        ({ resendResultView }) => resendResultView,
      ),

    listDestinations: () =>
      readData({ path: "/api/destinations" }, ({ z, destinationView }) => z.array(destinationView)),

    tryDestination: (name) =>
      readData(
        {
          path: `/api/destinations/${encodeURIComponent(name)}/try`,
          method: "POST",
          timeoutMs: tryTimeoutMs,
        },
        ({ tryResultView }) => tryResultView,
      ),

    testDestination: (name, severity) =>
      readData(
        { path: `/api/destinations/${encodeURIComponent(name)}/test`, method: "POST", body: { severity } },
        ({ destinationTestView }) => destinationTestView,
      ).catch((error: unknown) => {
        throw isUnknownRoute(error) ? olderRelay(options.url, "POST /api/destinations/NAME/test") : error;
      }),

    pauseDestination: (name) => changeDestination(name, "pause"),
    resumeDestination: (name) => changeDestination(name, "resume"),

    readShapes: () =>
      readData({ path: "/api/shapes" }, ({ shapesView }) => shapesView).catch((error: unknown) => {
        throw isNotFound(error) ? olderRelay(options.url, "GET /api/shapes") : error;
      }),

    listRefused: ({ limit, source, before }) => {
      const query = new URLSearchParams({ limit: String(limit), ...(source && { source }), ...(before && { before }) });
      return readData({ path: `/api/refused?${query}` }, ({ z, refusedView }) => z.array(refusedView)).catch(
        (error: unknown) => {
          throw isNotFound(error) ? olderRelay(options.url, "GET /api/refused") : error;
        },
      );
    },

    findRefused: (id) =>
      readData({ path: `/api/refused/${encodeURIComponent(id)}` }, ({ refusedDetailView }) => refusedDetailView),

    releaseRefused: (id) =>
      readData({ path: `/api/refused/${encodeURIComponent(id)}/release`, method: "POST" }, ({ z }) =>
        z.object({ ids: z.array(z.string()), duplicate: z.boolean() }),
      ),

    checkGaps: ({ since, until }, source) =>
      readData(
        {
          path: "/api/gaps",
          method: "POST",
          body: { since: toOptionalIso(since), until: toOptionalIso(until), source },
          timeoutMs: checkTimeoutMs,
        },
        ({ gapsView }) => gapsView,
      ).catch((error: unknown) => {
        throw isUnknownRoute(error) ? olderRelay(options.url, "POST /api/gaps") : error;
      }),

    listMutes: (includeEnded) =>
      readData({ path: `/api/mutes${includeEnded ? "?ended=true" : ""}` }, ({ z, muteView }) => z.array(muteView)),

    addMute: (mute) => readData({ path: "/api/mutes", method: "POST", body: mute }, ({ newMuteView }) => newMuteView),

    previewMute: (match) =>
      readData(
        { path: "/api/mutes/preview", method: "POST", body: { match } },
        ({ mutePreviewView }) => mutePreviewView,
      ),

    async endMute(id) {
      const answer = await transport.ask({ path: `/api/mutes/${encodeURIComponent(id)}`, method: "DELETE" });
      if (answer.status !== 204) throw transport.refusal(answer);
    },

    openStream(lastEventId, ending) {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (lastEventId !== undefined) headers["last-event-id"] = lastEventId;
      return transport.open({ path: "/api/stream", headers }, ending);
    },

    postToHook: (hookSecret, body, headers) =>
      readData({ path: `/hooks/${hookSecret.reveal()}`, method: "POST", body, headers, needsToken: false }, ({ z }) =>
        z.object({ id: z.string() }),
      ).then(
        ({ id }) => id,
        (error: unknown) => {
          throw isNotFound(error) ? otherSecret(options.url) : error;
        },
      ),
  };
}

/** Each destination that refuses may take 20 s to say so again. */
const tryTimeoutMs = 60_000;
/** 100,000 take half a minute. */
const resendTimeoutMs = 10 * 60_000;
/** One call of the service for each metric, with rests between. */
const checkTimeoutMs = 5 * 60_000;

function isNotFound(error: unknown): boolean {
  return error instanceof AppError && error.code === "not_found";
}

/** The relay is older than what it is asked for; another 404 is about what is in it. */
function isUnknownRoute(error: unknown): boolean {
  return isNotFound(error) && (error as AppError).message.includes("no such page");
}

/** The schemas of the API itself, loaded with the first call and not with the command line. */
async function loadSchemas() {
  const [schemas, { z }, { encode }] = await Promise.all([
    import("../../contract/views.ts"),
    import("zod"),
    import("../../contract/encode.ts"),
  ]);
  return { ...schemas, z, encode };
}

type Schemas = Awaited<ReturnType<typeof loadSchemas>>;

function toQuery(filters: AlertFilters, page: { limit?: number; cursor?: string }): string {
  const query = new URLSearchParams(toFields(filters));
  if (page.limit !== undefined) query.set("limit", String(page.limit));
  if (page.cursor !== undefined) query.set("cursor", page.cursor);
  return query.size === 0 ? "" : `?${query}`;
}

/** The filters as the relay reads them. Named one by one: it refuses a parameter that it does not know. */
function toFields(filters: AlertFilters & { failedUntil?: number }): Record<string, string> {
  const { q, severity, state, destination, source, from, to, failedUntil } = filters;
  const all = {
    q,
    severity,
    state,
    source,
    destination,
    from: toOptionalIso(from),
    to: toOptionalIso(to),
    failedUntil: toOptionalIso(failedUntil),
  };
  return Object.fromEntries(Object.entries(all).filter((field): field is [string, string] => field[1] !== undefined));
}

function toOptionalIso(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString();
}

function otherSecret(url: string): AppError {
  return new AppError("not_found", `the relay at ${url} does not know the hook secret found here`, {
    hint: "run this with the WEBHOOK_SECRET, DATA_DIR or DATABASE_URL that the relay runs with",
  });
}

/** What the relay's API says, as its own document has it. Times are ISO 8601 texts. */
export type AlertOnWire = z.input<typeof alertView>;
export type AlertDetailOnWire = z.input<typeof alertDetailView>;
type DeliveryOnWire = z.input<typeof deliveryView>;
export type DeliveryDetailOnWire = z.input<typeof deliveryDetailView>;
export type ShapesOnWire = z.input<typeof shapesView>;
export type GapsOnWire = z.input<typeof gapsView>;
export type StatusOnWire = z.input<typeof statusView>;
export type DestinationOnWire = z.input<typeof destinationView>;
export type ReleaseOnWire = z.input<typeof releaseView>;
export type RefusedOnWire = z.input<typeof refusedView>;
export type RefusedDetailOnWire = z.input<typeof refusedDetailView>;
export type MuteOnWire = z.input<typeof muteView>;
export type ResendPreviewOnWire = z.input<typeof resendPreviewView>;
export type ResendResultOnWire = z.input<typeof resendResultView>;
export type TryResultOnWire = z.input<typeof tryResultView>;
type DestinationTestOnWire = z.input<typeof destinationTestView>;
type NewMuteOnWire = z.input<typeof newMuteView>;
type MutePreviewOnWire = z.input<typeof mutePreviewView>;

/** One page of the log. */
export interface AlertPageOnWire {
  alerts: AlertOnWire[];
  /** What the next call goes on from; absent at the end of the log. */
  nextCursor?: string;
}

export interface AlertsNamedOnWire {
  alerts: AlertOnWire[];
  /** Endings were compared back to here; absent: of all that are kept. */
  searchedTo?: string;
}
