import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Now } from "../../core/clock.ts";
import type { NewId } from "../../core/id.ts";
import type { Log } from "../../core/log.ts";
import type { RefusedLog } from "../../core/ports/refused.ts";
import type { HookReport } from "../../core/ports/relays.ts";
import type { Secret } from "../../core/secret.ts";
import type { Source } from "../../core/source.ts";
import type { KeyedSource } from "../key/explicit-key.ts";
import { readRequest } from "../read/read-request.ts";
import { keepHeaders } from "./request-parts.ts";
import { type CheckResult, createSenderCheck, wants200 } from "./sender-check.ts";

export interface DoorSource extends KeyedSource, Pick<Source, "checks"> {
  /** Each is accepted. */
  secrets: readonly Secret[];
}

export interface NamedHookDeps {
  refused: Pick<RefusedLog, "recordRefused">;
  /** The client's address, see `ClientAddressOf`. */
  addressOf(request: IncomingMessage): string;
  now: Now;
  newId: NewId;
  log: Log;
}

/** Refused requests that a source keeps at once; then one in each interval. One address may use half. */
const keptAtOnce = 100;
const keptEveryMs = 1_000;
/** With more addresses, the oldest are forgotten. */
const mostAddresses = 100;

/** How many requests may be kept now. Credit comes back over time. */
class Credit {
  readonly #share: number;
  #left: number;
  #at: number;

  constructor(share: number, at: number) {
    this.#share = share;
    this.#left = keptAtOnce * share;
    this.#at = at;
  }

  at(at: number): number {
    const earned = (Math.max(0, at - this.#at) / keptEveryMs) * this.#share;
    this.#left = Math.min(keptAtOnce * this.#share, this.#left + earned);
    this.#at = at;
    return this.#left;
  }

  take(): void {
    this.#left -= 1;
  }
}

export class NamedHook implements KeyedSource {
  readonly name: string;
  readonly keyPlaces: KeyedSource["keyPlaces"];
  readonly counters: HookReport = { accepted: 0, refused: {} };
  /** See `ReadySender`. */
  readonly wants200: boolean;
  /** Absent: every request with the secret is the sender's. */
  readonly judge?: (request: IncomingMessage, body: Buffer, sent: Buffer) => CheckResult;
  readonly #deps: NamedHookDeps;
  readonly #ofAll: Credit;
  readonly #ofAddresses = new Map<string, Credit>();
  /** Since the last kept one. */
  #unkept = 0;

  constructor({ name, keyPlaces, checks }: DoorSource, deps: NamedHookDeps) {
    const { now, addressOf } = deps;
    this.name = name;
    this.keyPlaces = keyPlaces;
    this.wants200 = wants200(checks);
    this.#deps = deps;
    this.#ofAll = new Credit(1, now());
    if (checks.length === 0) return;
    const check = createSenderCheck(checks);
    this.judge = (request, body, sent) =>
      check({ headers: request.headers, body, sent, address: () => addressOf(request), at: now() });
  }

  countAccepted(): void {
    this.counters.accepted += 1;
    this.counters.lastAcceptedAt = this.#deps.now();
  }

  /** Counts a refused request, and keeps it as far as a flood allows. Rejects as the store does, for a 503. */
  async keepRefused(request: IncomingMessage, body: Buffer, { reason, detail }: Failure): Promise<void> {
    const { refused, addressOf, now, newId, log } = this.#deps;
    const at = now();
    const address = addressOf(request);
    this.counters.refused[reason] = (this.counters.refused[reason] ?? 0) + 1;
    this.counters.lastRefusedAt = at;
    if (!this.#mayKeep(address, at)) {
      this.#unkept += 1;
      return;
    }
    const before = this.#unkept;
    this.#unkept = 0;
    const contentType = request.headers["content-type"];
    try {
      await refused.recordRefused({
        id: newId(),
        source: this.name,
        receivedAt: at,
        reason,
        detail,
        address,
        contentType,
        headers: keepHeaders(request.rawHeaders),
        // A copy: a window on a larger block would send the whole block to the store.
        body: new Uint8Array(body),
        items: readRequest(body, contentType).countAlerts(),
        unkept: before,
      });
    } catch (error) {
      this.#unkept += before + 1;
      throw error;
    }
    log.warn("alert.refused", { reason, source: this.name, unkept: before });
  }

  #mayKeep(address: string, at: number): boolean {
    const ofOne = this.#ofAddresses.get(address) ?? new Credit(0.5, at);
    this.#ofAddresses.set(address, ofOne);
    const [first] = this.#ofAddresses.keys();
    if (this.#ofAddresses.size > mostAddresses && first !== undefined) this.#ofAddresses.delete(first);
    if (this.#ofAll.at(at) < 1 || ofOne.at(at) < 1) return false;
    this.#ofAll.take();
    ofOne.take();
    return true;
  }
}

type Failure = Extract<CheckResult, { ok: false }>;

interface HookSecret {
  bytes: Buffer;
  /** Absent: the account's hook. */
  source?: NamedHook;
}

export class HookSecrets {
  #all: HookSecret[] = [];

  add(secret: Secret, source?: NamedHook): void {
    this.#all.push({ bytes: Buffer.from(secret.reveal()), source });
  }

  replace(source: NamedHook, secrets: readonly Secret[]): void {
    this.#all = this.#all.filter((one) => one.source !== source);
    for (const secret of secrets) this.add(secret, source);
  }

  bytes(): Buffer[] {
    return this.#all.map(({ bytes }) => bytes);
  }

  /** The time may show a secret's length, which is the same for all generated ones, but not the place of a difference. */
  find(given: string): HookSecret | undefined {
    const bytes = Buffer.from(given);
    let found: HookSecret | undefined;
    for (const one of this.#all) {
      if (one.bytes.length === bytes.length && timingSafeEqual(one.bytes, bytes)) found = one;
    }
    return found;
  }
}
