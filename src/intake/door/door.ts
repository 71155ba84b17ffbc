import type { IncomingMessage, ServerResponse } from "node:http";
import type { DoorRefusalView } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import { answerQuestion, type ProofQuestion, readQuestion } from "../../core/hook-proof.ts";
import type { Acceptance, Inbox, IncomingRequest } from "../../core/ports/inbox.ts";
import type { RefusedDetail } from "../../core/ports/refused.ts";
import type { HookReport } from "../../core/ports/relays.ts";
import type { Secret } from "../../core/secret.ts";
import { type BodyPlace, BodyRoom } from "../../ground/net/body-room.ts";
import {
  type ClientAddressOf,
  createClientAddress,
  createRequestNetwork,
  type ProxyTrust,
} from "../../ground/net/client-address.ts";
import { errorText } from "../../ground/text/error-text.ts";
import { explicitKey } from "../key/explicit-key.ts";
import { dedupeWindowMs } from "../key/keys.ts";
import { readRequest } from "../read/read-request.ts";
import { answer, closeUnlessComplete } from "./answer.ts";
import { codingsOf, Decoder, type decodeBody, isDecoded, maxDecodedBytes } from "./decode-body.ts";
import { type DoorSource, HookSecrets, NamedHook, type NamedHookDeps } from "./named-hook.ts";
import { DoorCounters, mostFields, Refusals } from "./refusals.ts";
import { hashRequestBody, keepHeaders, readKeptHeaders, readRequestBody } from "./request-parts.ts";
import { claimedKey } from "./sender-check.ts";

export interface DoorOptions {
  /** The secret of the account's hook. Absent: `addSecret` adds it later. */
  secret?: Secret;
  /** False: an unknown secret may be right, so the answer is 503. Default: always true. */
  knowsAllSecrets?(): boolean;
  /** Default none. */
  sources?: readonly DoorSource[];
  /** Proxies that are trusted for a client's address. Default: none. */
  proxies?: ProxyTrust;
  /** Larger bodies are answered 413. Default 1 MiB. */
  maxBodyBytes?: number;
  /** Paths to the sender's event id, tried after the usual headers. Default none. */
  idempotencyPaths?: string[];
  /** Requests that wait for the disk. Further ones are answered 503. Default 10,000. */
  maxWaiting?: number;
  /** Bytes of all bodies in hand, see `BodyRoom`. Small ones get a quarter more. Default 64 MiB, or four of the largest. */
  maxHeldBytes?: number;
  /** For a proof (`core/hook-proof.ts`), new after each start. Default: made here. */
  relayId?: string;
}

export interface DoorDeps extends Omit<NamedHookDeps, "addressOf"> {
  store: Inbox;
  decode?: typeof decodeBody;
}

export const hookPrefix = "/hooks/";
/**
 * The handler of `POST /hooks/<secret>`, on Node's own request and response: a framework's objects cost more here than
 * storing the alert (docs/adr/0002-hook-on-node-http.md). Secret, method and coding are judged from the head. The body
 * is read and decompressed within bounds (docs/adr/0023-compressed-bodies.md), and stored with its headers and key.
 *
 * 202 after the commit. 401 for a sender that does not pass its source's check. 404 for an unknown secret. 405 for
 * another method. 413 over the size. 415 for a Content-Encoding other than gzip and deflate. 431 for too many fields.
 * 503 with Retry-After when it cannot be stored. No other 4xx: some senders give up after a few. A program that knows
 * the secret may also ask for a proof that the relay knows it (`core/hook-proof.ts`).
 */
export class Door {
  readonly counters: Readonly<DoorCounters>;
  /** In the order of the hooks. */
  readonly sources: ReadonlyMap<string, Readonly<HookReport>>;
  readonly #counters = new DoorCounters();
  readonly #deps: DoorDeps;
  readonly #options: Required<Pick<DoorOptions, "maxBodyBytes" | "maxWaiting" | "idempotencyPaths" | "relayId">> &
    Pick<DoorOptions, "sources" | "knowsAllSecrets">;
  readonly #secrets = new HookSecrets();
  readonly #hooks: readonly NamedHook[];
  readonly #room: BodyRoom;
  readonly #decoder: Decoder;
  readonly #refusals: Refusals;
  readonly #networkOf: (request: IncomingMessage) => string;
  #waiting = 0;
  #storing = 0;
  readonly #whenSettled: (() => void)[] = [];

