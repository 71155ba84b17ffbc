import { type DeliveryState, deliveryStates, standingDeliveries } from "../core/delivery.ts";
import { hasSeveralRecipients } from "../vendors/index.ts";
import type { AlertView } from "./operations.ts";
import type { Tone } from "./panels/panel.ts";

/** Where an alert stands, in words, as exports and commands say it. */

export type Whereabouts = Pick<
  AlertView,
  "routedAt" | "routingError" | "unmatched" | "dropped" | "repeatOf" | "deliveries"
>;

/** The deliveries that say where an alert stands: a resend stands for what it resends, as on the page. */
export function standingOf(alert: Pick<AlertView, "deliveries">): AlertView["deliveries"] {
  return standingDeliveries(alert.deliveries, hasSeveralRecipients);
}

/**
 * Where an alert stands, in one line: `2 sent, 1 failed`, `no route wanted it`, `dropped on purpose`, `not routed
 * yet`. What was resent counts as its resend does, as on the page.
 */
export function summarizeDeliveries(alert: Whereabouts): string {
  return whyNone(alert)?.words ?? [...byState(alert)].map(([state, { length }]) => `${length} ${state}`).join(", ");
}

/** Why an alert has no deliveries; undefined when it has some. */
export function whyNone({
  routedAt,
  routingError,
  unmatched,
  dropped,
  repeatOf,
  deliveries,
}: Omit<Whereabouts, "routedAt" | "deliveries"> & {
  routedAt?: number | null;
  deliveries: readonly unknown[];
}): { words: string; tone: Tone } | undefined {
  if ((routedAt ?? undefined) === undefined) {
    return routingError === undefined
      ? { words: "not routed yet", tone: "busy" }
      : { words: "routing failed", tone: "bad" };
  }
  if (unmatched) return { words: "no route wanted it", tone: "bad" };
  if (deliveries.length > 0) return undefined;
  if (repeatOf !== undefined) return { words: "repeat of an earlier one, not sent", tone: "off" };
  return dropped ? { words: "dropped on purpose", tone: "off" } : { words: "in another message", tone: "good" };
}

/** In this order; states that no delivery has are left out. */
export function byState(
  alert: Pick<AlertView, "deliveries">,
  order: readonly DeliveryState[] = deliveryStates,
): Map<DeliveryState, AlertView["deliveries"]> {
  const standing = standingOf(alert);
  const found = order.flatMap((state) => {
    const those = standing.filter((delivery) => delivery.state === state);
    return those.length === 0 ? [] : [[state, those] as const];
  });
  return new Map(found);
}
