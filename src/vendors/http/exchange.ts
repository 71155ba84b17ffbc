import type { Socket } from "node:net";
import { Client, errors } from "undici";
import type { CallBounds } from "../../core/ports/channel.ts";
import { networkCodeOf } from "../../ground/net/network-code.ts";
import { isTimeout } from "../../ground/net/time-limit.ts";

export interface OutgoingRequest {
  url: URL;
  method: "GET" | "POST" | "PATCH";
  headers: Record<string, string>;
  body?: string | Uint8Array;
}

export interface Answer {
  status: number;
  /** Names in lower case. A repeated header has its first value. */
  headers: Record<string, string>;
  /** At most the first `maxAnswerBytes`. Less when the rest did not arrive. */
  body: string;
  /** Why the rest of the body did not arrive. Absent: nothing is missing below `maxAnswerBytes`. */
  cutShort?: AnswerFault;
}

/** Why there is no answer. The request may have arrived. */
export interface AnswerFault {
  kind: "timeout" | "aborted" | "lost" | "garbage";
  detail: string;
  /** The code of the network error, e.g. `ECONNRESET`. */
  code?: string;
}

/** `unsent`: nothing of the request has left this machine, so a retry is safe. */
export type Exchange = { answer: Answer } | { fault: AnswerFault } | { unsent: AnswerFault };

export interface ExchangeLimits extends CallBounds {
  /** Milliseconds from the first byte sent to the last byte read. Absent: only the signal ends the call. */
  timeoutMs?: number;
  maxAnswerBytes: number;
}

export type HttpConnection = ReturnType<typeof createHttpConnection>;

/** An idle connection closes this much before the peer's announced close, for requests under way. */
const hintMarginMs = 1_000;
/** The longest idle time, whatever a peer announces: firewalls in between may forget a silent connection. */
const longestIdleMs = 30_000;

/**
 * One open connection over the caller's checked socket, for one request at a time. An idle connection closes after
 * `idleMs` or the peer's `Keep-Alive` time, or when the peer sends unrequested data.
 */
export function createHttpConnection(socket: Socket, origin: string, idleMs: number) {
  let given = false;
  const client = new Client(origin, {
    // `timeoutMs` covers the whole answer instead.
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveTimeoutThreshold: hintMarginMs,
    keepAliveMaxTimeout: longestIdleMs,
    connect: (_options, callback) => {
      if (given) return callback(new Error("the connection is gone"), null);
      given = true;
      // undici is still taking the request in, and would miss an immediate callback.
      queueMicrotask(() => callback(null, socket));
    },
  });

  function destroy(): void {
    socket.destroy();
    // Not awaited: an error of a closed connection does not matter.
    client.destroy().catch(() => undefined);
  }

  return {
    isOpen: () => !socket.destroyed,
    destroy,
    /** Writes one request, reads one answer, repeats nothing. Only a whole, successful answer keeps the connection. */
    exchange: (
      { url, method, headers, body }: OutgoingRequest,
      { timeoutMs, maxAnswerBytes, signal, mayCall }: ExchangeLimits,
    ) =>
      new Promise<Exchange>((settle) => {
        let begun = false;
        let answer: { status: number; headers: Record<string, string> } | undefined;
        const chunks: Buffer[] = [];
        let bytes = 0;

        const finish = (fault?: AnswerFault): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", onAbort);
          // The status decides once it has arrived. The body only explains it.
          if (answer !== undefined) {
            const text = Buffer.concat(chunks).subarray(0, maxAnswerBytes).toString("utf8");
            settle({
              answer: { status: answer.status, headers: answer.headers, body: text, ...(fault && { cutShort: fault }) },
            });
          } else if (fault !== undefined) {
            settle(begun ? { fault } : { unsent: fault });
          }
        };
        const halt = (fault?: AnswerFault): void => {
          finish(fault);
          destroy();
        };
        const onAbort = (): void => {
          halt(
            isTimeout(signal.reason)
              ? { kind: "timeout", detail: "no answer in time" }
              : { kind: "aborted", detail: "stopped while waiting for the answer" },
          );
        };
        const timer =
          timeoutMs === undefined
            ? undefined
            : setTimeout(() => halt({ kind: "timeout", detail: `no answer within ${timeoutMs} ms` }), timeoutMs);
        signal.addEventListener("abort", onAbort, { once: true });
        if (signal.aborted) return onAbort();

        client.dispatch(
          { path: url.pathname + url.search, method, headers, body },
          {
            onRequestStart() {
              // undici writes now, unless its client is destroyed.
              if (mayCall?.() === false) onAbort();
              else begun = true;
            },
            onResponseStart(_controller, status, answered) {
              // 102 and 103 only announce the answer.
              if (status >= 200) answer = { status, headers: firstOfEach(answered) };
            },
            onResponseData(_controller, chunk) {
              chunks.push(chunk);
              bytes += chunk.length;
              if (bytes >= maxAnswerBytes) halt();
            },
            // A refusal may come before the whole request was read. The rest of the request would precede the next one.
            onResponseEnd: () => (answer !== undefined && answer.status >= 300 ? halt() : finish()),
            onResponseError: (_controller, error) => halt(faultOfError(error)),
          },
        );
      }),
  };
}

function firstOfEach(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const first: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    const one = Array.isArray(value) ? value[0] : value;
    if (one !== undefined) first[name] = one;
  }
  return first;
}

function faultOfError(error: Error): AnswerFault {
  const code = networkCodeOf(error);
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError) {
    return { kind: "garbage", detail: "the answer is not HTTP", code };
  }
  return { kind: "lost", detail: "the connection was lost before an answer arrived", code };
}
