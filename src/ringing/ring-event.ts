import { type Alert, drawableThreshold, toNumber } from "../core/alert.ts";
import type { RingEvent } from "../core/ring.ts";

/** What the rule sees of an alert. */
export function ringEventOf({ id, receivedAt, facts }: Pick<Alert, "id" | "receivedAt" | "facts">): RingEvent {
  const { severity, status, value, previousValue } = facts;
  return {
    id,
    at: receivedAt,
    severity,
    status,
    value: toNumber(value) ?? undefined,
    previousValue: toNumber(previousValue) ?? undefined,
    threshold: drawableThreshold(facts),
  };
}
