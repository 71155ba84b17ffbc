import { AppError, type ErrorCode } from "../../core/errors.ts";
import type { Maintenance, StoreHealth } from "../../core/ports/administration.ts";
import type { IncomingRequest } from "../../core/ports/inbox.ts";
import type { SessionOptions } from "./database-session.ts";
import type { Call, CallResult } from "./group-commit.ts";

/**
 * What the main thread and a database thread say to each other. Each message has an id and is answered once. Bodies
 * travel packed in one buffer that changes hands: a Node `Buffer` is a window on a larger block, and cloning it would
 * copy the whole block.
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

export type WireResult = { ok: true; value: unknown } | { ok: false; error: WireError };

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

export function toWireResult(result: CallResult): WireResult {
  return result.ok ? result : { ok: false, error: toWireError(result.error) };
}

export function fromWireResult(result: WireResult | undefined): CallResult {
  if (result === undefined) return { ok: false, error: new Error("the store gave no result") };
  return result.ok ? result : { ok: false, error: fromWireError(result.error) };
}

/** The request of a call that carries a body. */
function requestOf(call: Call): IncomingRequest | undefined {
  return call.name === "acceptRequest" ? (call.arguments[0] as IncomingRequest) : undefined;
}

export function bodyLengthOf(call: Call): number {
  return requestOf(call)?.body.length ?? 0;
}

const noBytes = new Uint8Array();

/** In the order in which they were made. */
export interface PackedCalls {
  /** Those that carry a body, without it. */
  calls: Call[];
  /** One body behind the other, and the length of each. */
  bodies?: Uint8Array<ArrayBuffer>;
  lengths?: number[];
}

/** Takes the bodies out of `acceptRequest` calls and puts them one after another. The calls stay as they are. */
export function packCalls(calls: Call[]): PackedCalls {
  const lengths = calls.map(bodyLengthOf);
  const length = lengths.reduce((sum, one) => sum + one, 0);
  if (length === 0) return { calls: calls.map(withoutBody) };
  const bodies = new Uint8Array(length);
  let from = 0;
  const packed = calls.map((call) => {
    const request = requestOf(call);
    if (request === undefined) return call;
    bodies.set(request.body, from);
    from += request.body.length;
    return withoutBody(call);
  });
  return { calls: packed, bodies, lengths };
}

function withoutBody(call: Call): Call {
  const request = requestOf(call);
  return request === undefined ? call : { name: call.name, arguments: [{ ...request, body: noBytes }] };
}

/** The inverse: bodies become windows on the one buffer. */
export function unpackCalls({ calls, bodies = noBytes, lengths = [] }: PackedCalls): Call[] {
  let from = 0;
  return calls.map((call, index) => {
    const request = requestOf(call);
    if (request === undefined) return call;
    const to = from + (lengths[index] ?? 0);
    const body = bodies.subarray(from, to);
    from = to;
    return { name: call.name, arguments: [{ ...request, body }] };
  });
}
