import type { Random } from "../core/clock.ts";

export interface RetryPolicy {
  /** Tries in all. Default 4. */
  attempts: number;
  /** The wait before the second try, doubled for each further one. Default 500 ms. */
  baseMs: number;
  /** A longer `Retry-After` is not waited for but told to the caller. Default 60,000 ms. */
  longestRetryAfterMs: number;
}

export const defaultRetryPolicy: RetryPolicy = { attempts: 4, baseMs: 500, longestRetryAfterMs: 60_000 };

/** With no word from the service about when, a rate limit needs more patience than a hiccup. */
const rateLimitFactor = 4;

/**
 * How long to wait before the next try; `undefined`: give up. The wait is exponential, between half of it and all of it at
 * random, so that clients do not return in step; it is never shorter than `Retry-After`, which is obeyed in full or not at all.
 */
export function retryWaitMs(
  failed: { attempt: number; retryAfterMs?: number; rateLimited: boolean },
  policy: RetryPolicy,
  random: Random,
): number | undefined {
  const { attempt, retryAfterMs = 0, rateLimited } = failed;
  if (attempt >= policy.attempts || retryAfterMs > policy.longestRetryAfterMs) return undefined;
  const fullMs = policy.baseMs * 2 ** (attempt - 1) * (rateLimited ? rateLimitFactor : 1);
  return Math.max(retryAfterMs, Math.round(fullMs * (0.5 + random() / 2)));
}
