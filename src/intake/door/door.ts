import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { DoorRefusalView } from "../../contract/operations.ts";
import type { Now } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { answerQuestion, type ProofQuestion, readQuestion } from "../../core/hook-proof.ts";
import type { NewId } from "../../core/id.ts";
import type { Log } from "../../core/log.ts";
import type { Acceptance, Inbox, IncomingRequest } from "../../core/ports/inbox.ts";
import type { RefusedDetail, RefusedLog } from "../../core/ports/refused.ts";
import type { Secret } from "../../core/secret.ts";
import { createFairTurns } from "../../ground/fair-turns.ts";
import { type BodyPlace, BodyRoom, bodyRoomFull } from "../../ground/net/body-room.ts";
import {
  type ClientAddressOf,
  createClientAddress,
  createRequestNetwork,
  type ProxyTrust,
} from "../../ground/net/client-address.ts";
import { explicitKey } from "../key/explicit-key.ts";
import { dedupeWindowMs } from "../key/keys.ts";
import { readRequest } from "../read/read-request.ts";
import { codingsIn, decodeBody, isDecoded, maxDecodedBytes } from "./decode-body.ts";
import { type DoorSource, type HookCounters, type NamedHook, openNamedHook } from "./named-hook.ts";
import { createRefusalCounts } from "./refusals.ts";
import {
  type BodyReading,
  createHeaderKeeper,
  hashRequestBody,
  readKeptHeaders,
  readRequestBody,
} from "./request-parts.ts";
import { claimedKey } from "./sender-check.ts";

export interface DoorOptions {
  /** Of the account's hook. Absent: `addSecret` says it later. */
  secret?: Secret;
  /** While it says no, an unknown secret may be a right one and is answered 503. Default: always. */
  knowsAllSecrets?(): boolean;
  /** Default none. */
  sources?: readonly DoorSource[];
  /** Whose word about the address of a client counts, for checks of addresses. Default: nobody's. */
  proxies?: ProxyTrust;
  /** Larger bodies are answered 413. Default 1 MiB. */
  maxBodyBytes?: number;
  /** Paths into the payload that hold the sender's event id, tried after the usual headers. Default none. */
  idempotencyPaths?: string[];
  /** Requests that may wait for the disk; more are answered 503. Default 10,000. */
  maxWaiting?: number;
  /**
   * Bytes of all bodies that are being read or stored, and a quarter more for small ones; see `BodyRoom` for which has to go
   * where room lacks. Default 64 MiB, or four of the largest.
   */
  maxHeldBytes?: number;
  /** What the relay is called in a proof (`core/hook-proof.ts`): another one after each start. Default: made here. */
  relayId?: string;
}

export interface DoorDeps {
  store: Inbox;
  /** Keeps what did not pass the check of its source. */
  refused: Pick<RefusedLog, "recordRefused">;
  now: Now;
  newId: NewId;
  log: Log;
  /** Undoes what a body is compressed with. Default: `decodeBody`. */
  decode?: typeof decodeBody;
}

/** What has come to the door since the start; for `/metrics`. */
export interface DoorCounters {
  accepted: number;
  alerts: number;
  duplicates: number;
  tooLarge: number;
  compressed: number;
  notStored: number;
  /** Of these, what the store did not take. */
  storeRefused: number;
  unknownSecret: number;
  /** Did not pass the check of their source. */
  senderRefused: number;
  aborted: number;
}

export interface Door {
  /**
   * Answers a request whose path begins with `hookPrefix`, now or later.
   * @param given what stands behind the prefix, not decoded
   */
  handle(request: IncomingMessage, response: ServerResponse, given: string): void;
  /** A connection was answered 503 before anything of it was read. */
  noteTurnedAway(): void;
  /** Requests that are being read or stored at this moment. */
  inFlight(): number;
  /**
   * The relay is being stopped: answers 503 to a request whose body has not come whole. What still comes of it is
   * thrown away.
   */
  refuse(response: ServerResponse): void;
  /** Resolves when each body that came whole has been stored, or not, and answered. */
  settled(): Promise<void>;
  /** Also takes this secret from now on; the old one goes on being taken until the relay is restarted. */
  addSecret(secret: Secret): void;
  /** From now on these are the secrets of a named hook, and no others. */
  setSecretsOf(source: string, secrets: readonly Secret[]): void;
  /** The key that a request would have had which its source's check has refused; undefined when it has none. */
  keyOf(refused: Pick<RefusedDetail, "source" | "headers" | "body" | "contentType">): string | undefined;
  counters: Readonly<DoorCounters>;
  /** What was turned away, by why and when. */
  refusals(): DoorRefusalView[];
  /** Of each named hook, in the order in which they were given. */
  sources: ReadonlyMap<string, Readonly<HookCounters>>;
}

