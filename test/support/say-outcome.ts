import type { Outcome } from "../../src/core/delivery.ts";

/** An outcome in one line: what is refused, why; of a retry how long to wait ("-" where nobody says), whether it was no attempt. */
export function sayOutcome(outcome: Outcome | undefined): string {
  switch (outcome?.kind) {
    case "rejected":
      return `rejected ${outcome.scope} ${outcome.reason}`;
    case "retry": {
      const { reason, waitMs = "-", countsAsAttempt, scope } = outcome;
      return [
        "retry",
        reason,
        waitMs,
        ...(countsAsAttempt === false ? ["free"] : []),
        ...(scope === "account" ? [scope] : []),
      ].join(" ");
    }
    case "ambiguous":
      return `ambiguous ${outcome.reason}`;
    default:
      return String(outcome?.kind);
  }
}
