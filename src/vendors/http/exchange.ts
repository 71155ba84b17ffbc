import type { Socket } from "node:net";
import { Client, type Dispatcher, errors } from "undici";
import { isTimeout } from "../../ground/net/time-limit.ts";

export interface OutgoingRequest {
  url: URL;
  method: "GET" | "POST" | "PATCH";
  headers: Record<string, string>;
  body?: string;
}

export interface Answer {
  status: number;
  /** Names in lower case; of repeated ones the first. */
  headers: Record<string, string>;
  /** At most the first 64 KiB; what arrived of it, when the rest did not. */
  body: string;
}

/** Why there is no answer. The request, or a part of it, may have arrived. */
export interface AnswerFault {
  kind: "timeout" | "aborted" | "lost" | "garbage";
  detail: string;
}

export type Exchange = { answer: Answer } | { fault: AnswerFault };

const maxAnswerBytes = 64 * 1024;

/**
 * Writes one request to an open connection and reads one answer, then closes. Each request has its own connection:
 * one that idled may have been closed by the other side, and nobody could know whether the request was read.
 * No redirect is followed and nothing is repeated.
 */
export async function exchangeOver(
  socket: Socket,
  request: OutgoingRequest,
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<Exchange> {
  let stop: AnswerFault | undefined;
  const controller = new AbortController();
  const halt = (fault: AnswerFault): void => {
    stop ??= fault;
    controller.abort();
  };
  const onAbort = (): void => {
    halt(
      isTimeout(options.signal.reason)
        ? { kind: "timeout", detail: "no answer in time" }
        : { kind: "aborted", detail: "stopped while waiting for the answer" },
    );
  };
  const timer = setTimeout(() => {
    halt({ kind: "timeout", detail: `no answer within ${options.timeoutMs} ms` });
  }, options.timeoutMs);
  options.signal.addEventListener("abort", onAbort, { once: true });

  // undici looks at a signal only once the request is being written; this ends the wait in every case.
  const halted = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener("abort", () => reject(new Error("halted")), { once: true });
  });

  const client = clientOver(socket, request.url);
  try {
    const responding = client.request({
      path: request.url.pathname + request.url.search,
      method: request.method,
      headers: request.headers,
      body: request.body,
      reset: true,
      signal: controller.signal,
    });
    const response = await Promise.race([responding, halted]);
    return { answer: await readAnswer(response) };
  } catch (error) {
    return { fault: stop ?? faultOfError(error) };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", onAbort);
    socket.destroy();
    // Not awaited: what it says of a connection that is gone concerns nobody any more.
    client.destroy().catch(() => undefined);
  }
}

function clientOver(socket: Socket, url: URL): Client {
  let given = false;
  return new Client(url.origin, {
    // Time-outs are ours, one for the whole answer.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_options, callback) => {
      if (given) return callback(new Error("one connection, one request"), null);
      given = true;
      // Called back at once, undici would not notice: it is still busy with taking the request in.
      queueMicrotask(() => callback(null, socket));
    },
  });
}

async function readAnswer(response: Dispatcher.ResponseData): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response.body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= maxAnswerBytes) break;
    }
  } catch {
    // The status has arrived and decides; the body only explains it.
  }
  return {
    status: response.statusCode,
    headers: firstOfEach(response.headers),
    body: Buffer.concat(chunks).subarray(0, maxAnswerBytes).toString("utf8"),
  };
}

function firstOfEach(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const first: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const one = Array.isArray(value) ? value[0] : value;
    if (one !== undefined) first[name.toLowerCase()] = one;
  }
  return first;
}

function faultOfError(error: unknown): AnswerFault {
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError) {
    return { kind: "garbage", detail: "the answer is not HTTP" };
  }
  return { kind: "lost", detail: "the connection was lost before an answer came" };
}