/** A secret that is taken, and whose it is. */
interface Key {
  secret: Buffer;
  /** Absent: the account's. */
  source?: NamedHook;
}

export const hookPrefix = "/hooks/";
/** Fields of a head, at most: an empty one of six bytes takes fifty times its length. Senders and their proxies send 50. */
export const mostFields = 200;

/**
 * What `POST /hooks/<secret>` does, on Node's own request and response: the framework's objects cost more here than
 * storing the alert does (docs/adr/0002-hook-on-node-http.md). Secret, method and coding are judged from the head; the
 * body is read and decompressed within its bounds (docs/adr/0023-compressed-bodies.md), stored with its headers and key,
 * and answered.
 *
 * 202 after the commit; 401 for a sender that does not pass the check of its source, which is kept for people; 404 for any
 * other secret; 405 for another method; 413 over the size; 415 with a Content-Encoding other than gzip and deflate; 431 with
 * too many fields; 503 with Retry-After when it cannot be stored. Never another 4xx: some senders give up after a few.
 * A program that knows the secret may also ask for a proof that this relay does (`core/hook-proof.ts`).
 */
export function createDoor(deps: DoorDeps, options: DoorOptions): Door {
  const { store, now, newId, log, decode: undo = decodeBody } = deps;
  const { maxBodyBytes = 1024 * 1024, maxWaiting = 10_000, knowsAllSecrets = () => true } = options;
  const { maxHeldBytes = Math.max(64 * 1024 * 1024, 4 * maxBodyBytes) } = options;
  const paths = options.idempotencyPaths ?? [];
  const keepHeaders = createHeaderKeeper();
  const proxies = options.proxies ?? { trustedProxies: [], behindFly: false };
  const addressOf = ofRequest(createClientAddress(proxies));
  const networkOf = ofRequest(createRequestNetwork(proxies));
  let keys: Key[] = options.secret ? [{ secret: bytesOf(options.secret) }] : [];
  const hooks: NamedHook[] = [];
  const sources = new Map<string, HookCounters>();
  for (const source of options.sources ?? []) {
    const hook = openNamedHook(source, { ...deps, addressOf, keepHeaders });
    sources.set(hook.name, hook.counters);
    hooks.push(hook);
    keys.push(...source.secrets.map((secret) => ({ secret: bytesOf(secret), source: hook })));
  }
  const { relayId = newId() } = options;
  const counters: DoorCounters = {
    accepted: 0,
    alerts: 0,
    duplicates: 0,
    tooLarge: 0,
    compressed: 0,
    notStored: 0,
    storeRefused: 0,
    unknownSecret: 0,
    senderRefused: 0,
    aborted: 0,
  };
  const refusals = createRefusalCounts(now);
  let waiting = 0;
  let storing = 0;
  let whenSettled: (() => void)[] = [];
  const takeDecodingTurn = createFairTurns(decodingLimits);
  const room = new BodyRoom({ all: maxHeldBytes * 1.25, large: maxHeldBytes });
  const limitOf = (isCompressed: boolean) => (isCompressed ? Math.min(maxBodyBytes, maxDecodedBytes) : maxBodyBytes);

  function toIncoming(
    request: IncomingMessage,
    source: NamedHook | undefined,
    signedKey: string | undefined,
    body: Buffer,
  ): IncomingRequest {
    const contentType = request.headers["content-type"];
    const reading = readRequest(body, contentType);
    const count = reading.countAlerts();
    return {
      receivedAt: now(),
      contentType,
      headers: keepHeaders(request.rawHeaders),
      body,
      ids: count === 1 ? [newId()] : Array.from({ length: count }, newId),
      origin: request.headers["x-tocsin-test"] === undefined ? "hook" : "test",
      source: source?.name,
      dedupeKey: explicitKey(request.headers, reading, paths, source, signedKey),
      dedupeWindowMs,
    };
  }

  /** One of a source at a time: who sends is known only afterwards, and no source waits behind the bodies of another. */
  async function decode(sent: Buffer, place: BodyPlace, source = ""): Promise<ArrivedReading> {
    const turn = takeDecodingTurn(source, sent.length, () => {
      // A signal that only a timer holds may be collected before it ends anything.
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), longestDecodingMs);
      return undo(sent, {
        maxBytes: limitOf(true),
        signal: late.signal,
        mayHold: (bytes) => room.grow(place, sent.length + bytes),
      }).finally(() => clearTimeout(timer));
    });
    if (turn === undefined) return { kind: "too_many" };
    const result = await turn;
    if (result.kind !== "undecodable") return result;
    log.warn("alert.kept_compressed", { bytes: sent.length });
    return { kind: "read", body: sent };
  }

  /** Answers, and lets go of what the request held, whatever happens. */
  async function accept(
    request: IncomingMessage,
    { source }: Key,
    sent: Buffer,
    response: ServerResponse,
    { place, isCompressed, release }: Held,
  ): Promise<void> {
    storing += 1;
    try {
      const reading: ArrivedReading = isCompressed
        ? await decode(sent, place, source?.name)
        : { kind: "read", body: sent };
      if (reading.kind !== "read") {
        answerNotTaken(reading, response, isCompressed);
        return;
      }
      const { body } = reading;
      const checked = source?.judge?.(request, body, sent);
      if (source !== undefined && checked?.ok === false) {
        counters.senderRefused += 1;
        await source.keepRefused(request, body, checked);
        answerRefused(response, checked.detail);
        return;
      }
      const signedKey = checked?.ok === true ? checked.key : undefined;
      const acceptance = await store.acceptRequest(toIncoming(request, source, signedKey, body));
      if (source !== undefined) {
        source.counters.accepted += 1;
        source.counters.lastAcceptedAt = now();
      }
      answerAccepted(response, acceptance, source?.wants200);
    } catch (error) {
      answerNotStored(response, error, source?.name);
    } finally {
      release();
      storing -= 1;
      if (storing === 0) announceSettled();
    }
  }

  function answerRefused(response: ServerResponse, detail: string): void {
    answerError(response, 401, "sender_refused", `This source checks who sends: ${detail}.`);
  }

  function announceSettled(): void {
    for (const resolve of whenSettled) resolve();
    whenSettled = [];
  }

  function answerAccepted(response: ServerResponse, acceptance: Acceptance, wants200 = false): void {
    const { ids } = acceptance;
    const duplicate = acceptance.kind === "duplicate";
    if (duplicate) counters.duplicates += 1;
    else counters.alerts += ids.length;
    counters.accepted += 1;
    const text =
      ids.length === 1
        ? `{"data":{"id":"${ids[0]}","duplicate":${duplicate}}}`
        : JSON.stringify({ data: { ids, duplicate } });
    answer(response, wants200 ? 200 : 202, text);
    log.debug("alert.accepted", { ids, duplicate });
  }

  function answerNotStored(response: ServerResponse, error: unknown, source: string | undefined): void {
    counters.notStored += 1;
    counters.storeRefused += 1;
    refusals.note("not_stored");
    const known = error instanceof AppError;
    log.error("alert.not_stored", { source, error: known ? error.message : String(error).slice(0, 300) });
    const retryAfterMs = known ? (error.retryAfterMs ?? 10_000) : 10_000;
    const message = "The alert could not be stored; send it again.";
    answerError(response, 503, "store_unavailable", message, retryAfterMs / 1000);
  }

  /** What came whole is not taken either while too many wait. */
  function answerNotTaken(reading: ArrivedReading, response: ServerResponse, isCompressed: boolean): void {
    switch (reading.kind) {
      case "too_large":
        counters.tooLarge += 1;
        refusals.note("too_large");
        log.warn("alert.refused", { reason: "too_large", maxBodyBytes: limitOf(isCompressed) });
        answerTooLarge(response, isCompressed);
        return;
      case "aborted":
        counters.aborted += 1;
        return;
      case "no_room":
      case "too_many":
      case "read":
        counters.notStored += 1;
        refusals.note("not_stored");
        answerFull(response, fullBecause[reading.kind]);
        return;
      default:
        reading satisfies never;
    }
  }

  function serve(request: IncomingMessage, key: Key, response: ServerResponse, isCompressed: boolean): void {
    waiting += 1;
    const place = room.enter({ to: key.source?.name ?? "", network: () => networkOf(request) }, request);
    const release = () => {
      waiting -= 1;
      room.leave(place);
    };
    readRequestBody(request, limitOf(isCompressed), { room, place }, (reading) => {
      // It was refused while it was read: storing it now would belie the answer.
      if (response.headersSent) release();
      else if (reading.kind === "read" && storing < maxWaiting)
        void accept(request, key, reading.body, response, { place, isCompressed, release });
      else {
        release();
        answerNotTaken(reading, response, isCompressed);
      }
    });
  }

  /** Of the body it keeps nothing, so it takes no room of the alerts'. */
  function prove(request: IncomingMessage, { nonce, secret }: Required<ProofQuestion>, response: ServerResponse): void {
    if (request.method === "GET") {
      if (!request.complete) response.setHeader("connection", "close");
      answer(response, 200, answerQuestion(nonce, secret, { relay: relayId }));
      return;
    }
    const [encoding] = codingsOf(request);
    hashRequestBody(request, maxBodyBytes, (arrived) => {
      if (arrived === undefined) answerTooLarge(response);
      else answer(response, 200, answerQuestion(nonce, secret, { relay: relayId, body: { ...arrived, encoding } }));
    });
  }

  function answerTooLarge(response: ServerResponse, isCompressed = false): void {
    const ofWhat = isCompressed ? "The body or what it is decompressed to" : "The body";
    answerError(response, 413, "too_large", `${ofWhat} is larger than ${limitOf(isCompressed)} bytes.`);
  }

  return {
    counters,
    refusals: refusals.view,
    sources,
    inFlight: () => waiting,
    noteTurnedAway: () => refusals.note("turned_away"),
    addSecret(secret) {
      if (keyOf(keys, secret.reveal()) === undefined) keys.push({ secret: bytesOf(secret) });
    },
    setSecretsOf(name, secrets) {
      const source = hooks.find((hook) => hook.name === name);
      if (source === undefined) return;
      const others = keys.filter((key) => key.source !== source);
      keys = [...others, ...secrets.map((secret) => ({ secret: bytesOf(secret), source }))];
    },
    keyOf({ source: name, headers: pairs, body, contentType }) {
      const source = options.sources?.find((one) => one.name === name);
      if (source === undefined) return undefined;
      const headers = readKeptHeaders(pairs);
      const signed = claimedKey(source.checks, headers);
      return explicitKey(headers, readRequest(body, contentType), paths, source, signed);
    },
    refuse(response) {
      counters.notStored += 1;
      refusals.note("not_stored");
      const stopping = "Tocsin is being stopped and has not read the alert to its end; send it again.";
      answerError(response, 503, "relay_stopping", stopping, 2);
    },
    settled: () =>
      new Promise((resolve) => {
        if (storing === 0) resolve();
        else whenSettled.push(resolve);
      }),
    handle(request, response, given) {
      const key = keyOf(keys, given);
      if (key === undefined) {
        const { method } = request;
        const question = readQuestion(secretsOf(keys), given);
        if (question?.secret !== undefined && (method === "GET" || method === "POST")) {
          prove(request, { ...question, secret: question.secret }, response);
          return;
        }
        if (!knowsAllSecrets()) {
          counters.notStored += 1;
          refusals.note("not_stored");
          const text = "Tocsin waits for its database, which has the secrets of its hooks; send it again.";
          answerError(response, 503, "store_unavailable", text, 5);
          return;
        }
        if (question === undefined) {
          counters.unknownSecret += 1;
          refusals.note("unknown_secret");
        }
        answerError(response, 404, "not_found", "There is nothing here.");
      } else if (request.rawHeaders.length > 2 * mostFields) {
        refusals.note("too_many_fields");
        log.warn("alert.refused", { reason: "too_many_fields" });
        answerError(response, 431, "invalid_request", `The request has more than ${mostFields} header fields.`);
      } else if (request.method !== "POST") {
        if (request.method === "GET" && key.source?.wants200) {
          if (!request.complete) response.setHeader("connection", "close");
          answer(response, 200, '{"data":{}}');
          return;
        }
        response.setHeader("allow", "POST");
        answerError(response, 405, "invalid_request", "This is the hook: send alerts to it with POST.");
      } else {
        const [coding, another] = codingsOf(request);
        const isCompressed = coding !== undefined;
        if (!isCompressed || (another === undefined && isDecoded(request.headers["content-encoding"])))
          serve(request, key, response, isCompressed);
        else {
          counters.compressed += 1;
          refusals.note("compressed");
          log.warn("alert.refused", { reason: "compressed" });
          answerError(
            response,
            415,
            "unsupported_encoding",
            "Send the body uncompressed, or with gzip or deflate alone.",
          );
        }
      }
    },
  };
}

