import type { DueDelivery } from "../../core/delivery-job.ts";
import type { FallbackCall } from "../../core/ports/dispatch.ts";
import { anyDestination, type Destination, planDeliveries } from "../../core/rules.ts";
import { recipientsOf } from "../../vendors/index.ts";

export type PlanFallbacks = ReturnType<typeof createFallbackPlan>;

type Called = Pick<DueDelivery, "seq" | "destination" | "fallbackTo" | "extras" | "groupName">;

/**
 * What to make at the fallback destinations of deliveries: one call for each that has one which was not called
 * yet. A fallback has no fallback of its own. A notice is left to `Notifier.sendFurther`, which looks at once. Pure.
 * `because`: why, for its readers, in words that follow "because".
 */
export function createFallbackPlan(destinations: ReadonlyMap<string, Destination>) {
  return <D extends Called>(deliveries: D[], because: (delivery: D) => string, now: number): FallbackCall[] =>
    deliveries.flatMap((delivery): FallbackCall[] => {
      const { seq, destination, fallbackTo, extras, groupName } = delivery;
      if (fallbackTo === undefined) return [];
      if (fallbackTo === anyDestination) return [{ deliverySeq: seq, planned: [], againAt: now }];
      const target = destinations.get(fallbackTo);
      if (!target) return [{ deliverySeq: seq, planned: [] }];
      const planned = planDeliveries(target, recipientsOf(target), {
        route: "fallback",
        state: "queued",
        reason: `instead of ${destination}`,
        dueAt: now,
        updates: "auto",
        // It is called since nobody may have seen the first, so it sounds.
        extras: extras && { ...extras, silent: undefined },
        groupName,
        insteadBecause: because(delivery),
      });
      return [{ deliverySeq: seq, planned }];
    });
}
