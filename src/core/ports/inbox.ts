import type { AlertOrigin } from "../alert.ts";
import type { Json } from "../json.ts";
import type { RecordedAlert, RoutingDraft } from "./routing-desk.ts";

export interface IncomingRequest {
  receivedAt: number;
  contentType?: string;
  /** `[name, value]` pairs in their order as JSON, credentials masked. */
  headers: string;
  body: Uint8Array;
  /** UUIDv7, one for each alert of the body, in order. */
  ids: string[];
  origin: AlertOrigin;
  /** The source whose hook got the request. Absent: the account's hook. */
  source?: string;
  /** The sender's idempotency key, if any. */
  dedupeKey?: string;
  /** How long a key is remembered. */
  dedupeWindowMs: number;
  /** An earlier try to store the request got no answer. Stores that relays share then look for its ids first. */
  mayBeStored?: boolean;
}

/** The alerts with these ids are on disk: this request's, or those of the first one with the same key and body. */
export type Acceptance =
  | {
      kind: "accepted";
      ids: string[];
      /** An earlier request had the same key and another body. */
      conflict: boolean;
      /** Present when the alerts were routed in the same step, by the given drafts. */
      recorded?: RecordedAlert[];
    }
  | { kind: "duplicate"; ids: string[] };

export function isToBeRouted(acceptance: Acceptance): boolean {
  return acceptance.kind === "accepted" && acceptance.recorded === undefined;
}

export interface Inbox {
  /**
   * Compares keys only. Routing decides whether a body without a key is a repeat. Where a damaged database cannot look
   * up earlier keys, the request is stored as new, without its key.
   * @param drafts the routing of its alerts, in order, to record in the same step. Where that fails, only the request
   * is stored. Default: the alerts wait for routing
   */
  acceptRequest(request: IncomingRequest, drafts?: readonly RoutingDraft[]): Promise<Acceptance>;
}

/** For alerts that were read before they are stored. */
export interface ArrivalInbox extends Inbox {
  /** @param payloads of the alerts, in order. A message with the payload then needs no second reading */
  acceptRequest(
    request: IncomingRequest,
    drafts?: readonly RoutingDraft[],
    payloads?: readonly (Json | undefined)[],
  ): Promise<Acceptance>;
}
