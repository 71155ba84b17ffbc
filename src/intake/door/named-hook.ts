import type { IncomingMessage } from "node:http";
import type { Now } from "../../core/clock.ts";
import type { NewId } from "../../core/id.ts";
import type { Log } from "../../core/log.ts";
import type { RefusedLog } from "../../core/ports/refused.ts";
import type { Secret } from "../../core/secret.ts";
import type { RefusedReason, Source } from "../../core/source.ts";
import type { ClientAddressOf } from "../../ground/net/client-address.ts";
import type { KeyedSource } from "../key/explicit-key.ts";
import { readRequest } from "../read/read-request.ts";
import { type CheckResult, createSenderCheck } from "./sender-check.ts";

/** A named hook as it is configured. */
export interface DoorSource extends KeyedSource, Pick<Source, "checks"> {
  secret: Secret;
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
  judge?(request: IncomingMessage, body: Buffer): CheckResult;
  /**
   * Counts a request that is not the sender's, and keeps it for people as far as a flood allows. Rejects as the store
   * does: then nobody would know of it.
   */
  keepRefused(request: IncomingMessage, body: Buffer, failure: Extract<CheckResult, { ok: false }>): Promise<void>;
}

export interface NamedHookDeps {
  refused: Pick<RefusedLog, "recordRefused">;
  addressOf: ClientAddressOf;
  keepHeaders(rawHeaders: string[]): string;
  now: Now;
  newId: NewId;
  log: Log;
}

/** Kept at once of one source, and then one in this time: a flood is counted, and neither fills nor wears the disk. */
const keptAtOnce = 50;
const keptEveryMs = 2_000;

export function openNamedHook({ name, keyPlaces, checks }: DoorSource, deps: NamedHookDeps): NamedHook {
  const { refused, addressOf, keepHeaders, now, newId, log } = deps;
  const counters: HookCounters = { accepted: 0, refused: {} };
  const check = createSenderCheck(checks);
  let credit = keptAtOnce;
  let creditedAt = now();
  /** Refused since the last that was kept. */
  let unkept = 0;

  function addressOfClient({ headers, socket }: IncomingMessage): string {
    return addressOf(socket.remoteAddress, (header) => headers[header]?.toString());
  }

  function mayKeep(at: number): boolean {
    credit = Math.min(keptAtOnce, credit + Math.max(0, at - creditedAt) / keptEveryMs);
    creditedAt = at;
    if (credit < 1) return false;
    credit -= 1;
    return true;
  }

  return {
    name,
    keyPlaces,
    counters,
    ...(checks.length > 0 && {
      judge: (request, body) =>
        check({ headers: request.headers, body, address: () => addressOfClient(request), at: now() }),
    }),
    async keepRefused(request, body, { reason, detail }) {
      const at = now();
      counters.refused[reason] = (counters.refused[reason] ?? 0) + 1;
      counters.lastRefusedAt = at;
      if (!mayKeep(at)) {
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
          address: addressOfClient(request),
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
