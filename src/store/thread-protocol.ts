import { AppError, type ErrorCode } from "../core/errors.ts";
import type { StoreHealth } from "../core/store.ts";
import type { SessionOptions } from "./database-session.ts";
import type { Call, CallResult } from "./group-commit.ts";

/**
 * What the main thread and a database thread say to each other. Bodies travel packed in one buffer that changes hands:
 * a Node `Buffer` is a window on a larger block, and cloning it would copy the whole block.
 */
export type ToThread =
  | { kind: "calls"; id: number; calls: Call[]; bodies?: Uint8Array }
  | { kind: "health"; id: number }
  | { kind: "backup"; id: number; path: string }
  | { kind: "close"; id: number };

export type FromThread =
  | { kind: "ready" }
  | { kind: "failed"; error: WireError }
  | { kind: "results"; id: number; results: WireResult[]; version: number }
  | { kind: "health"; id: number; health: StoreHealth }
  | { kind: "done"; id: number; error?: WireError };

export type ThreadData = Omit<SessionOptions, "now">;

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

interface WithBody {
  body: Uint8Array;
}

/** Takes the bodies of `acceptRequest` calls out of the calls and lays them one after another. */
export function packBodies(calls: Call[]): { calls: Call[]; bodies?: Uint8Array } {
  let length = 0;
  for (const call of calls)
    if (call.name === "acceptRequest") length += (call.arguments[0] as WithBody).body.length;
  if (length === 0) return { calls };
  const bodies = new Uint8Array(length);
  let offset = 0;
  const packed = calls.map((call): Call => {
    if (call.name !== "acceptRequest") return call;
    const request = call.arguments[0] as WithBody;
    bodies.set(request.body, offset);
    const end = offset + request.body.length;
    const place: [number, number] = [offset, end];
    offset = end;
    return { name: call.name, arguments: [{ ...request, body: place }] };
  });
  return { calls: packed, bodies };
}

export function unpackBodies(calls: Call[], bodies: Uint8Array | undefined): Call[] {
  if (bodies === undefined) return calls;
  for (const call of calls) {
    if (call.name !== "acceptRequest") continue;
    const request = call.arguments[0] as { body: [number, number] | Uint8Array };
    const [start, end] = request.body as [number, number];
    request.body = bodies.subarray(start, end);
  }
  return calls;
}
