import type { Dispatch, HeldDelivery } from "../../core/ports/dispatch.ts";
import type { Destination } from "../../core/rules.ts";
import { groupBy } from "../../ground/group-by.ts";
import type { EngineContext } from "../lane/context.ts";

/** Until when a destination's present quiet hours hold such an alert, and why, in words. */
export type FindHold = (
  destination: string,
  alert: Pick<HeldDelivery, "severity" | "status">,
  now: number,
) => { until: number; words: string } | undefined;

/** The mute that now holds a stored alert: the name that deliveries keep (`keptNameOf`), and the reason in words. */
export type FindMute = (alertId: string, now: number) => Promise<{ keptName: string; reason: string } | undefined>;

export interface QuietHoursDeps extends Pick<EngineContext, "clock" | "log"> {
  store: Pick<Dispatch, "listHeld" | "rescheduleHeld">;
  destinations: Iterable<Destination>;
  findHold: FindHold;
}

/** The writing thread lists or changes these in some 10 ms. Accepting alerts waits no longer. */
const batchSize = 400;

/** For a start: deliveries that changed quiet hours no longer hold go out as a summary. The others wait for the new end. */
export async function followQuietHours(deps: QuietHoursDeps): Promise<void> {
  for (const { name } of deps.destinations) await followAt(name, deps);
}

async function followAt(destination: string, { store, findHold, clock, log }: QuietHoursDeps): Promise<void> {
  const now = clock.now();
  let after: Pick<HeldDelivery, "dueAt" | "seq"> = { dueAt: now, seq: Number.MAX_SAFE_INTEGER };
  let moved = 0;
  for (;;) {
    const held = await store.listHeld(destination, after, batchSize);
    const changes = held.flatMap((delivery) => {
      const { until: dueAt = now, words = "released" } = findHold(destination, delivery, now) ?? {};
      return dueAt === delivery.dueAt ? [] : { id: delivery.id, dueAt, why: `the quiet hours were changed: ${words}` };
    });
    for (const [why, those] of groupBy(changes, (change) => change.why)) {
      const change = { dueAt: those[0]?.dueAt ?? now, why, deliveryIds: those.map(({ id }) => id) };
      moved += await store.rescheduleHeld({ ...change, destination, now, isNamed: false });
    }
    const last = held.at(-1);
    // A delivery that got a later time is listed again, and has the right time then.
    if (last === undefined || held.length < batchSize) break;
    after = last;
  }
  if (moved > 0) log.info("delivery.held_moved", { destination, count: moved });
}
