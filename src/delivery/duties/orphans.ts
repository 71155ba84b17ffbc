import type { Clock } from "../../core/clock.ts";
import type { Log } from "../../core/log.ts";
import type { Store } from "../../core/ports/store.ts";
import type { Destination } from "../../core/rules.ts";
import type { Fallbacks } from "./fallbacks.ts";
import type { Announcer } from "./notices.ts";

export interface OrphanDeps {
  store: Pick<Store, "listOrphans" | "finishDeliveries" | "failOrphans">;
  destinations: Map<string, Destination>;
  fallbacks: Fallbacks;
  announcer: Pick<Announcer, "announceOrphans">;
  clock: Clock;
  log: Log;
}

const batchSize = 400;
const reason = "this destination is no longer configured";

/**
 * At a start: what waits for a destination that the configuration no longer has, renamed perhaps, fails. What stands by
 * is called upon, and people are told, since nobody else will notice.
 */
export async function settleOrphans(deps: OrphanDeps): Promise<void> {
  const { store, fallbacks, clock, log } = deps;
  const known = [...deps.destinations.keys()];
  const counts = new Map<string, number>();
  for (;;) {
    const orphans = await store.listOrphans(known, batchSize);
    if (orphans.length === 0) break;
    const seqs = orphans.map((delivery) => delivery.seq);
    const calls = fallbacks.callsFor(orphans, ({ destination }) => `${destination} is no longer configured`);
    await store.finishDeliveries(seqs, { state: "failed", reason }, clock.now(), calls);
    for (const { destination, purpose } of orphans)
      if (purpose !== "notice") counts.set(destination, (counts.get(destination) ?? 0) + 1);
  }
  // What a killed process was sending there is left.
  await store.failOrphans(known, clock.now());
  for (const [destination, count] of counts) {
    log.warn("delivery.orphans", { destination, count });
    await deps.announcer.announceOrphans(destination, count);
  }
}
