import type { Outcome } from "../../core/delivery.ts";
import { parseRetryAfter } from "../../ground/net/retry-after.ts";
import { oneLine } from "../../ground/text/clean.ts";
import { readJson } from "../../ground/text/read-json.ts";
import type { Redact } from "../../ground/text/redact.ts";
import type { Answer, AnswerFault } from "./exchange.ts";
import type { ConnectFault } from "./open-connection.ts";

/**
 * The common meaning of answers. Each vendor adds its own rules:
 * | answer                     | outcome                                                                     |
 * |----------------------------|-----------------------------------------------------------------------------|
 * | 3xx                        | rejected, destination: redirects lead past the check of addresses            |
 * | 400, 422, other 4xx        | rejected, message                                                           |
 * | 401, 403, 407; 410         | rejected, destination                                                       |
 * | 408, 425                   | retry: the server says that it has not taken the request up                  |
 * | 429                        | retry after the requested wait, or 30 s; uses up no try                     |
 * | 503                        | retry after the requested wait                                              |
 * | other 5xx                  | retry where a repeat is safe, else ambiguous: it may have failed afterwards |
 */
export interface AnswerContext {
  /** Shown in details, without the path. */
  host: string;
  nowMs: number;
  redact: Redact;
}

/** Decides the outcome of a vendor's answer. Pure. */
export type Classify = (answer: Answer, context: AnswerContext) => Outcome;

/** The wait after a 429 that names no time. */
const defaultRateLimitWaitMs = 30_000;
/** Without it `Retry-After: 0` would repeat the call at once and forever, since the wait uses up no try. */
const leastRateLimitWaitMs = 500;

/** Cloudflare's codes for a server that it never reached: refused, timed out, unroutable, TLS. */
const neverReached = new Set([521, 522, 523, 525, 526]);

interface OwnWords {
  /** For a 2xx: the message's outcome, or a text that says which answer was expected. */
  taken(answer: Answer, body: Record<string, unknown> | undefined): Outcome | string;
  /** For other answers. Undefined: the common rule applies. */
  refused(heard: Heard): Outcome | undefined;
  /** Whether the receiver recognises a repeat by its id, so a retry after a 5xx is safe. Default false. */
  repeatable?: boolean;
}

interface Heard {
  answer: Answer;
  status: number;
  body: Record<string, unknown> | undefined;
  context: AnswerContext;
  detail: string;
}

/** The vendor's own rules come first, then the common ones. */
export function createClassify({ taken, refused, repeatable = false }: OwnWords): Classify {
  return (answer, context) => {
    const { status } = answer;
    const body = jsonObjectOf(answer);
    if (status >= 200 && status < 300) {
      const outcome = taken(answer, body);
      if (typeof outcome !== "string") return outcome;
      const detail = `${describeAnswer(answer, context)} (expected ${outcome})`;
      return { kind: "ambiguous", reason: "bad_answer", detail };
    }
    const detail = describeAnswer(answer, context);
    return refused({ answer, status, body, context, detail }) ?? classifyRefusal(answer, context, { repeatable });
  };
}

export function classifyRefusal(answer: Answer, context: AnswerContext, options: { repeatable: boolean }): Outcome {
  const { status } = answer;
  const detail = describeAnswer(answer, context);
  const waitMs = parseRetryAfter(answer.headers["retry-after"], context.nowMs);
  if (status >= 300 && status < 400) {
    return rejected("destination", "address_moved", describeRedirect(answer, context));
  }
  switch (status) {
    case 401:
    case 403:
    case 407:
      return rejected("destination", "auth_failed", detail);
    case 408:
    case 425:
      return { kind: "retry", reason: "temporary_refusal", detail, waitMs };
    case 410:
      return rejected("destination", "gone", detail);
    case 413:
      return rejected("message", "too_long", detail);
    case 429:
      return rateLimited(detail, waitMs);
    case 503:
      return { kind: "retry", reason: "server_error", detail, waitMs };
  }
  if (status >= 400 && status < 500) return rejected("message", "message_refused", detail);
  if (status >= 500 && status < 600) {
    const kind = options.repeatable || neverReached.has(status) ? "retry" : "ambiguous";
    return { kind, reason: "server_error", detail, waitMs };
  }
  return { kind: "ambiguous", reason: "bad_answer", detail };
}

type Rejected = Extract<Outcome, { kind: "rejected" }>;

export function rejected(scope: Rejected["scope"], reason: Rejected["reason"], detail: string): Rejected {
  return { kind: "rejected", scope, reason, detail };
}

export function rateLimited(
  detail: string,
  askedMs: number = defaultRateLimitWaitMs,
  scope: "destination" | "account" = "destination",
): Outcome {
  const waitMs = Math.max(leastRateLimitWaitMs, askedMs);
  return { kind: "retry", reason: "rate_limited", detail, waitMs, countsAsAttempt: false, scope };
}

/** Writes `hooks.example.com answered 404: no_service`. */
export function describeAnswer(answer: Answer, context: AnswerContext): string {
  const words = wordsOf(answer, context.redact);
  return `${context.host} answered ${answer.status}${words === "" ? "" : `: ${words}`}`;
}

function describeRedirect(answer: Answer, context: AnswerContext): string {
  const location = answer.headers.location;
  const target = location !== undefined && URL.canParse(location) ? ` to ${new URL(location).origin}` : "";
  return `${context.host} answered ${answer.status}, a redirect${target}. Redirects are not followed: configure the final address`;
}

function wordsOf(answer: Answer, redact: Redact): string {
  const body = jsonObjectOf(answer);
  const nested = (body?.error as { message?: unknown } | null | undefined)?.message;
  const named = [body?.message, body?.error, nested, body?.detail, body?.title].find(
    (word) => typeof word === "string",
  );
  const text = typeof named === "string" ? named : answer.body;
  if (named === undefined && /^\s*</.test(text)) return "an HTML page";
  return oneLine(redact(text), 160);
}

/** The body as an object, for any content type. Undefined for any other body. */
export function jsonObjectOf(answer: Answer): Record<string, unknown> | undefined {
  // Most receivers answer `ok` or nothing. A caught exception would be slower than this look.
  if (!/^\s*\{/.test(answer.body)) return undefined;
  return readJson(answer.body) as Record<string, unknown> | undefined;
}

/** Nothing left this machine, so a retry is always safe. */
export function outcomeOfConnectFault(fault: ConnectFault, host: string): Outcome {
  const detail = `${host}: ${fault.detail}`;
  switch (fault.kind) {
    case "forbidden":
      return rejected("destination", "forbidden_address", `${detail}. If that is meant, name it in allowInternal`);
    case "aborted":
      return { kind: "retry", reason: "process_stopped", detail, countsAsAttempt: false };
    default:
      return { kind: "retry", reason: connectReasons[fault.kind], detail };
  }
}

const connectReasons = {
  dns: "dns_failed",
  refused: "connect_failed",
  tls: "tls_failed",
  timeout: "timeout_before_send",
} as const;

/** The request left, and its result is unknown. */
export function outcomeOfAnswerFault(fault: AnswerFault, host: string): Outcome {
  return { kind: "ambiguous", reason: answerReasons[fault.kind], detail: `${host}: ${fault.detail}` };
}

const answerReasons = {
  timeout: "no_answer",
  aborted: "process_stopped",
  lost: "connection_lost",
  garbage: "bad_answer",
} as const;
