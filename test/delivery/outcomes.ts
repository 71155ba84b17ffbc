import type { Outcome } from "../../src/core/delivery.ts";

type OutcomeOf<K extends Outcome["kind"]> = Extract<Outcome, { kind: K }>;

/** Answers of the other side, as channels classify them. */
export const refused: OutcomeOf<"retry"> = {
  kind: "retry",
  reason: "connect_failed",
  detail: "nobody listens there",
};
export const lost: OutcomeOf<"ambiguous"> = {
  kind: "ambiguous",
  reason: "connection_lost",
  detail: "the connection was lost",
};
export const kicked: OutcomeOf<"rejected"> = {
  kind: "rejected",
  scope: "destination",
  reason: "kicked",
  detail: "bot was kicked",
};
export const refusedRecipient: OutcomeOf<"rejected"> = {
  kind: "rejected",
  scope: "recipient",
  reason: "recipient_refused",
  detail: "550 no such mailbox",
};
export const unauthorized: OutcomeOf<"rejected"> = {
  kind: "rejected",
  scope: "account",
  reason: "auth_failed",
  detail: "token refused",
};

export function flood(waitMs: number, scope?: "account"): OutcomeOf<"retry"> {
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
