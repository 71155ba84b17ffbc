import type { DueDelivery } from "../../core/delivery-job.ts";
import type { FallbackCall } from "../../core/ports/dispatch.ts";
import { anyDestination, type Destination, planDeliveries } from "../../core/rules.ts";
import { recipientsOf } from "../../vendors/index.ts";

export type PlanFallbacks = ReturnType<typeof createFallbackPlan>;

type Called = Pick<DueDelivery, "seq" | "destination" | "fallbackTo" | "extras" | "groupName">;

/**
 * The deliveries to make at fallback destinations. A fallback has no fallback. For notices see `Notifier.sendFurther`. Pure.
 * @param because the reason for the fallback's readers, in words that follow "because"
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
        // Nobody may have seen the first message, so the fallback makes a sound.
        extras: extras && { ...extras, silent: undefined },
        groupName,
        insteadBecause: because(delivery),
      });
      return [{ deliverySeq: seq, planned }];
    });
}
