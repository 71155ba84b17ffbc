import { type Alert, drawableThreshold, limitsChange, multiplies } from "../core/alert.ts";
import type { RingEvent } from "../core/ring.ts";
import { parseAmount } from "../ground/numbers/decimal.ts";

export function ringEventOf({ id, receivedAt, facts }: Pick<Alert, "id" | "receivedAt" | "facts">): RingEvent {
  const { severity, status, value, previousValue } = facts;
  const isOfValue = !limitsChange(facts) && !multiplies(facts.unit);
  return {
    id,
    at: receivedAt,
    severity,
    status,
    value: numberOf(value),
    previousValue: numberOf(previousValue),
    threshold: drawableThreshold(facts) ?? (isOfValue ? numberOf(facts.threshold) : undefined),
  };
}

/** Reads the same numbers as messages do: also `24,318,772.10` and `3.2M`. */
function numberOf(sent: string | undefined): number | undefined {
  const amount = sent === undefined ? undefined : parseAmount(sent);
  if (amount === undefined) return undefined;
  const value = Number(`${amount.negative ? "-" : ""}0.${amount.digits || "0"}e${amount.magnitude}`);
  return Number.isFinite(value) ? value : undefined;
}
