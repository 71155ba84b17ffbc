import type { RefusedReason } from "../source.ts";

/** A request with a source's secret whose sender did not pass that source's check. */
export interface RefusedRequest {
  /** UUIDv7. */
  id: string;
  source: string;
  receivedAt: number;
  reason: RefusedReason;
  /** Why, in words for people. */
  detail: string;
  /** Where it came from, as far as the proxies before it are believed. */
  address: string;
  contentType?: string;
  /** `[name, value]` pairs in their order as JSON, credentials masked. */
  headers: string;
  body: Uint8Array;
  /** How many alerts it would be. */
  items: number;
  /** How many were refused since the one before it and not kept: of a flood only some are. */
  unkept: number;
}

/** As a list shows it. */
export interface RefusedSummary extends Omit<RefusedRequest, "headers" | "body"> {
  bodyBytes: number;
  /** When a person had it relayed anyway, and as which alerts. */
  released?: { at: number; alertIds: string[] };
}

export interface RefusedDetail extends RefusedSummary {
  headers: [string, string][];
  body: Uint8Array;
}

/**
 * What was refused, apart from the alerts: nothing of it is routed or counted as one. Each source keeps at most 200 of them with
 * 4 MiB of bodies together, and the newest in any case. The oldest of the address that has the most are removed, so that a
 * stranger does not push out what the sender itself has sent. Retention by age holds for them as well.
 */
export interface RefusedLog {
  recordRefused(request: RefusedRequest): Promise<void>;
  /** Newest first. */
  listRefused(query: { limit: number; source?: string; before?: string }): Promise<RefusedSummary[]>;
  /** Undefined for an unknown id. */
  getRefused(id: string): Promise<RefusedDetail | undefined>;
  markReleased(id: string, alertIds: readonly string[], at: number): Promise<void>;
}
