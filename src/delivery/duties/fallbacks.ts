import type { Clock } from "../../core/clock.ts";
import type { DueDelivery } from "../../core/delivery-job.ts";
import type { FallbackCall } from "../../core/ports/dispatch.ts";
import type { Destination, PlannedDelivery } from "../../core/rules.ts";
import { recipientsOf } from "../../vendors/index.ts";

/** Makes the deliveries at a fallback destination. A fallback has no fallback of its own. */
export interface Fallbacks {
  /**
   * One call for each of these deliveries that has a fallback which was not called yet.
   * @param because why, for its readers, in words that follow "because"
   */
  callsFor<D extends Pick<DueDelivery, "seq" | "destination" | "fallbackTo">>(
    deliveries: D[],
    because: (delivery: D) => string,
  ): FallbackCall[];
}

export function createFallbacks(deps: { destinations: Map<string, Destination>; clock: Clock }): Fallbacks {
  function plan(to: string, insteadOf: string, insteadBecause: string): PlannedDelivery[] {
    const destination = deps.destinations.get(to);
    if (!destination) return [];
    return recipientsOf(destination).map((recipient) => ({
      destination: to,
      channel: destination.type,
      recipient,
      route: "fallback",
      state: "queued",
      reason: `instead of ${insteadOf}`,
      dueAt: deps.clock.now(),
      updates: "auto",
      insteadBecause,
    }));
  }

  return {
    callsFor: (deliveries, because) =>
      deliveries.flatMap((delivery) => {
        const { seq, destination, fallbackTo } = delivery;
        if (fallbackTo === undefined) return [];
        return [{ deliverySeq: seq, planned: plan(fallbackTo, destination, because(delivery)) }];
      }),
  };
}
