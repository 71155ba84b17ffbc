import type { AlertOrigin } from "../alert.ts";
import type { Json } from "../json.ts";
import type { RecordedAlert, RoutingDraft } from "./routing-desk.ts";

export interface IncomingRequest {
  receivedAt: number;
  contentType?: string;
  /** `[name, value]` pairs in their order as JSON, credentials masked. */
  headers: string;
  body: Uint8Array;
  /** UUIDv7, one for each alert of the body, in its order. */
  ids: string[];
  origin: AlertOrigin;
  /** The source whose hook it came by. Absent: the account's. */
  source?: string;
  /** The sender's explicit idempotency key, if any. */
  dedupeKey?: string;
  /** How long a key is remembered, milliseconds. */
  dedupeWindowMs: number;
  /**
   * An earlier try to store it has ended without an answer: if its ids are in the log it is not stored again. Stores that relays
   * share look at this; in any other store each try has an answer.
   */
  mayBeStored?: boolean;
}

/** The alerts with these ids are on disk: those of this request, or of the first one with the same key and bytes. */
export type Acceptance =
  | {
      kind: "accepted";
      ids: string[];
      /** An earlier request had the same key and another body. */
      conflict: boolean;
      /** They were routed in the same step, by the drafts that were given. Absent: they wait for it. */
      recorded?: RecordedAlert[];
    }
  | { kind: "duplicate"; ids: string[] };

/** It was not routed in the same step. */
export function isToBeRouted(acceptance: Acceptance): boolean {
  return acceptance.kind === "accepted" && acceptance.recorded === undefined;
}

export interface Inbox {
  /**
   * Compares keys alone; whether a body without one was seen before is decided at routing. When earlier keys cannot be
   * looked up, because the database is damaged there, the request is stored as a new one without its key.
   *
   * @param drafts how its alerts are routed, in their order: recorded in the same step, unless that cannot be done. Then
   * the request is stored without. Default: they wait for routing.
   */
  acceptRequest(request: IncomingRequest, drafts?: readonly RoutingDraft[]): Promise<Acceptance>;
}

/** An inbox for alerts that were read when they came. */
export interface ArrivalInbox extends Inbox {
  /**
   * @param payloads what the alerts are made of, in their order: a message that carries it is written without reading the body again.
   * Default: the body is read again
   */
  acceptRequest(
    request: IncomingRequest,
    drafts?: readonly RoutingDraft[],
    payloads?: readonly (Json | undefined)[],
  ): Promise<Acceptance>;
}