  constructor(deps: DoorDeps, options: DoorOptions) {
    const { maxBodyBytes = 1024 * 1024, maxWaiting = 10_000, idempotencyPaths = [], relayId = deps.newId() } = options;
    const { maxHeldBytes = Math.max(64 * 1024 * 1024, 4 * maxBodyBytes), sources = [], knowsAllSecrets } = options;
    const proxies = options.proxies ?? { trustedProxies: [], behindFly: false };
    this.#deps = deps;
    this.#options = { maxBodyBytes, maxWaiting, idempotencyPaths, relayId, sources, knowsAllSecrets };
    this.#room = new BodyRoom({ all: maxHeldBytes * 1.25, large: maxHeldBytes });
    this.#decoder = new Decoder(deps.decode);
    this.#networkOf = ofRequest(createRequestNetwork(proxies));
    this.counters = this.#counters;
    this.#refusals = new Refusals(this.#counters, deps);
    const hookDeps = { ...deps, addressOf: ofRequest(createClientAddress(proxies)) };
    this.#hooks = sources.map((source) => new NamedHook(source, hookDeps));
    this.sources = new Map(this.#hooks.map(({ name, counters }) => [name, counters]));
    if (options.secret !== undefined) this.#secrets.add(options.secret);
    for (const { name, secrets } of sources) this.setSecretsOf(name, secrets);
  }

  /** For a path that begins with `hookPrefix`. @param given the path after the prefix, not decoded */
  handle(request: IncomingMessage, response: ServerResponse, given: string): void {
    const secret = this.#secrets.find(given);
    if (secret === undefined) this.#meetStranger(request, response, given);
    else if (request.rawHeaders.length > 2 * mostFields) this.#refusals.refuse(response, "too_many_fields");
    else if (request.method === "POST") this.#receive(request, response, secret.source);
    else if (request.method === "GET" && secret.source?.wants200) {
      closeUnlessComplete(response);
      answer(response, 200, '{"data":{}}');
    } else {
      response.setHeader("allow", "POST");
      this.#refusals.refuse(response, "wrong_method");
    }
  }

  /** For a connection that was answered 503 before it was read. */
  noteTurnedAway(): void {
    this.#refusals.counts.note("turned_away");
  }

  /** Requests that are being read or stored. */
  inFlight(): number {
    return this.#waiting;
  }

  /** Answers 503 while the relay is being stopped. The rest of the body is dropped. */
  refuse(response: ServerResponse): void {
    this.#refusals.refuse(response, "stopping");
  }

  /** Resolves when each body that came whole is answered. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#storing === 0) resolve();
      else this.#whenSettled.push(resolve);
    });
  }

  /** Accepts this secret too. The old one stays valid until the relay restarts. */
  addSecret(secret: Secret): void {
    if (this.#secrets.find(secret.reveal()) === undefined) this.#secrets.add(secret);
  }

  setSecretsOf(name: string, secrets: readonly Secret[]): void {
    const source = this.#hooks.find((hook) => hook.name === name);
    if (source !== undefined) this.#secrets.replace(source, secrets);
  }

  /** The key of a request that did not pass its source's check. Undefined without a key. */
  keyOf({ source: name, headers: pairs, body, contentType }: KeyedRefusal): string | undefined {
    const source = this.#options.sources?.find((one) => one.name === name);
    if (source === undefined) return undefined;
    const headers = readKeptHeaders(pairs);
    const signed = claimedKey(source.checks, headers);
    return explicitKey(headers, readRequest(body, contentType), this.#options.idempotencyPaths, source, signed);
  }

  refusals(): DoorRefusalView[] {
    return this.#refusals.counts.view();
  }

  #meetStranger(request: IncomingMessage, response: ServerResponse, given: string): void {
    const { method } = request;
    const question = readQuestion(this.#secrets.bytes(), given);
    if (question?.secret !== undefined && (method === "GET" || method === "POST"))
      this.#prove(request, response, { ...question, secret: question.secret });
    else if (this.#options.knowsAllSecrets?.() === false) this.#refusals.refuse(response, "unknown_yet");
    else this.#refusals.refuse(response, question === undefined ? "unknown_secret" : "unknown_question");
  }

  /** Keeps nothing of the body, so that it takes no room from alerts. */
  #prove(request: IncomingMessage, response: ServerResponse, { nonce, secret }: Required<ProofQuestion>): void {
    const { relayId: relay, maxBodyBytes } = this.#options;
    if (request.method === "GET") {
      closeUnlessComplete(response);
      answer(response, 200, answerQuestion(nonce, secret, { relay }));
      return;
    }
    const [encoding] = codingsOf(request);
    hashRequestBody(request, maxBodyBytes, (arrived) => {
      if (arrived === undefined)
        this.#refusals.refuse(response, "proof_too_large", { detail: this.#whyTooLarge(false) });
      else answer(response, 200, answerQuestion(nonce, secret, { relay, body: { ...arrived, encoding } }));
    });
  }

  #receive(request: IncomingMessage, response: ServerResponse, source: NamedHook | undefined): void {
    const { length: codings } = codingsOf(request);
    if (codings > 1 || (codings === 1 && !isDecoded(request.headers["content-encoding"]))) {
      this.#refusals.refuse(response, "compressed");
      return;
    }
    const isCompressed = codings > 0;
    const place = this.#room.enter({ to: source?.name ?? "", network: () => this.#networkOf(request) }, request);
    const arrival = { request, response, source, place, isCompressed };
    this.#waiting += 1;
    readRequestBody(request, this.#limitOf(isCompressed), { room: this.#room, place }, (reading) => {
      // The request was refused while it was read. Storing it would contradict the answer.
      if (response.headersSent) this.#leave(place);
      else if (reading.kind === "read" && this.#storing < this.#options.maxWaiting)
        void this.#accept(arrival, reading.body);
      else {
        this.#leave(place);
        this.#turnAway(arrival, reading.kind === "read" ? "too_many_waiting" : reading.kind);
      }
    });
  }

  /** Frees what the request held, also when it is not accepted. */
  async #accept(arrival: Arrival, sent: Buffer): Promise<void> {
    const { request, response, source, place } = arrival;
    this.#storing += 1;
    try {
      const body = arrival.isCompressed ? await this.#decode(arrival, sent) : sent;
      if (body === undefined) return;
      const checked = source?.judge?.(request, body, sent);
      if (source !== undefined && checked?.ok === false) {
        await source.keepRefused(request, body, checked);
        this.#refusals.refuse(response, "sender_refused", { detail: checked.detail });
        return;
      }
      const signedKey = checked?.ok === true ? checked.key : undefined;
      const acceptance = await this.#deps.store.acceptRequest(this.#toIncoming(request, source, signedKey, body));
      source?.countAccepted();
      this.#answerAccepted(response, acceptance, source?.wants200);
    } catch (error) {
      const known = error instanceof AppError ? error : undefined;
      const logged = { source: source?.name, error: known?.message ?? errorText(error) };
      this.#refusals.refuse(response, "not_stored", { logged, retryAfterMs: known?.retryAfterMs });
    } finally {
      this.#leave(place);
      this.#storing -= 1;
      if (this.#storing === 0) for (const resolve of this.#whenSettled.splice(0)) resolve();
    }
  }

  /** Undefined when the request was answered instead. */
  async #decode(arrival: Arrival, sent: Buffer): Promise<Buffer | undefined> {
    const result = await this.#decoder.decode(sent, arrival.source?.name ?? "", {
      maxBytes: this.#limitOf(true),
      mayHold: (bytes) => this.#room.grow(arrival.place, sent.length + bytes),
    });
    switch (result.kind) {
      case "read":
        return result.body;
      case "undecodable":
        this.#deps.log.warn("alert.kept_compressed", { bytes: sent.length });
        return sent;
      default:
        this.#turnAway(arrival, result.kind);
        return undefined;
    }
  }

  #toIncoming(
    request: IncomingMessage,
    source: NamedHook | undefined,
    signedKey: string | undefined,
    body: Buffer,
  ): IncomingRequest {
    const { newId, now } = this.#deps;
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
      dedupeKey: explicitKey(request.headers, reading, this.#options.idempotencyPaths, source, signedKey),
      dedupeWindowMs,
    };
  }

  #answerAccepted(response: ServerResponse, { ids, kind }: Acceptance, wants200 = false): void {
    const duplicate = kind === "duplicate";
    if (duplicate) this.#counters.duplicates += 1;
    else this.#counters.alerts += ids.length;
    this.#counters.accepted += 1;
    const text =
      ids.length === 1
        ? `{"data":{"id":"${ids[0]}","duplicate":${duplicate}}}`
        : JSON.stringify({ data: { ids, duplicate } });
    answer(response, wants200 ? 200 : 202, text);
    this.#deps.log.debug("alert.accepted", { ids, duplicate });
  }

  #turnAway({ response, isCompressed }: Arrival, why: NotTaken): void {
    if (why === "aborted") this.#counters.aborted += 1;
    else if (why === "too_large") {
      const logged = { maxBodyBytes: this.#limitOf(isCompressed) };
      this.#refusals.refuse(response, why, { detail: this.#whyTooLarge(isCompressed), logged });
    } else this.#refusals.refuse(response, why);
  }

  #whyTooLarge(isCompressed: boolean): string {
    const what = isCompressed ? "The body or what it is decompressed to" : "The body";
    return `${what} is larger than ${this.#limitOf(isCompressed)} bytes.`;
  }

  #limitOf(isCompressed: boolean): number {
    const { maxBodyBytes } = this.#options;
    return isCompressed ? Math.min(maxBodyBytes, maxDecodedBytes) : maxBodyBytes;
  }

  #leave(place: BodyPlace): void {
    this.#waiting -= 1;
    this.#room.leave(place);
  }
}

type KeyedRefusal = Pick<RefusedDetail, "source" | "headers" | "body" | "contentType">;

interface Arrival {
  request: IncomingMessage;
  response: ServerResponse;
  source: NamedHook | undefined;
  place: BodyPlace;
  isCompressed: boolean;
}

type NotTaken = "aborted" | "too_large" | "no_room" | "too_many_waiting" | "too_many_compressed";

function ofRequest(find: ClientAddressOf): (request: IncomingMessage) => string {
  return ({ headers, socket }) => find(socket.remoteAddress, (header) => headers[header]?.toString());
}
