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

/** `unsent` is sure: nothing of the request has left this machine. */
export type Sending = Exclude<Exchange, { unsent: unknown }> | { unsent: ConnectFault };

export type Transport = ReturnType<typeof createTransport>;

export interface TransportOptions {
  policy: AddressPolicy;
  /** Milliseconds for name, TCP and TLS. */
  connectTimeoutMs: number;
  /** Milliseconds from the first byte sent to the last byte read. Absent: the signal alone ends it. */
  answerTimeoutMs?: number;
  /** How much of an answer's body is read. Default 64 KiB. */
  maxAnswerBytes?: number;
  /**
   * Milliseconds that a connection is kept idle when the peer does not say how long it would. Default 1,500: the most
   * impatient of the usual servers (gunicorn) closes after 2 s.
   */
  idleMs?: number;
  /** Default `dns.lookup`. */
  resolve?: ResolveHost;
  /** Milliseconds of a clock that nobody sets back. Default `performance.now`. */
  elapsed?: () => number;
}

/**
 * After this a connection takes no call any more, and so closes idly: a host that has moved is followed however much is
 * sent to it.
 */
const longestUseMs = 60_000;

interface Kept {
  connection: HttpConnection;
  origin: string;
  openedAt: number;
}

/**
 * One channel's connections, kept for the next request.
 *
 * | the connection                                       | the request                                            |
 * |------------------------------------------------------|--------------------------------------------------------|
 * | was closed by the peer while it was idle             | goes over another: nothing of it was written           |
 * | breaks once the first byte is written                | is `fault`: nobody knows, and nothing is repeated here |
 * | is closed by the peer as the request is on its way   | the same; idle ones are given up early to make it rare |
 *
 * Each connection was opened to a permitted address, and serves only the origin that it was opened for.
 */
export function createTransport(options: TransportOptions) {
  const { policy, connectTimeoutMs, answerTimeoutMs, maxAnswerBytes = 64 * 1024, idleMs = 1_500, resolve } = options;
  const { elapsed = () => performance.now() } = options;
  const open = new Set<Kept>();
  /** The one used last is at the end, and taken first: so the others grow old and are closed after a burst. */
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
    /**
     * One request, one answer. Never throws for what the network or the other side does.
     * @param withinMs bounds connecting and the answer together, in place of `answerTimeoutMs`.
     */
    async exchange(
      request: OutgoingRequest,
      { signal, mayCall }: CallBounds,
      withinMs = Number.POSITIVE_INFINITY,
    ): Promise<Sending> {
      const endsAt = performance.now() + withinMs;
      for (;;) {
        if (signal.aborted || closed) return { unsent: faultOfAbort(signal) };
        const idling = takeIdle(request.url.origin);
        // undici waits for the end of this turn of the event loop before it uses an idle connection again, but not for the next
        // look at the sockets: only after that is a close seen which arrived while this turn was busy.
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
        // Ends: each round takes one that had idled, and they are never more than there were calls at once.
        if (idling === undefined || exchange.unsent.kind !== "lost") return { unsent: unsentFault(exchange.unsent) };
      }
    },
    /** Whether a permitted address takes connections (TCP and TLS); undefined when it does. Sends nothing. */
    async tryConnection(url: URL, signal: AbortSignal): Promise<ConnectFault | undefined> {
      const opened = await openConnection(url, { policy, timeoutMs: connectTimeoutMs, signal, resolve });
      if ("fault" in opened) return opened.fault;
      opened.socket.destroy();
      return undefined;
    },
    /** Ends idle connections at once, and what is under way: that resolves with what is known of it. */
    close(): void {
      closed = true;
      for (const { connection } of open) connection.destroy();
    },
  };
}

/** A call that could not be answered in time is not begun: it would only leave open whether it arrived. */
const noTimeLeft: ConnectFault = { kind: "timeout", detail: "no time was left to send anything" };

/** The connection was there, and ended before the first byte was written. */
function unsentFault({ kind, code }: AnswerFault): ConnectFault {
  if (kind === "timeout") return noTimeLeft;
  if (kind === "aborted") return { kind, detail: "stopped before anything was sent" };
  return { kind: "refused", detail: "the connection was closed before anything was sent", code };
}
