import type { z } from "zod";
import { AppError, type ErrorCode, errorCodes } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { withTimeLimit } from "../../ground/net/time-limit.ts";
import { readBoundedText } from "../../upstream/bounded-body.ts";
import { describeNetworkFailure } from "../../upstream/network-failure.ts";

/** A secret, and where it was found, for words. */
export interface FoundSecret {
  secret: Secret;
  from: string;
}

export interface RelayTransportOptions {
  /** Where the relay listens, without a trailing slash. */
  url: string;
  /** Absent: only routes that need no login can be called, all others throw `unauthorized`. */
  token?: FoundSecret;
  /** Ends every call. */
  signal: AbortSignal;
  /** For one call, except the event stream. Default 10 s. Milliseconds. */
  timeoutMs?: number;
}

export interface RelayCall {
  path: string;
  /** Default GET. */
  method?: "GET" | "POST" | "DELETE";
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Default true. */
  needsToken?: boolean;
  /** Default: that of the transport. Milliseconds. */
  timeoutMs?: number;
}

export interface RelayAnswer {
  status: number;
  text: string;
}

/** Calls of a relay's HTTP interface. Fails with `AppError` only. */
export interface RelayTransport {
  /** Whatever it answers. */
  ask(call: RelayCall): Promise<RelayAnswer>;
  /** A 2xx answer as `schema` has it; any other is thrown as the relay's refusal. */
  read<T>(call: RelayCall, schema: z.ZodType<T>): Promise<T>;
  /** The body of a 200 answer as it comes, without a time limit; `ending` ends it. */
  open(call: RelayCall, ending: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  refusal(answer: RelayAnswer): AppError;
}

/** A page of 200 alerts with the longest texts is a tenth of this. */
const maxAnswerBytes = 64 * 1024 * 1024;

export function createRelayTransport(options: RelayTransportOptions): RelayTransport {
  const { url, token, signal } = options;

  function request(call: RelayCall, ending: AbortSignal): Promise<Response> {
    const { path, method = "GET", body, headers, needsToken = true } = call;
    return fetch(`${url}${path}`, {
      method,
      headers: {
        ...(needsToken ? { authorization: `Bearer ${requireToken(options)}` } : {}),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      // The token must not follow to another host.
      redirect: "manual",
      signal: ending,
    });
  }

  function toFailure(error: unknown): unknown {
    if (error instanceof AppError) return error;
    if (signal.aborted) return signal.reason;
    return new RelayUnreachable(describeNetworkFailure(error, `no relay answers at ${url}`).message);
  }

  const refusal = ({ status, text }: RelayAnswer) => readRefusal(url, status, text, token?.from);

  async function ask(call: RelayCall): Promise<RelayAnswer> {
    const timeoutMs = call.timeoutMs ?? options.timeoutMs ?? 10_000;
    return withTimeLimit(timeoutMs, signal, async (limit) => {
      try {
        const response = await request(call, limit.signal);
        const text = await readBoundedText(response, maxAnswerBytes);
        if (text === undefined) throw notARelay(url, "its answer is too long");
        return { status: response.status, text };
      } catch (error) {
        throw limit.timedOut() ? tooSlow(url, timeoutMs) : toFailure(error);
      }
    });
  }

  return {
    ask,
    refusal,
    async read(call, schema) {
      const answer = await ask(call);
      if (answer.status < 200 || answer.status > 299) throw refusal(answer);
      const parsed = schema.safeParse(parseJson(answer.text));
      if (parsed.success) return parsed.data;
      throw notARelay(url, `its answer to ${shownPath(call.path)} cannot be read`);
    },
    async open(call, ending) {
      const response = await request(call, ending).catch((error: unknown) => {
        throw toFailure(error);
      });
      if (response.status === 200 && response.body !== null) return response.body;
      throw refusal({ status: response.status, text: (await readBoundedText(response, 64 * 1024)) ?? "" });
    },
  };
}

function requireToken({ url, token }: RelayTransportOptions): string {
  if (token !== undefined) return token.secret.reveal();
  throw new AppError("unauthorized", `no admin token is known for the relay at ${url}`, {
    hint: "set ADMIN_TOKEN, say --token-file FILE, or run this with the relay's DATA_DIR or DATABASE_URL",
  });
}

/** Without a query, and without the secret of the hook. */
function shownPath(path: string): string {
  return path.startsWith("/hooks/") ? "/hooks/…" : (path.split("?")[0] ?? path);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tooSlow(url: string, timeoutMs: number): AppError {
  return new AppError("timeout", `the relay at ${url} did not answer within ${timeoutMs / 1000} s`, {
    hint: "see what its log says, and whether its disk is slow or full",
  });
}

/** Nobody listens there. A class of its own, since the caller may then read the database instead. */
export class RelayUnreachable extends AppError {
  constructor(message: string) {
    super("relay_unreachable", message, {
      hint: "start it with: tocsin serve. If it runs elsewhere, set HOST and PORT as it has them, or say --url",
    });
    this.name = "RelayUnreachable";
  }
}

/** Something answers that does not speak as a relay does. */
function notARelay(url: string, why: string): AppError {
  return new AppError("failed", `what answers at ${url} is no Tocsin relay of this version: ${why}`, {
    hint: "check PORT, HOST or --url; after an upgrade restart the relay",
  });
}

/** It answers, and has no `GET /api/status`. */
export function olderRelay(url: string, lacks: string): AppError {
  return new AppError("failed", `the relay at ${url} is older than this command: it has no ${lacks}`, {
    hint: "restart it with this version, or run the command of its own version; /readyz and /metrics answer meanwhile",
  });
}

/** The relay's own words for what it refuses: `{"error":{"code","message","hint"?}}`. */
function readRefusal(url: string, status: number, text: string, tokenFrom?: string): AppError {
  const refused = readError(text);
  if (refused === undefined && status === 503) return starting(url);
  if (refused === undefined) return notARelay(url, `it answers with ${status}`);
  if (refused.code !== "unauthorized") return new AppError(refused.code, refused.message, { hint: refused.hint });
  const which = tokenFrom === undefined ? "the admin token" : `the admin token of ${tokenFrom}`;
  return new AppError("unauthorized", `the relay at ${url} does not take ${which}`, {
    hint: "run this with the ADMIN_TOKEN, DATA_DIR or DATABASE_URL that the relay runs with, or say --token-file FILE",
  });
}

/** What the listener answers before there are pages. */
function starting(url: string): AppError {
  return new AppError("store_unavailable", `the relay at ${url} is starting`, {
    hint: "try again in a moment",
  });
}

function readError(text: string): { code: ErrorCode; message: string; hint?: string } | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown; hint?: unknown } };
    if (typeof error?.message !== "string") return undefined;
    const code = errorCodes.find((known) => known === error.code) ?? "failed";
    return { code, message: error.message, hint: typeof error.hint === "string" ? error.hint : undefined };
  } catch {
    return undefined;
  }
}
