/** Every error that a user may see has one of these codes; one table maps them to HTTP and to exit status. */
export const errorCodes = [
  "usage",
  "config_invalid",
  "unauthorized",
  "forbidden",
  "not_found",
  "conflict",
  "too_large",
  "unsupported_encoding",
  "invalid_request",
  "rate_limited",
  "store_unavailable",
  "store_locked",
  "store_too_new",
  "relay_stopping",
  "upstream_unauthorized",
  "upstream_forbidden",
  "upstream_not_found",
  "upstream_conflict",
  "upstream_in_progress",
  "upstream_rate_limited",
  "upstream_rejected",
  "upstream_failed",
  "upstream_bad_answer",
  "upstream_unreachable",
  "relay_unreachable",
  "timeout",
  "cancelled",
  "failed",
  "internal",
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/**
 * An expected failure with words for a person: what happened and where (`message`), and what to do (`hint`). Holds no
 * secret.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly hint?: string;
  /** Milliseconds after which a try makes sense, when that is known. */
  readonly retryAfterMs?: number;

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string; cause?: unknown; retryAfterMs?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.hint = options.hint;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The HTTP status that each code is answered with. */
export function httpStatusOf(code: ErrorCode): 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 502 | 503 {
  switch (code) {
    case "usage":
    case "config_invalid":
    case "invalid_request":
      return 400;
    case "unauthorized":
      return 401;
    case "forbidden":
      return 403;
    case "not_found":
      return 404;
    case "conflict":
      return 409;
    case "too_large":
      return 413;
    case "unsupported_encoding":
      return 415;
    case "rate_limited":
      return 429;
    case "store_unavailable":
    case "store_locked":
    case "relay_stopping":
      return 503;
    case "store_too_new":
    case "timeout":
    case "cancelled":
    case "failed":
    case "internal":
      return 500;
    case "upstream_unauthorized":
    case "upstream_forbidden":
    case "upstream_not_found":
    case "upstream_conflict":
    case "upstream_in_progress":
    case "upstream_rate_limited":
    case "upstream_rejected":
    case "upstream_failed":
    case "upstream_bad_answer":
    case "upstream_unreachable":
    case "relay_unreachable":
      return 502;
  }
}

/** Exit status of a command: 2 for wrong usage or configuration, 1 for everything else that failed. */
export function exitStatusOf(code: ErrorCode): 1 | 2 {
  return code === "usage" || code === "config_invalid" ? 2 : 1;
}
