import { AppError, type ErrorCode } from "../../core/errors.ts";
import type { Maintenance, StoreHealth } from "../../core/ports/administration.ts";
import type { Acceptance, IncomingRequest } from "../../core/ports/inbox.ts";
import type { SessionOptions } from "./database-session.ts";
import type { Call, CallResult } from "./group-commit.ts";

/**
 * What the main thread and a database thread say to each other. Each message has an id and is answered once. Bodies travel
 * packed in one buffer that changes hands: a Node `Buffer` is a window on a larger block, and cloning it would copy the
 * whole block.
 */
export type ToThread =
  | ({ kind: "calls"; id: number } & PackedCalls)
  | { kind: "health"; id: number }
  | { kind: "maintain"; id: number; now: number }
  | { kind: "backup"; id: number; path: string }
  | { kind: "close"; id: number };

export type FromThread =
  | { kind: "ready" }
  | { kind: "not_opened"; error: WireError }
  | { kind: "answer"; id: number; answer: unknown }
  | { kind: "failure"; id: number; error: WireError };

/** What `answer` is for each kind of message. */
export interface Answers {
  calls: { results: WireResult[]; version: number };
  health: StoreHealth;
  maintain: Maintenance;
  backup: undefined;
  close: undefined;
}

export type ThreadData = Omit<SessionOptions, "now">;

/** An error survives structured cloning only without its class and its fields. */
export interface WireError {
  code?: ErrorCode;
  message: string;
  hint?: string;
  retryAfterMs?: number;
  stack?: string;
}

export type WireResult =
  | typeof plainlyAccepted
  | { ok: true; value: unknown }
  | { ok: false; error: WireError };

/** What nearly every accepted request is answered: accepted under the ids that it came with, and nothing to note. */
const plainlyAccepted = 1;

export function toWireError(error: unknown): WireError {
  if (error instanceof AppError) {
    return { code: error.code, message: error.message, hint: error.hint, retryAfterMs: error.retryAfterMs };
  }
  if (error instanceof Error) return { message: error.message, stack: error.stack };
  return { message: String(error) };
}

export function fromWireError(wire: WireError): Error {
  if (wire.code !== undefined) {
    return new AppError(wire.code, wire.message, { hint: wire.hint, retryAfterMs: wire.retryAfterMs });
  }
  const error = new Error(wire.message);
  if (wire.stack !== undefined) error.stack = wire.stack;
  return error;
}

export function toWireResult(result: CallResult, call: Call): WireResult {
  if (!result.ok) return { ok: false, error: toWireError(result.error) };
  if (call.name !== "acceptRequest") return result;
  const acceptance = result.value as Acceptance;
  const isPlain =
    acceptance.kind === "accepted" && !acceptance.conflict && acceptance.unchecked === undefined;
  return isPlain ? plainlyAccepted : result;
}

export function fromWireResult(result: WireResult | undefined, call: Call): CallResult {
  if (result === undefined) return { ok: false, error: new Error("the store gave no result") };
  if (result === plainlyAccepted) {
    const ids = requestOf(call)?.ids ?? [];
    return { ok: true, value: { kind: "accepted", ids, conflict: false } satisfies Acceptance };
  }
  return result.ok ? result : { ok: false, error: fromWireError(result.error) };
}

/** The request of a call that carries a body. */
function requestOf(call: Call): IncomingRequest | undefined {
  return call.name === "acceptRequest" ? (call.arguments[0] as IncomingRequest) : undefined;
}

export function bodyLengthOf(call: Call): number {
  return requestOf(call)?.body.length ?? 0;
}

/**
 * A request without the names of its fields, which cost more to clone than what is in them. The body is its place in the
 * packed bodies: from, to.
 */
type PackedRequest = [
  receivedAt: number,
  contentType: string | undefined,
  headers: string,
  from: number,
  to: number,
  fingerprint: number,
  ids: string[],
  origin: IncomingRequest["origin"],
  dedupeKey: string | undefined,
  identical: IncomingRequest["identical"],
  dedupeWindowMs: number,
];

/** In the order in which they were made: requests to accept are lists, all other calls as they are. */
export interface PackedCalls {
  calls: (PackedRequest | Call)[];
  bodies?: Uint8Array<ArrayBuffer>;
}

/** Takes the requests out of `acceptRequest` calls and lays their bodies one after another. The calls stay as they are. */
export function packCalls(calls: Call[]): PackedCalls {
  const length = calls.reduce((sum, call) => sum + bodyLengthOf(call), 0);
  const bodies = new Uint8Array(length);
  let from = 0;
  const packed = calls.map((call): PackedRequest | Call => {
    const request = requestOf(call);
    if (request === undefined) return call;
    bodies.set(request.body, from);
    const to = from + request.body.length;
    const list: PackedRequest = [
      request.receivedAt,
      request.contentType,
      request.headers,
      from,
      to,
      request.fingerprint,
      request.ids,
      request.origin,
      request.dedupeKey,
      request.identical,
      request.dedupeWindowMs,
    ];
    from = to;
    return list;
  });
  return length === 0 ? { calls: packed } : { calls: packed, bodies };
}

const noBytes = new Uint8Array();

/** The inverse: bodies become windows on the one buffer. */
export function unpackCalls({ calls, bodies = noBytes }: PackedCalls): Call[] {
  return calls.map((call): Call => {
    if (!Array.isArray(call)) return call;
    const [
      receivedAt,
      contentType,
      headers,
      from,
      to,
      fingerprint,
      ids,
      origin,
      dedupeKey,
      identical,
      window,
    ] = call;
    const request: IncomingRequest = {
      receivedAt,
      contentType,
      headers,
      body: bodies.subarray(from, to),
      fingerprint,
      ids,
      origin,
      dedupeKey,
      identical,
      dedupeWindowMs: window,
    };
    return { name: "acceptRequest", arguments: [request] };
  });
}
