import type { RefusedReason } from "../source.ts";

/** A request that knew a source's secret and did not pass that source's check. */
export interface RefusedRequest {
  /** UUIDv7. */
  id: string;
  source: string;
  receivedAt: number;
  reason: RefusedReason;
  detail: string;
  /** As far as trusted proxies name it. */
  address: string;
  contentType?: string;
  /** `[name, value]` pairs in their order as JSON, credentials masked. */
  headers: string;
  body: Uint8Array;
  items: number;
  /** Requests that were refused and not kept since the last kept one: a flood is kept in part. */
  unkept: number;
}

export interface RefusedSummary extends Omit<RefusedRequest, "headers" | "body"> {
  bodyBytes: number;
  /** When a person had the request relayed, and the alerts that it became. */
  released?: { at: number; alertIds: string[] };
}

export interface RefusedDetail extends RefusedSummary {
  headers: [string, string][];
  body: Uint8Array;
}

/**
 * Refused requests. Each source keeps at most 200, with 4 MiB of bodies, and always the newest. The oldest of the busiest address
 * go first, so a stranger cannot push out the sender's own.
 */
export interface RefusedLog {
  recordRefused(request: RefusedRequest): Promise<void>;
  /** Newest first. */
  listRefused(query: { limit: number; source?: string; before?: string }): Promise<RefusedSummary[]>;
  getRefused(id: string): Promise<RefusedDetail | undefined>;
  markReleased(id: string, alertIds: readonly string[], at: number): Promise<void>;
}
