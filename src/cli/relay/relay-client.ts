import type { z } from "@hono/zod-openapi";
import { AppError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { AlertFilters, FailedFilters } from "../../web/alert-query.ts";
import type {
  alertDetailSchema,
  alertSchema,
  deliveryDetailSchema,
  deliverySchema,
  destinationSchema,
  mutePreviewSchema,
  muteSchema,
  newMuteSchema,
  releaseSchema,
  resendPreviewSchema,
  resendResultSchema,
  statusSchema,
  tryResultSchema,
} from "../../web/api/schemas.ts";
import {
  createRelayTransport,
  olderRelay,
  type RelayTransport,
  type RelayTransportOptions,
} from "./relay-transport.ts";

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
  /** What is true now. Throws `failed` for a relay that is too old to say it. */
  readStatus(): Promise<StatusOnWire>;
  listAlerts(filters: AlertFilters, page: { limit?: number; cursor?: string }): Promise<AlertPageOnWire>;
  findAlert(id: string): Promise<AlertDetailOnWire | undefined>;
  /** To every destination that it had, or to the one named. */
  resend(id: string, destination?: string): Promise<DeliveryOnWire[]>;
  /** Sends now what quiet hours hold: all of it, or at a destination, or of these alerts. */
  release(held: { destination?: string; alerts?: string[] }): Promise<ReleaseOnWire[]>;
  previewResend(filters: FailedFilters): Promise<ResendPreviewOnWire>;
  resendFailed(filters: FailedFilters): Promise<ResendResultOnWire>;
  listDestinations(): Promise<DestinationOnWire[]>;
  /** Asks it at once whether it works. */
  tryDestination(name: string): Promise<TryResultOnWire>;
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
  return {
    url: options.url,
    ...createAlertCalls(transport),
    ...createMuteCalls(transport),

    async isReady() {
      const answer = await transport.ask({ path: "/readyz", needsToken: false });
      if (answer.status === 200) return true;
      if (answer.status === 503) return false;
      throw transport.refusal(answer);
    },

    async readStatus() {
      const { statusSchema, z } = await loadSchemas();
      try {
        return (await transport.read({ path: "/api/status" }, z.object({ data: statusSchema }))).data;
      } catch (error) {
        if (error instanceof AppError && error.code === "not_found") throw olderRelay(options.url);
        throw error;
      }
    },

    async listDestinations() {
      const { destinationSchema, z } = await loadSchemas();
      const schema = z.object({ data: z.array(destinationSchema) });
      return (await transport.read({ path: "/api/destinations" }, schema)).data;
    },

    async tryDestination(name) {
      const { tryResultSchema, z } = await loadSchemas();
      const path = `/api/destinations/${encodeURIComponent(name)}/try`;
      const call = { path, method: "POST", timeoutMs: tryTimeoutMs } as const;
      return (await transport.read(call, z.object({ data: tryResultSchema }))).data;
    },

    openStream(lastEventId, ending) {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (lastEventId !== undefined) headers["last-event-id"] = lastEventId;
      return transport.open({ path: "/api/stream", headers }, ending);
    },

    async postToHook(hookSecret, body, headers) {
      const { z } = await loadSchemas();
      const call = { path: `/hooks/${hookSecret.reveal()}`, method: "POST", body, headers } as const;
      try {
        const schema = z.object({ data: z.object({ id: z.string() }) });
        return (await transport.read({ ...call, needsToken: false }, schema)).data.id;
      } catch (error) {
        if (error instanceof AppError && error.code === "not_found") throw otherSecret(options.url);
        throw error;
      }
    },
  };
}

/** Each destination that refuses may take 20 s to say so again. */
const tryTimeoutMs = 60_000;
/** 100,000 take half a minute. */
const resendTimeoutMs = 10 * 60_000;

type AlertCalls = Pick<
  RelayClient,
  "listAlerts" | "findAlert" | "resend" | "release" | "previewResend" | "resendFailed"
>;

