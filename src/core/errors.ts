const httpStatuses = {
  usage: 400,
  config_invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  unsupported_encoding: 415,
  invalid_request: 400,
  rate_limited: 429,
  store_unavailable: 503,
  store_locked: 503,
  store_too_new: 500,
  relay_stopping: 503,
  upstream_unauthorized: 502,
  upstream_forbidden: 502,
  upstream_not_found: 502,
  upstream_conflict: 502,
  upstream_in_progress: 502,
  upstream_rate_limited: 502,
  upstream_rejected: 502,
  upstream_failed: 502,
  upstream_bad_answer: 502,
  upstream_unreachable: 502,
  relay_unreachable: 502,
  timeout: 500,
  cancelled: 500,
  failed: 500,
  internal: 500,
} as const;
export type ErrorCode = keyof typeof httpStatuses;
export const errorCodes = Object.keys(httpStatuses) as ErrorCode[];

/** An expected failure in words for a person. `message`: what happened and where. `hint`: what to do. Holds no secret. */
export class AppError extends Error {
  readonly hint?: string;
  /** Milliseconds until a new try makes sense, when known. */
  readonly retryAfterMs?: number;

  constructor(
    readonly code: ErrorCode,
    message: string,
    { hint, cause, retryAfterMs }: { hint?: string; cause?: unknown; retryAfterMs?: number } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "AppError";
    this.hint = hint;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Whether the store refuses writes now, but may take them later. */
export function isStoreAway(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "store_unavailable";
}

export function httpStatusOf(code: ErrorCode): (typeof httpStatuses)[ErrorCode] {
  return httpStatuses[code];
}

/** 2 for wrong usage or configuration, 1 for everything else. */
export function exitStatusOf(code: ErrorCode): 1 | 2 {
  return code === "usage" || code === "config_invalid" ? 2 : 1;
}
