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
  /** The source whose hook the request came by. Absent: the account's hook. */
  source?: string;
  /** The sender's explicit idempotency key, if any. */
  dedupeKey?: string;
  /** How long a key is remembered, milliseconds. */
  dedupeWindowMs: number;
  /**
   * An earlier try to store the request had no answer. If its ids are in the log, it is not stored again. Stores that relays
   * share look at this. In other stores each try has an answer.
   */
  mayBeStored?: boolean;
}

/** The alerts with these ids are on disk: of this request, or of the first one with the same key and bytes. */
export type Acceptance =
  | {
      kind: "accepted";
      ids: string[];
      /** An earlier request had the same key and another body. */
      conflict: boolean;
      /** The alerts were routed in the same step, by the given drafts. Absent: they wait for routing. */
      recorded?: RecordedAlert[];
    }
  | { kind: "duplicate"; ids: string[] };

/** Whether the alerts still wait for routing. */
export function isToBeRouted(acceptance: Acceptance): boolean {
  return acceptance.kind === "accepted" && acceptance.recorded === undefined;
}

export interface Inbox {
  /**
   * Compares keys only. Routing decides whether a body without a key is a repeat. When damage to the database prevents the
   * look-up of earlier keys, the request is stored as a new one without its key.
   *
   * @param drafts the routing of its alerts, in their order, to be recorded in the same step. Where that fails the request is
   *   stored without. Default: the alerts wait for routing
   */
  acceptRequest(request: IncomingRequest, drafts?: readonly RoutingDraft[]): Promise<Acceptance>;
}

/** An inbox for alerts that were read when they came. */
export interface ArrivalInbox extends Inbox {
  /**
   * @param payloads the payloads of the alerts, in their order, so a message that carries one is written without reading the
   *   body again. Default: the body is read again
   */
  acceptRequest(
    request: IncomingRequest,
    drafts?: readonly RoutingDraft[],
    payloads?: readonly (Json | undefined)[],
  ): Promise<Acceptance>;
}
