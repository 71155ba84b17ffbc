import type { IncomingMessage } from "node:http";
import type { Now } from "../../core/clock.ts";
import type { NewId } from "../../core/id.ts";
import type { Log } from "../../core/log.ts";
import type { RefusedLog } from "../../core/ports/refused.ts";
import type { Secret } from "../../core/secret.ts";
import type { RefusedReason, Source } from "../../core/source.ts";
import type { KeyedSource } from "../key/explicit-key.ts";
import { readRequest } from "../read/read-request.ts";
import { type CheckResult, createSenderCheck, wants200 } from "./sender-check.ts";

/** A named hook as it is configured. */
export interface DoorSource extends KeyedSource, Pick<Source, "checks"> {
  /** All of them are taken. */
  secrets: readonly Secret[];
}

/** What has come to one hook since the start. */
export interface HookCounters {
  /** Requests that were answered 202. */
  accepted: number;
  /** When the last of them came. */
  lastAcceptedAt?: number;
  /** Requests that did not pass its check, by why. */
  refused: Partial<Record<RefusedReason, number>>;
  lastRefusedAt?: number;
}

/** A named hook at the door. */
export interface NamedHook extends KeyedSource {
  counters: HookCounters;
  /** Whether it is the sender. Absent: whoever knows the secret is. */
  judge?(request: IncomingMessage, body: Buffer, sent: Buffer): CheckResult;
  /** See `ReadySender`. */
  wants200: boolean;
  /**
   * Counts a request that is not the sender's, and keeps it for people as far as a flood allows. Rejects as the store
   * does: then nobody would know of it.
   */
  keepRefused(request: IncomingMessage, body: Buffer, failure: Extract<CheckResult, { ok: false }>): Promise<void>;
}

export interface NamedHookDeps {
  refused: Pick<RefusedLog, "recordRefused">;
  /** Of the client, see `ClientAddressOf`. */
  addressOf(request: IncomingMessage): string;
  keepHeaders(rawHeaders: string[]): string;
  now: Now;
  newId: NewId;
  log: Log;
}

/**
 * Kept at once of one source, and then one in this time: a flood is counted, and neither fills nor wears the disk. Of one
 * address half of it, so that a stranger's flood leaves room for what the sender itself has sent.
 */
const keptAtOnce = 100;
const keptEveryMs = 1_000;
/** Of more than these the first are forgotten, and begin anew. */
const mostAddresses = 100;

/** How much may be kept now: what was not used comes back with the time. */
interface Credit {
  left: number;
  at: number;
}

function refill(credit: Credit, share: number, at: number): void {
  const earned = (Math.max(0, at - credit.at) / keptEveryMs) * share;
  credit.left = Math.min(keptAtOnce * share, credit.left + earned);
  credit.at = at;
}

export function openNamedHook({ name, keyPlaces, checks }: DoorSource, deps: NamedHookDeps): NamedHook {
  const { refused, addressOf, keepHeaders, now, newId, log } = deps;
  const counters: HookCounters = { accepted: 0, refused: {} };
  const check = createSenderCheck(checks);
  const ofAll: Credit = { left: keptAtOnce, at: now() };
  const ofAddresses = new Map<string, Credit>();
  /** Refused since the last that was kept. */
  let unkept = 0;

  function mayKeep(address: string, at: number): boolean {
    const ofOne = ofAddresses.get(address) ?? { left: keptAtOnce / 2, at };
    ofAddresses.set(address, ofOne);
    const [first] = ofAddresses.keys();
    if (ofAddresses.size > mostAddresses && first !== undefined) ofAddresses.delete(first);
    refill(ofAll, 1, at);
    refill(ofOne, 0.5, at);
    if (ofAll.left < 1 || ofOne.left < 1) return false;
    ofAll.left -= 1;
    ofOne.left -= 1;
    return true;
  }

  return {
    name,
    keyPlaces,
    counters,
    wants200: wants200(checks),
    ...(checks.length > 0 && {
      judge: (request, body, sent) =>
        check({ headers: request.headers, body, sent, address: () => addressOf(request), at: now() }),
    }),
    async keepRefused(request, body, { reason, detail }) {
      const at = now();
      const address = addressOf(request);
      counters.refused[reason] = (counters.refused[reason] ?? 0) + 1;
      counters.lastRefusedAt = at;
      if (!mayKeep(address, at)) {
        unkept += 1;
        return;
      }
      const before = unkept;
      unkept = 0;
      const contentType = request.headers["content-type"];
      try {
        await refused.recordRefused({
          id: newId(),
          source: name,
          receivedAt: at,
          reason,
          detail,
          address,
          contentType,
          headers: keepHeaders(request.rawHeaders),
          // A window on a larger block would travel to the store with all of it.
          body: new Uint8Array(body),
          items: readRequest(body, contentType).countAlerts(),
          unkept: before,
        });
      } catch (error) {
        unkept += before + 1;
        throw error;
      }
      log.warn("alert.refused", { reason, source: name, unkept: before });
    },
  };
}
