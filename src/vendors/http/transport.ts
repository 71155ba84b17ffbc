import { setImmediate as nextTurn } from "node:timers/promises";
import type { CallBounds } from "../../core/ports/channel.ts";
import type { AddressPolicy } from "./address-policy.ts";
import {
  type AnswerFault,
  createHttpConnection,
  type Exchange,
  type HttpConnection,
  type OutgoingRequest,
} from "./exchange.ts";
import { type ConnectFault, faultOfAbort, openConnection, type ResolveHost } from "./open-connection.ts";

/** `unsent`: nothing of the request has left this machine, for certain. */
export type Sending = Exclude<Exchange, { unsent: unknown }> | { unsent: ConnectFault };

export type Transport = ReturnType<typeof createTransport>;

export interface TransportOptions {
  policy: AddressPolicy;
  /** Milliseconds for name, TCP and TLS. */
  connectTimeoutMs: number;
  /** Milliseconds from the first byte sent to the last byte read. Absent: only the signal ends the call. */
  answerTimeoutMs?: number;
  /** The part of an answer's body that is read, bytes. Default 64 KiB. */
  maxAnswerBytes?: number;
  /** Milliseconds for an idle connection when the peer announces no time. Default 1,500: gunicorn closes after 2 s. */
  idleMs?: number;
  /** Default `dns.lookup`. */
  resolve?: ResolveHost;
  /** A monotonic clock, milliseconds. Default `performance.now`. */
  elapsed?: () => number;
}

/** The longest use of a connection. A host that has moved is then followed even under constant load. */
const longestUseMs = 60_000;

interface Kept {
  connection: HttpConnection;
  origin: string;
  openedAt: number;
}

/**
 * Keeps one channel's connections for its next requests.
 * | the connection                                       | the request                                            |
 * |------------------------------------------------------|--------------------------------------------------------|
 * | was closed by the peer while it was idle             | goes over another: nothing of it was written           |
 * | breaks once the first byte is written                | is `fault`: nobody knows, and nothing is repeated here |
 * | is closed by the peer as the request is on its way   | the same; idle ones are given up early to make it rare |
 * A connection was opened to a permitted address, and serves only its own origin.
 */
export function createTransport(options: TransportOptions) {
  const { policy, connectTimeoutMs, answerTimeoutMs, maxAnswerBytes = 64 * 1024, idleMs = 1_500, resolve } = options;
  const { elapsed = () => performance.now() } = options;
  const open = new Set<Kept>();
  /** The last used connection is at the end and taken first, so the others age and close after a burst. */
  let idle: Kept[] = [];
  let closed = false;

  function takeIdle(origin: string): Kept | undefined {
    const openedAfter = elapsed() - longestUseMs;
    const kept = idle.findLast(
      (one) => one.origin === origin && one.openedAt >= openedAfter && one.connection.isOpen(),
    );
    idle = idle.filter((one) => one !== kept);
    return kept;
  }

  async function openNew(url: URL, signal: AbortSignal, timeoutMs: number): Promise<Kept | ConnectFault> {
    const opened = await openConnection(url, { policy, timeoutMs, signal, resolve });
    if ("fault" in opened) return opened.fault;
    const { socket } = opened;
    if (signal.aborted || closed) {
      socket.destroy();
      return faultOfAbort(signal);
    }
    const { origin } = url;
    const kept = { connection: createHttpConnection(socket, origin, idleMs), origin, openedAt: elapsed() };
    open.add(kept);
    socket.once("close", () => {
      open.delete(kept);
      idle = idle.filter((one) => one !== kept);
    });
    return kept;
  }

  function giveBack(kept: Kept): void {
    if (kept.connection.isOpen()) idle.push(kept);
  }

  return {
    /** Never throws for faults of the other side. `withinMs` bounds connecting and answer together. */
    async exchange(
      request: OutgoingRequest,
      { signal, mayCall }: CallBounds,
      withinMs = Number.POSITIVE_INFINITY,
    ): Promise<Sending> {
      const endsAt = performance.now() + withinMs;
      for (;;) {
        if (signal.aborted || closed) return { unsent: faultOfAbort(signal) };
        const idling = takeIdle(request.url.origin);
        // A close that arrived during a busy turn is seen only after the next look at the sockets. undici waits for the
        // end of the turn, but not for that look.
        if (idling !== undefined) await nextTurn();
        const kept =
          idling ?? (await openNew(request.url, signal, Math.min(connectTimeoutMs, endsAt - performance.now())));
        if ("kind" in kept) return { unsent: kept };
        const leftMs = endsAt - performance.now();
        if (leftMs <= 0) {
          giveBack(kept);
          return { unsent: noTimeLeft };
        }
        const timeoutMs = leftMs === Number.POSITIVE_INFINITY ? answerTimeoutMs : leftMs;
        const exchange = await kept.connection.exchange(request, { timeoutMs, maxAnswerBytes, signal, mayCall });
        giveBack(kept);
        if (!("unsent" in exchange)) return exchange;
        // The loop ends: each round takes one idle connection, and only as many exist as calls were made at once.
        if (idling === undefined || exchange.unsent.kind !== "lost") return { unsent: unsentFault(exchange.unsent) };
      }
    },
    /** Whether a permitted address accepts connections (TCP and TLS). Undefined when it does. Sends nothing. */
    async tryConnection(url: URL, signal: AbortSignal): Promise<ConnectFault | undefined> {
      const opened = await openConnection(url, { policy, timeoutMs: connectTimeoutMs, signal, resolve });
      if ("fault" in opened) return opened.fault;
      opened.socket.destroy();
      return undefined;
    },
    /** Ends idle connections and calls under way. The calls resolve with their known state. */
    close(): void {
      closed = true;
      for (const { connection } of open) connection.destroy();
    },
  };
}

/** A call without time for its answer is not begun: nobody would know whether it arrived. */
const noTimeLeft: ConnectFault = { kind: "timeout", detail: "no time was left to send anything" };

function unsentFault({ kind, code }: AnswerFault): ConnectFault {
  if (kind === "timeout") return noTimeLeft;
  if (kind === "aborted") return { kind, detail: "stopped before anything was sent" };
  return { kind: "refused", detail: "the connection was closed before anything was sent", code };
}