function createAlertCalls(transport: RelayTransport): AlertCalls {
  return {
    async listAlerts(filters, page) {
      const { alertSchema, z } = await loadSchemas();
      const schema = z.object({
        data: z.array(alertSchema),
        meta: z.object({ nextCursor: z.string().nullable() }),
      });
      const { data, meta } = await transport.read({ path: `/api/alerts${toQuery(filters, page)}` }, schema);
      return { alerts: data, nextCursor: meta.nextCursor ?? undefined };
    },

    async findAlert(id) {
      const { alertDetailSchema, z } = await loadSchemas();
      try {
        const path = `/api/alerts/${encodeURIComponent(id)}`;
        return (await transport.read({ path }, z.object({ data: alertDetailSchema }))).data;
      } catch (error) {
        if (error instanceof AppError && error.code === "not_found") return undefined;
        throw error;
      }
    },

    async resend(id, destination) {
      const { deliverySchema, z } = await loadSchemas();
      const path = `/api/alerts/${encodeURIComponent(id)}/resend`;
      const schema = z.object({ data: z.array(deliverySchema) });
      return (await transport.read({ path, method: "POST", body: { destination } }, schema)).data;
    },

    async release(held) {
      const { releaseSchema, z } = await loadSchemas();
      const call = { path: "/api/release", method: "POST", body: held } as const;
      return (await transport.read(call, z.object({ data: z.array(releaseSchema) }))).data;
    },

    async previewResend(filters) {
      const { resendPreviewSchema, z } = await loadSchemas();
      const path = `/api/resend?${new URLSearchParams(toFields(filters))}`;
      return (
        await transport.read({ path, timeoutMs: tryTimeoutMs }, z.object({ data: resendPreviewSchema }))
      ).data;
    },

    async resendFailed(filters) {
      const { resendResultSchema, z } = await loadSchemas();
      const body = toFields(filters);
      const call = { path: "/api/resend", method: "POST", body, timeoutMs: resendTimeoutMs } as const;
      return (await transport.read(call, z.object({ data: resendResultSchema }))).data;
    },
  };
}

function createMuteCalls(
  transport: RelayTransport,
): Pick<RelayClient, "listMutes" | "addMute" | "previewMute" | "endMute"> {
  return {
    async listMutes(includeEnded) {
      const { muteSchema, z } = await loadSchemas();
      const path = `/api/mutes${includeEnded ? "?ended=true" : ""}`;
      return (await transport.read({ path }, z.object({ data: z.array(muteSchema) }))).data;
    },

    async addMute(mute) {
      const { newMuteSchema, z } = await loadSchemas();
      const call = { path: "/api/mutes", method: "POST", body: mute } as const;
      return (await transport.read(call, z.object({ data: newMuteSchema }))).data;
    },

    async previewMute(match) {
      const { mutePreviewSchema, z } = await loadSchemas();
      const call = { path: "/api/mutes/preview", method: "POST", body: { match } } as const;
      return (await transport.read(call, z.object({ data: mutePreviewSchema }))).data;
    },

    async endMute(id) {
      const answer = await transport.ask({ path: `/api/mutes/${encodeURIComponent(id)}`, method: "DELETE" });
      if (answer.status !== 204) throw transport.refusal(answer);
    },
  };
}

/** The schemas of the API itself, loaded with the first call and not with the command line. */
async function loadSchemas() {
  const [schemas, { z }] = await Promise.all([
    import("../../web/api/schemas.ts"),
    import("@hono/zod-openapi"),
  ]);
  return { ...schemas, z };
}

function toQuery(filters: AlertFilters, page: { limit?: number; cursor?: string }): string {
  const query = new URLSearchParams(toFields(filters));
  if (page.limit !== undefined) query.set("limit", String(page.limit));
  if (page.cursor !== undefined) query.set("cursor", page.cursor);
  return query.size === 0 ? "" : `?${query}`;
}

/** The filters as the relay reads them. Named one by one: it refuses a parameter that it does not know. */
function toFields(filters: AlertFilters & { failedUntil?: number }): Record<string, string> {
  const toIso = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString());
  const { q, severity, state, destination, from, to, failedUntil } = filters;
  const all = {
    q,
    severity,
    state,
    destination,
    from: toIso(from),
    to: toIso(to),
    failedUntil: toIso(failedUntil),
  };
  return Object.fromEntries(
    Object.entries(all).filter((field): field is [string, string] => field[1] !== undefined),
  );
}

function otherSecret(url: string): AppError {
  return new AppError("not_found", `the relay at ${url} does not know the hook secret found here`, {
    hint: "run this with the WEBHOOK_SECRET or the DATA_DIR that the relay runs with",
  });
}

/** What the relay's API says, as its own document has it. Times are ISO 8601 texts. */
export type AlertOnWire = z.infer<typeof alertSchema>;
export type AlertDetailOnWire = z.infer<typeof alertDetailSchema>;
type DeliveryOnWire = z.infer<typeof deliverySchema>;
export type DeliveryDetailOnWire = z.infer<typeof deliveryDetailSchema>;
export type StatusOnWire = z.infer<typeof statusSchema>;
export type DestinationOnWire = z.infer<typeof destinationSchema>;
export type ReleaseOnWire = z.infer<typeof releaseSchema>;
export type MuteOnWire = z.infer<typeof muteSchema>;
export type ResendPreviewOnWire = z.infer<typeof resendPreviewSchema>;
export type ResendResultOnWire = z.infer<typeof resendResultSchema>;
export type TryResultOnWire = z.infer<typeof tryResultSchema>;
type NewMuteOnWire = z.infer<typeof newMuteSchema>;
type MutePreviewOnWire = z.infer<typeof mutePreviewSchema>;

/** One page of the log. */
export interface AlertPageOnWire {
  alerts: AlertOnWire[];
  /** What the next call goes on from; absent at the end of the log. */
  nextCursor?: string;
}
