import type { RefusedReason } from "../source.ts";

/** A request with a source's secret that did not pass that source's check. */
export interface RefusedRequest {
  /** UUIDv7. */
  id: string;
  source: string;
  receivedAt: number;
  reason: RefusedReason;
  /** The reason in words for people. */
  detail: string;
  /** The sender's address, as far as trusted proxies name it. */
  address: string;
  contentType?: string;
  /** `[name, value]` pairs in their order as JSON, credentials masked. */
  headers: string;
  body: Uint8Array;
  /** The number of alerts in the body. */
  items: number;
  /** Refused requests since the last kept one that were not kept themselves: a flood is kept in part. */
  unkept: number;
}

/** As a list shows it. */
export interface RefusedSummary extends Omit<RefusedRequest, "headers" | "body"> {
  bodyBytes: number;
  /** When a person had the request relayed anyway, and its alerts. */
  released?: { at: number; alertIds: string[] };
}

export interface RefusedDetail extends RefusedSummary {
  headers: [string, string][];
  body: Uint8Array;
}

/**
 * Refused requests, apart from the alerts: they are not routed or counted as alerts. Each source keeps at most 200 with 4 MiB
 * of bodies together, and always the newest. The oldest of the address with the most are removed, so a stranger does not push
 * out the sender's own. Retention by age applies as well.
 */
export interface RefusedLog {
  recordRefused(request: RefusedRequest): Promise<void>;
  /** Newest first. */
  listRefused(query: { limit: number; source?: string; before?: string }): Promise<RefusedSummary[]>;
  /** Undefined for an unknown id. */
  getRefused(id: string): Promise<RefusedDetail | undefined>;
  markReleased(id: string, alertIds: readonly string[], at: number): Promise<void>;
}
