import type { Acceptance, IncomingRequest } from "../../core/ports/inbox.ts";
import type { Call, CallResult, Commit } from "./group-commit.ts";
import { fromWireError, toWireError, type WireError } from "./thread-line.ts";

/* Calls to a database thread and its answers. Bodies are packed in one buffer: a cloned `Buffer` would copy its whole block. */

export interface CallsAnswer extends Omit<Commit, "results"> {
  results: WireResult[];
}

/** The usual answer to a request: accepted under its own ids, without notes. */
type PlainlyAccepted = "accepted";

/** An answer as text. Reading it takes a third of the time of a clone. */
interface AsJson {
  ok: true;
  json: string;
}

export type WireResult = PlainlyAccepted | AsJson | { ok: true; value: unknown } | { ok: false; error: WireError };

/** Calls with large answers that are all JSON. */
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

function requestOf(call: Call): IncomingRequest | undefined {
  return call.name === "acceptRequest" ? (call.arguments[0] as IncomingRequest) : undefined;
}

export function bodyLengthOf(call: Call): number {
  return requestOf(call)?.body.length ?? 0;
}

/** The fields of a request next to its body. Cloning their names would cost more than the values. */
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

/** Calls with large arguments that are all JSON. */
const askedAsJson: ReadonlySet<Call["name"]> = new Set<Call["name"]>(["recordRouting", "recordAttempt"]);

/** The calls in order, some with their arguments as JSON. A request: its body's length, its drafts as JSON, its fields. */
export interface PackedCalls {
  calls: (
    | Call
    | { name: Call["name"]; json: string }
    | [bodyLength: number, drafts: string | undefined, ...unknown[]]
  )[];
  /** All bodies, one after another. */
  bodies?: Uint8Array<ArrayBuffer>;
}

/** Leaves the calls and their requests as they are. */
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

/** Bodies become views of the one buffer. */
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
