import { AppError, type ErrorCode } from "../core/errors.ts";
import type { IncomingRequest, StoreHealth, StoreMaintenance } from "../core/store.ts";
import type { SessionOptions } from "./database-session.ts";
import type { Call, CallResult } from "./group-commit.ts";

/**
 * What the main thread and a database thread say to each other. Each message has an id and is answered once. Bodies travel
 * packed in one buffer that changes hands: a Node `Buffer` is a window on a larger block, and cloning it would copy the
 * whole block.
 */
export type ToThread =
  | { kind: "calls"; id: number; calls: Call[]; bodies?: Uint8Array }
  | { kind: "health"; id: number }
  | { kind: "maintain"; id: number }
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
  maintain: StoreMaintenance;
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

/** The request of a call that carries a body. */
function requestOf(call: Call): IncomingRequest | undefined {
  return call.name === "acceptRequest" ? (call.arguments[0] as IncomingRequest) : undefined;
}

export function bodyLengthOf(call: Call): number {
  return requestOf(call)?.body.length ?? 0;
}

/** In a packed call the body is its place in the buffer: from, to. */
type PackedRequest = Omit<IncomingRequest, "body"> & { body: [number, number] };

/** Takes the bodies of `acceptRequest` calls out of the calls and lays them one after another. The calls stay as they are. */
export function packBodies(calls: Call[]): { calls: Call[]; bodies?: Uint8Array<ArrayBuffer> } {
  if (!calls.some((call) => requestOf(call))) return { calls };
  const bodies = new Uint8Array(calls.reduce((sum, call) => sum + bodyLengthOf(call), 0));
  let from = 0;
  const packed = calls.map((call): Call => {
    const request = requestOf(call);
    if (request === undefined) return call;
    bodies.set(request.body, from);
    const to = from + request.body.length;
    const packedRequest: PackedRequest = { ...request, body: [from, to] };
    from = to;
    return { name: call.name, arguments: [packedRequest] };
  });
  return { calls: packed, bodies };
}

/** The inverse: bodies become windows on the one buffer. */
export function unpackBodies(calls: Call[], bodies: Uint8Array | undefined): Call[] {
  if (bodies === undefined) return calls;
  return calls.map((call): Call => {
    if (call.name !== "acceptRequest") return call;
    const { body, ...rest } = call.arguments[0] as PackedRequest;
    return { name: call.name, arguments: [{ ...rest, body: bodies.subarray(body[0], body[1]) }] };
  });
}
