import { type DeliveryState, deliveryStates, standingDeliveries } from "../../core/delivery.ts";
import type { AlertOnWire } from "../relay/wire.ts";

/**
 * Where an alert stands, in one line: `2 sent, 1 failed`, `no route wanted it`, `dropped on purpose`, `not routed yet`. What
 * was resent counts as its resend does, as on the page.
 */
export function summarizeDeliveries(
  alert: Pick<AlertOnWire, "routedAt" | "routingError" | "unmatched" | "dropped" | "deliveries">,
): string {
  if (alert.routedAt === null) return alert.routingError === undefined ? "not routed yet" : "routing failed";
  if (alert.unmatched) return "no route wanted it";
  if (alert.dropped && alert.deliveries.length === 0) return "dropped on purpose";
  if (alert.deliveries.length === 0) return "in another message";
  const counts = new Map<DeliveryState, number>();
  for (const { state } of standingDeliveries(alert.deliveries))
    counts.set(state, (counts.get(state) ?? 0) + 1);
  return deliveryStates
    .flatMap((state) => (counts.has(state) ? [`${counts.get(state)} ${state}`] : []))
    .join(", ");
}