function ofRequest(find: ClientAddressOf): (request: IncomingMessage) => string {
  return ({ headers, socket }) => find(socket.remoteAddress, (header) => headers[header]?.toString());
}

function bytesOf(secret: Secret): Buffer {
  return Buffer.from(secret.reveal());
}

/**
 * In a time that does not depend on where they differ. It may show whether a guess has the length of a secret, which is
 * the same for all that are generated; to hide it behind a hash costs more than a hundredth of the time of a request.
 * All are compared, whichever it is: a tenth of a microsecond each.
 */
function keyOf(keys: readonly Key[], given: string): Key | undefined {
  const bytes = Buffer.from(given);
  let found: Key | undefined;
  for (const key of keys) {
    if (key.secret.length === bytes.length && timingSafeEqual(key.secret, bytes)) found = key;
  }
  return found;
}

function secretsOf(keys: readonly Key[]): Buffer[] {
  return keys.map(({ secret }) => secret);
}

interface Held {
  place: BodyPlace;
  isCompressed: boolean;
  release(): void;
}

/** `too_many`: of its source too many compressed ones wait. */
type ArrivedReading = BodyReading | { kind: "too_many" };

/**
 * Two of the four threads of the pool, which the disk needs as well. 8 MiB that were made to take long take 3 seconds, and are
 * thousands of ordinary bodies.
 */
