import type { Outcome } from "../../src/core/delivery.ts";

/** Answers of the other side, as channels classify them. */
export const refused: Outcome = { kind: "retry", reason: "connect_failed", detail: "nobody listens there" };
export const lost: Outcome = {
  kind: "ambiguous",
  reason: "connection_lost",
  detail: "the connection was lost",
};
export const kicked: Outcome = {
  kind: "rejected",
  scope: "destination",
  reason: "kicked",
  detail: "bot was kicked",
};
export const refusedRecipient: Outcome = { ...kicked, scope: "recipient" };
export const unauthorized: Outcome = {
  kind: "rejected",
  scope: "account",
  reason: "auth_failed",
  detail: "token refused",
};

export function flood(waitMs: number, scope?: "account"): Outcome {
  return {
    kind: "retry",
    reason: "rate_limited",
    detail: "asked to wait",
    waitMs,
    countsAsAttempt: false,
    scope,
  };
}

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
