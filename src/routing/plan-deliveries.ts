import { recipientsOf } from "../core/recipients.ts";
import type { Destination, PlannedDelivery, Route } from "../core/rules.ts";

/** How a delivery to one destination would start. */
export interface Start {
  state: PlannedDelivery["state"];
  dueAt: number;
  /** Said after the reason of the route; empty when there is nothing to say. */
  words: string[];
  muteId?: string;
}

/** One delivery, or for e-mail one for each mailbox, since each is accepted or refused on its own. */
export function planDeliveries(
  route: Route,
  destination: Destination,
  start: Start,
  reason: string,
  owners: Map<string, Route>,
): PlannedDelivery[] {
  const { state, dueAt } = start;
  const { fallback, freshnessMs, updates } = route;
  return recipientsOf(destination).map((recipient) => {
    const delivery: PlannedDelivery = {
      destination: destination.name,
      channel: destination.type,
      recipient,
      route: route.name,
      state,
      reason,
      dueAt,
      updates,
    };
    if (freshnessMs !== undefined) delivery.freshnessMs = freshnessMs;
    if (fallback !== undefined && state !== "muted" && !owners.has(fallback.to)) {
      delivery.fallback = { to: fallback.to, at: dueAt + fallback.afterMs };
    }
    return delivery;
  });
}