const decodingLimits = { atOnce: 2, mostOfOne: 8 * 1024 * 1024 };

/** What takes longer is kept as it came. A body of 16 MiB takes 50 ms where nothing else runs. */
const longestDecodingMs = 5_000;

/** What a body is compressed with, by its own codings and by those of the transfer, of which Node undoes `chunked` alone. */
function codingsOf({ headers }: IncomingMessage): readonly string[] {
  if (headers["content-encoding"] === undefined && headers["transfer-encoding"] === undefined) return none;
  const ofTransfer = codingsIn(headers["transfer-encoding"]).filter((name) => name !== "chunked");
  return [...codingsIn(headers["content-encoding"]), ...ofTransfer];
}

const none: readonly string[] = [];

/**
 * The head as a flat list, which Node writes as it is, and head and body as one string, for which the socket is held:
 * `end` alone would write an empty one behind it and so call the system for a list of two. A seventh of what Node's
 * HTTP costs an alert. Behind an answer that is still to come (pipelining) there is no socket yet.
 */
function answer(response: ServerResponse, status: number, text: string): void {
  if (response.destroyed || response.headersSent) return;
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, [
    "content-type",
    "application/json",
    "content-length",
    length,
    "cache-control",
    "no-store",
  ]);
  const { socket } = response;
  if (socket === null) {
    response.end(text);
    return;
  }
  socket.cork();
  response.write(text);
  socket.uncork();
  response.end();
}

const fullBecause = {
  no_room: bodyRoomFull,
  read: "Too many alerts are waiting for the disk; send it again.",
  too_many: "Too many compressed bodies of this source are waiting; send it again.",
};

/** The connection stays: a sender that is cut off while it writes may never see why. What still comes is thrown away. */
function answerFull(response: ServerResponse, message: string): void {
  response.setHeader("retry-after", 1);
  answer(response, 503, JSON.stringify({ error: { code: "store_unavailable", message } }));
}

function answerError(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
  retryAfterSeconds?: number,
): void {
  if (retryAfterSeconds !== undefined) response.setHeader("retry-after", Math.max(1, Math.ceil(retryAfterSeconds)));
  // What is still to come of the body has nobody who reads it.
  if (!response.req.complete) response.setHeader("connection", "close");
  answer(response, status, JSON.stringify({ error: { code, message } }));
}
