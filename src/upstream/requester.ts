import { z } from "zod";
import { type Now, type Random, systemClock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import { exchangeText, type TextAnswer } from "../ground/net/exchange-text.ts";
import { nameNetworkFailure } from "../ground/net/network-code.ts";
import { parseRetryAfter } from "../ground/net/retry-after.ts";
import { isTimeout } from "../ground/net/time-limit.ts";
import { createRedactor } from "../ground/text/redact.ts";
import { describeRefusal, looksLikeHtml } from "./refusal.ts";

/** `sent: "no"`: nothing of the request left this machine. `maybe`: the request may have been carried out. */
export class UpstreamUnreachable extends AppError {
  readonly sent: "no" | "maybe";

  constructor(message: string, options: { sent: "no" | "maybe"; hint?: string }) {
    super("upstream_unreachable", message, { hint: options.hint });
    this.name = "UpstreamUnreachable";
    this.sent = options.sent;
  }
}

interface RetryPolicy {
  attempts: number;
  /** The wait before the second try, doubled for each further one. Default 500 ms. */
  baseMs: number;
}

/** A call ends at a longer `Retry-After` and does not wait for it. */
const longestRetryAfterMs = 60_000;

/** The longest wait for a turn, in units of `restMs`. */
const mostWaiting = 10;

/** A rate limit without a time needs more patience than a short failure. */
const rateLimitFactor = 4;

/** Undefined: give up. Exponential, times a random factor from 0.5 to 1, and never shorter than `Retry-After`. */
function retryWaitMs(
  { code, retryAfterMs = 0 }: AppError,
  attempt: number,
  { attempts = 4, baseMs = 500 }: Partial<RetryPolicy>,
  random: Random,
): number | undefined {
  if (attempt >= attempts || retryAfterMs > longestRetryAfterMs) return undefined;
  const fullMs = baseMs * 2 ** (attempt - 1) * (code === "upstream_rate_limited" ? rateLimitFactor : 1);
  return Math.max(retryAfterMs, Math.round(fullMs * (0.5 + random() / 2)));
}

export interface UpstreamClientOptions {
  /** Base address of the interface, with or without a trailing slash. */
  url: string;
  apiKey: Secret;
  fetch?: typeof fetch;
  now?: Now;
  random?: Random;
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** The limit of one try, from connecting to the last byte. Default 15,000 ms. */
  timeoutMs?: number;
  /** The least time between tries, for all callers together. Default 0 ms. */
  restMs?: number;
  /** Longer answers are refused. Default 32 MiB. */
  maxAnswerBytes?: number;
  retry?: Partial<RetryPolicy>;
  /** Called before each wait, e.g. to show why it takes long. */
  onRetry?: (error: AppError, waitMs: number) => void;
}

export interface CallOptions {
  /** Ends the call. It then throws the signal's reason if that is an `AppError`, otherwise `cancelled`. */
  signal?: AbortSignal;
}

type QueryValue = string | number | readonly string[] | undefined;

interface UpstreamRequest {
  method: "GET" | "PUT" | "POST";
  path: string;
  query?: Record<string, QueryValue>;
  body?: unknown;
  signal?: AbortSignal;
  /** Default: the client's limit. */
  timeoutMs?: number;
}

type UpstreamAnswer = { status: number; body: unknown };

interface Interface {
  name: "alerting" | "pricing";
  keyHeader: "Authorization" | "x-api-key";
  /** The environment variable that hints about the key name. */
  keyName: "ALERTING_API_KEY" | "PRICING_API_KEY";
}

export function createRequester(target: Interface, options: UpstreamClientOptions) {
  const { url, apiKey, now = Date.now, random = Math.random, sleep = systemClock.sleep, onRetry } = options;
  const { timeoutMs = 15_000, maxAnswerBytes = 32 * 1024 * 1024, restMs = 0, retry = {} } = options;
  const baseUrl = url.replace(/(?<!\/)\/+$/, "");

  async function tryOnce(request: UpstreamRequest, where: string): Promise<UpstreamAnswer> {
    const limitMs = request.timeoutMs ?? timeoutMs;
    const answer = await exchangeText(baseUrl + request.path + toQuery(request.query), {
      method: request.method,
      headers: {
        [target.keyHeader]: apiKey.reveal(),
        accept: "application/json",
        "user-agent": "tocsin",
        ...(request.body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: request.body === undefined ? undefined : JSON.stringify(request.body),
      timeoutMs: limitMs,
      maxBytes: maxAnswerBytes,
      signal: request.signal,
      fetch: options.fetch,
    }).catch((error: unknown) => {
      throw describeNetworkFailure(error, where, limitMs);
    });
    return readAnswer(answer, where);
  }

  function readAnswer({ status, headers, text }: TextAnswer, where: string): UpstreamAnswer {
    if (text === undefined) throw badAnswer(where, `more than ${maxAnswerBytes} bytes`);
    const contentType = headers.get("content-type") ?? "";
    if (status < 200 || status > 299) {
      const retryAfterMs = parseRetryAfter(headers.get("retry-after"), now());
      throw describeRefusal({ status, text: hideKey(text), contentType, retryAfterMs }, where, target.keyName);
    }
    if (text.trim() === "") return { status, body: null };
    try {
      return { status, body: JSON.parse(text) };
    } catch {
      throw badAnswer(where, looksLikeHtml({ text, contentType }) ? "an HTML page" : "something that is not JSON");
    }
  }

  /** A service may quote the key. It is hidden before an error is made, so that no stack contains it. */
  const hideKey = createRedactor([apiKey.reveal()], { leastLength: 1 });

  let nextTryAt = 0;
  /** Waits after the callers that wait already. The bound keeps the wait short after a clock is set back. */
  async function rest(signal?: AbortSignal): Promise<void> {
    const at = now();
    const waitMs = Math.min(Math.max(0, nextTryAt - at), mostWaiting * restMs);
    nextTryAt = at + waitMs + restMs;
    if (waitMs > 0) await sleep(waitMs, signal);
  }

  /**
   * Parses the JSON of a 2xx answer, `null` for an empty body. A GET is repeated after no answer, 429 or 5xx, a write
   * only when nothing of it had left. Throws `AppError` with an `upstream_…` code, `UpstreamUnreachable`, or
   * `cancelled`. No error contains the key.
   */
  async function send(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const where = `${target.name}: ${request.method} ${request.path}`;
    for (let attempt = 1; ; attempt += 1) {
      try {
        throwIfCancelled(request.signal);
        if (restMs > 0) await rest(request.signal);
        throwIfCancelled(request.signal);
        return await tryOnce(request, where);
      } catch (thrown) {
        throwIfCancelled(request.signal);
        const error = asExpected(thrown, where);
        const waitMs = mayRepeat(error, request.method) ? retryWaitMs(error, attempt, retry, random) : undefined;
        if (waitMs === undefined) throw error;
        onRetry?.(error, waitMs);
        await sleep(waitMs, request.signal);
      }
    }
  }

  /** A wrong shape throws `upstream_bad_answer` with the expected one. */
  async function read<S extends z.ZodType>(request: UpstreamRequest, schema: S): Promise<z.output<S>> {
    const { body } = await send(request);
    const parsed = schema.safeParse(body);
    if (parsed.success) return parsed.data;
    const where = `${target.name}: ${request.method} ${request.path}`;
    throw badAnswer(where, hideKey(describeShape(parsed.error)));
  }

  return {
    send,
    read,
    /** Reads with GET, and returns the `data` of the answer. */
    readData: async <T>(request: Omit<UpstreamRequest, "method" | "body">, schema: z.ZodType<{ data: T }>) =>
      (await read({ ...request, method: "GET" }, schema)).data,
  };
}

/** A write must not be carried out twice. A second read harms nobody. */
function mayRepeat(error: AppError, method: UpstreamRequest["method"]): boolean {
  if (error instanceof UpstreamUnreachable && error.sent === "no") return true;
  if (method !== "GET") return false;
  return ["upstream_unreachable", "upstream_rate_limited", "upstream_failed"].includes(error.code);
}

/** The interface wants literal commas in lists, and their values encoded. An empty list is left out. */
function toQuery(query: Record<string, QueryValue> = {}): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    const values = Array.isArray(value) ? value : [String(value)];
    parts.push(`${name}=${values.map(encodeURIComponent).join(",")}`);
  }
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

function badAnswer(where: string, got: string): AppError {
  const message = `${where} answered ${got}, where JSON of the documented shape was expected`;
  const hint = "check that the address is that of the service; if it is, the service has changed";
  return new AppError("upstream_bad_answer", message, { hint });
}

/** The first differences in words, e.g. "another shape (data.points[2].value: expected number)". */
function describeShape(error: z.ZodError): string {
  const differences = error.issues.slice(0, 3).map((issue) => {
    const path = issue.path.length === 0 ? "the body" : z.core.toDotPath(issue.path);
    return `${path}: ${issue.message.replace(/^Invalid input: /, "")}`;
  });
  return `another shape (${differences.join("; ")})`;
}

/** The meaning of a rejected `fetch`. The error itself is dropped, as its message may contain headers. */
function describeNetworkFailure(error: unknown, where: string, limitMs: number): UpstreamUnreachable {
  if (isTimeout(error)) {
    const hint = "the service or the way to it is slow; try again";
    return new UpstreamUnreachable(`${where}: no answer within ${limitMs / 1000} s`, { sent: "maybe", hint });
  }
  const { words, ...failure } = nameNetworkFailure(error);
  return new UpstreamUnreachable(`${where}: ${words}`, failure);
}

function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  throw signal.reason instanceof AppError ? signal.reason : new AppError("cancelled", "stopped before it was done");
}

/** Other thrown errors may contain the request with its key, so only their kind is shown. */
function asExpected(thrown: unknown, where: string): AppError {
  if (thrown instanceof AppError) return thrown;
  return new AppError("internal", `${where}: ${thrown instanceof Error ? thrown.name : "unknown failure"}`);
}
