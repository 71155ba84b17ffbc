import type { Acceptance, IncomingRequest } from "../../core/ports/inbox.ts";
import type { Call, CallResult, Commit } from "./group-commit.ts";
import { fromWireError, toWireError, type WireError } from "./thread-line.ts";

/*
 * How calls go to a database thread, and what they come to comes back. Bodies travel packed in one buffer that changes hands: a Node
 * `Buffer` is a window on a larger block, and cloning it would copy the whole block.
 */

/** What calls have come to. */
export interface CallsAnswer extends Omit<Commit, "results"> {
  results: WireResult[];
}

/** What an accepted request mostly is answered: accepted under the ids that it came with, and nothing to note. */
type PlainlyAccepted = "accepted";

/** As text, which is read back in a third of the time that a clone of as many objects takes. */
interface AsJson {
  ok: true;
  json: string;
}

export type WireResult = PlainlyAccepted | AsJson | { ok: true; value: unknown } | { ok: false; error: WireError };

/** Large answers that are all JSON: what pages and previews read by the hundred, and what each alert needs. */
const asJson: ReadonlySet<Call["name"]> = new Set<Call["name"]>([
  "recordRouting",
  "listDue",
  "claimRun",
  "listAlerts",
  "listAlertsWithin",
  "neighbours",
  "listChanges",
  "listFacts",
  "listArrivals",
  "keyHistory",
  "keyValues",
  "countOverTime",
  "countMatches",
  "countByDestination",
]);

export function toWireResult(result: CallResult, call: Call): WireResult {
  if (!result.ok) return { ok: false, error: toWireError(result.error) };
  if (asJson.has(call.name)) return { ok: true, json: JSON.stringify(result.value) };
  if (call.name !== "acceptRequest") return result;
  const { kind, ids, conflict, recorded } = result.value as Extract<Acceptance, { kind: "accepted" }>;
  const isPlain = kind === "accepted" && !conflict && recorded === undefined && ids === requestOf(call)?.ids;
  if (isPlain) return kind;
  return recorded === undefined ? result : { ok: true, json: JSON.stringify(result.value) };
}

export function fromWireResult(result: WireResult | undefined, call: Call): CallResult {
  if (result === undefined) return { ok: false, error: new Error("the store gave no result") };
  if (result === "accepted") {
    const value: Acceptance = { kind: result, ids: requestOf(call)?.ids ?? [], conflict: false };
    return { ok: true, value };
  }
  if (!result.ok) return { ok: false, error: fromWireError(result.error) };
  return "json" in result ? { ok: true, value: JSON.parse(result.json) } : result;
}

/** The request of a call that carries a body. */
function requestOf(call: Call): IncomingRequest | undefined {
  return call.name === "acceptRequest" ? (call.arguments[0] as IncomingRequest) : undefined;
}

export function bodyLengthOf(call: Call): number {
  return requestOf(call)?.body.length ?? 0;
}

/**
 * What of a request travels with its body: in this order and unnamed, since names cost more to clone than what is in
 * them.
 */
const fields = [
  "receivedAt",
  "contentType",
  "headers",
  "ids",
  "origin",
  "source",
  "dedupeKey",
  "dedupeWindowMs",
] as const satisfies (keyof IncomingRequest)[];

/** Large questions that are all JSON. */
const askedAsJson: ReadonlySet<Call["name"]> = new Set<Call["name"]>(["recordRouting", "recordAttempts"]);

/**
 * In the order in which the calls were made, some with their arguments as JSON; a request to accept is the length of its body, its drafts
 * as JSON and its fields.
 */
export interface PackedCalls {
  calls: (
    | Call
    | { name: Call["name"]; json: string }
    | [bodyLength: number, drafts: string | undefined, ...unknown[]]
  )[];
  /** One body behind the other. */
  bodies?: Uint8Array<ArrayBuffer>;
}

/** Takes the requests out of `acceptRequest` calls. The calls stay as they are. */
export function packCalls(calls: Call[]): PackedCalls {
  const length = calls.reduce((sum, call) => sum + bodyLengthOf(call), 0);
  const bodies = new Uint8Array(length);
  let from = 0;
  const packed = calls.map((call): PackedCalls["calls"][number] => {
    const request = requestOf(call);
    const { name, arguments: given } = call;
    if (request === undefined) return askedAsJson.has(name) ? { name, json: JSON.stringify(given) } : call;
    bodies.set(request.body, from);
    from += request.body.length;
    const drafts = given[1] === undefined ? undefined : JSON.stringify(given[1]);
    return [request.body.length, drafts, ...fields.map((field) => request[field])];
  });
  return length === 0 ? { calls: packed } : { calls: packed, bodies };
}

const noBytes = new Uint8Array();

/** The inverse: bodies become windows on the one buffer. */
export function unpackCalls({ calls, bodies = noBytes }: PackedCalls): Call[] {
  let from = 0;
  return calls.map((call): Call => {
    if ("json" in call) return { name: call.name, arguments: JSON.parse(call.json) as unknown[] };
    if (!Array.isArray(call)) return call;
    const [length, drafts, ...values] = call;
    const request: Record<string, unknown> = { body: bodies.subarray(from, from + length) };
    from += length;
    fields.forEach((field, index) => {
      request[field] = values[index];
    });
    return { name: "acceptRequest", arguments: drafts === undefined ? [request] : [request, JSON.parse(drafts)] };
  });
}
