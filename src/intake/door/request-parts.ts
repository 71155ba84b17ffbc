import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { ArrivedBody } from "../../core/arrived-body.ts";
import type { BodyPlace, BodyRoom } from "../../ground/net/body-room.ts";
import { GatheredBody } from "../../ground/net/gathered-body.ts";

/** `no_room`: other bodies need the room, see `BodyRoom`. */
export type BodyReading = { kind: "read"; body: Buffer } | { kind: "too_large" | "no_room" | "aborted" };

/** A body over the limit is read up to this many times the limit: a sender that is cut off may never see the answer. */
const patience = 8;

/**
 * Reads a body up to `maxBytes`, whatever its headers claim, and drops the rest. `done` has to leave `place` in `room`.
 * @param done called once. A promise would cost more than the reading
 */
export function readRequestBody(
  request: IncomingMessage,
  maxBytes: number,
  { room, place }: { room: BodyRoom; place: BodyPlace },
  done: (reading: BodyReading) => void,
): void {
  const declared = Number(request.headers["content-length"] ?? 0);
  let isDone = false;
  const finish = (reading: BodyReading) => {
    if (isDone) return;
    isDone = true;
    done(reading);
  };
  if (declared > maxBytes * patience) {
    finish({ kind: "too_large" });
    return;
  }
  const body = new GatheredBody(Math.min(declared || maxBytes, maxBytes));
  let length = 0;
  const endForOthers = () => {
    body.drop();
    finish({ kind: length > maxBytes ? "too_large" : "no_room" });
  };
  place.onEnded = endForOthers;
  request.on("data", (chunk: Buffer<ArrayBuffer>) => {
    length += chunk.length;
    if (isDone) return;
    if (length > maxBytes) {
      body.drop();
      room.grow(place, 0);
      if (length > maxBytes * patience) finish({ kind: "too_large" });
    } else if (room.grow(place, body.sizeWith(chunk))) body.add(chunk);
    else endForOthers();
  });
  request.on("end", () => {
    room.finish(place);
    finish(length > maxBytes ? { kind: "too_large" } : { kind: "read", body: body.bytes() });
  });
  // A close follows the error.
  request.on("error", ignore);
  request.on("close", () => {
    if (!isDone) finish({ kind: "aborted" });
  });
  if (!room.grow(place, 0)) endForOthers();
}

/**
 * Reads a body to its end and keeps nothing of it. Calls `done` once with size and hash, or with undefined for a body over
 * `maxBytes`. Does not call it for a body that is cut off.
 */
export function hashRequestBody(
  request: IncomingMessage,
  maxBytes: number,
  done: (arrived: ArrivedBody | undefined) => void,
): void {
  const hash = createHash("sha256");
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    const before = bytes;
    bytes += chunk.length;
    if (bytes <= maxBytes) hash.update(chunk);
    else if (before <= maxBytes * patience && bytes > maxBytes * patience) done(undefined);
  });
  request.on("end", () => {
    if (bytes <= maxBytes) done({ bytes, sha256: hash.digest("base64url") });
    else if (bytes <= maxBytes * patience) done(undefined);
  });
  request.on("error", ignore);
}

function ignore(): void {}

/** Names of headers whose values are kept as `***`. `idempotency-key` and `x-event-key` are no secrets. */
const credentials = [
  /authori[sz]ation|(^|[-_])auth([-_]|$)|cookie|token|secret|passw|credential|session|jwt/i,
  /(access|account|admin|api|app|auth|client|functions?|integration|license)[-_]?key/i,
  /(private|routing|service|shared|signing|subscription|write)[-_]?key/i,
];

/** The hook's address in a header of a proxy (`X-Original-URI`, `X-Forwarded-Uri`) or a browser (`Referer`). */
const hookAddress = /((?:\/|%2f)hooks(?:\/|%2f))[^/?#&\s"',;%]+/gi;

const masked = "***";

/** The pairs in their order as JSON. Credentials and the hook's secret are masked. `rawHeaders`: names and values in turn. */
export function keepHeaders(rawHeaders: string[]): string {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    pairs.push([name, keepValue(name, rawHeaders[index + 1] as string)]);
  }
  return JSON.stringify(pairs);
}

function keepValue(name: string, value: string): string {
  if (credentials.some((pattern) => pattern.test(name))) return masked;
  return value.includes("hooks") ? value.replace(hookAddress, "$1***") : value;
}

/** Kept headers in Node's form: names in lower case, values of one name joined. Masked ones are left out. */
export function readKeptHeaders(pairs: readonly [string, string][]): Record<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of pairs) {
    const key = name.toLowerCase();
    const before = headers.get(key);
    if (value !== masked) headers.set(key, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(headers);
}
