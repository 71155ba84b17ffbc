import type { AlertOrigin } from "../alert.ts";

export interface IncomingRequest {
  receivedAt: number;
  contentType?: string;
  /** `[name, value]` pairs in their order as JSON, credentials masked. */
  headers: string;
  body: Uint8Array;
  /** Checksum and length of the body, to find candidates for a byte-identical one. */
  fingerprint: number;
  /** UUIDv7, one for each alert of the body, in its order. */
  ids: string[];
  origin: AlertOrigin;
  /** The sender's explicit idempotency key, if any. */
  dedupeKey?: string;
  /** What to do when a byte-identical body is found and there is no key: `ask` stores nothing and answers `identical`. */
  identical: "duplicate" | "store" | "ask";
  /** How long keys and bodies are remembered, milliseconds. */
  dedupeWindowMs: number;
}

/** `identical` is answered only to `ask`; the other two mean that the alerts with these ids are on disk. */
export type Acceptance =
  | {
      kind: "accepted";
      ids: string[];
      /** An earlier request had the same key and another body. */
      conflict: boolean;
      /** Why earlier ones could not be looked for: stored as new, though it may be a resend. */
      unchecked?: string;
    }
  | { kind: "duplicate"; ids: string[] }
  | { kind: "identical"; ids: string[] };

export interface Inbox {
  acceptRequest(request: IncomingRequest): Promise<Acceptance>;
}
