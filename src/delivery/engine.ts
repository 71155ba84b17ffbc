import type { Clock } from "../core/clock.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { Channel, Random } from "../core/ports.ts";
import { recipientsOf } from "../core/recipients.ts";
import type { Destination, PlannedDelivery } from "../core/rules.ts";
import type { DestinationStatus, Store } from "../core/store.ts";
import type { Rendering } from "../core/telling.ts";
import { createComposer } from "./compose.ts";
import { createFloodWatch } from "./flood-watch.ts";
import { createHealthKeeper, type HealthKeeper } from "./health-keeper.ts";
import { createLane, type Lane } from "./lane.ts";
import { createAnnouncer } from "./notices.ts";
import { createPacer } from "./pacing.ts";
import { settleAbandoned } from "./recovery.ts";
import { createTeller } from "./teller.ts";

/** One destination with its way out. */
export interface Outlet {
  destination: Destination;
  channel: Channel;
}

export interface EngineDeps {
  store: Store;
  outlets: Outlet[];
  rendering: Rendering;
  settings: DeliverySettings;
  clock: Clock;
  newId: NewId;
  random: Random;
  log: Log;
  publicUrl?: string;
}

/**
 * The delivery engine: takes what is due from the store, destination by destination, until it is stopped. The store is
 * the truth; a nudge only saves the wait for the next look.
 */
export interface Engine {
  /** Looks at these destinations now. Unknown names are ignored. */
  nudge(destinations: Iterable<string>): void;
  statuses(): { destination: Destination; own: DestinationStatus; account?: DestinationStatus }[];
  /** When the engine last went round; a readiness check compares it with the clock. */
  lastTurnAt(): number;
  /** Stops claiming, waits for calls in flight up to `deadlineMs`, then aborts and records them. */
  stop(deadlineMs: number): Promise<void>;
}

/** How often leases, fallbacks and the search index are looked at. */
const sweepMs = 1_000;
/** Small, since the index is written by the thread that accepts alerts. */
const indexBatch = 50;
const indexBatchesPerSweep = 40;

export async function startEngine(deps: EngineDeps): Promise<Engine> {
  const { store, clock, settings, log, newId, random } = deps;
  const destinations = new Map(deps.outlets.map(({ destination }) => [destination.name, destination]));
  const pacer = createPacer(await store.loadPaces());
  const floods = createFloodWatch();
  const composer = createComposer({ rendering: deps.rendering, log, publicUrl: deps.publicUrl });
  const lanes = new Map<string, Lane>();
  const nudgeOne = (name: string) => lanes.get(name)?.nudge();
  const pending = new Set<Promise<void>>();

  const health: HealthKeeper = createHealthKeeper(
    {
      store,
      clock,
      settings,
      log,
      onChange(change) {
        const announcing = announcer
          .announce(change)
          .catch((error: unknown) => log.error("notice.failed", { error: String(error).slice(0, 300) }))
          .finally(() => pending.delete(announcing));
        pending.add(announcing);
        for (const lane of lanes.values()) lane.nudge();
      },
    },
    await store.loadStatuses(),
  );
  const announcer = createAnnouncer({
    store,
    health,
    clock,
    newId,
    log,
    destinations: [...destinations.values()],
    nudge: nudgeOne,
  });

  function planFallback(to: string, insteadOf: string): PlannedDelivery[] {
    const destination = destinations.get(to);
    if (!destination) return [];
    return recipientsOf(destination).map((recipient) => ({
      destination: to,
      channel: destination.type,
      recipient,
      route: "fallback",
      state: "queued",
      reason: `instead of ${insteadOf}`,
      dueAt: clock.now(),
      updates: "auto",
    }));
  }

  await store.failOrphans([...destinations.keys()], clock.now());
  await settleAbandoned({ store, destinations, settings, clock, random, planFallback, log }, true);
  await health.probeSoon();

  for (const { destination, channel } of deps.outlets) {
    const shared = { store, destination, channel, pacer, health, settings, clock, log, planFallback };
    const teller = createTeller({ ...shared, composer, floods, random });
    lanes.set(destination.name, createLane({ ...shared, teller, newId }));
  }

  const claiming = new AbortController();
  const calls = new AbortController();
  let lastTurnAt = clock.now();

  async function sweep(): Promise<void> {
    const now = clock.now();
    await settleAbandoned({ store, destinations, settings, clock, random, planFallback, log }, false);
    const due = await store.listFallbacksDue(now);
    if (due.length > 0) {
      const fallbacks = due.map((delivery) => ({
        deliverySeq: delivery.seq,
        planned: planFallback(delivery.fallbackTo ?? "", delivery.destination),
      }));
      await store.callFallbacks(fallbacks, now);
      for (const { fallbackTo } of due) if (fallbackTo !== undefined) nudgeOne(fallbackTo);
    }
    for (let batch = 0; batch < indexBatchesPerSweep && !claiming.signal.aborted; batch += 1) {
      if ((await store.indexAlerts(indexBatch)) < indexBatch) break;
    }
    lastTurnAt = clock.now();
  }

  async function sweepUntilStopped(): Promise<void> {
    while (!claiming.signal.aborted) {
      await sweep().catch((error: unknown) =>
        log.error("engine.sweep_failed", { error: String(error).slice(0, 300) }),
      );
      await clock.sleep(sweepMs, claiming.signal);
    }
  }

  const running = [
    sweepUntilStopped(),
    ...[...lanes.values()].map((lane) => lane.run({ claiming: claiming.signal, calls: calls.signal })),
  ];

  return {
    nudge(names) {
      for (const name of names) nudgeOne(name);
    },
    statuses: () =>
      [...destinations.values()].map((destination) => ({
        destination,
        own: health.of(destination),
        account: health.ofAccount(destination),
      })),
    lastTurnAt: () => lastTurnAt,
    async stop(deadlineMs) {
      claiming.abort();
      const ended = new AbortController();
      const all = Promise.all(running).then(() => ended.abort());
      await Promise.race([all, clock.sleep(deadlineMs, ended.signal)]);
      calls.abort();
      await all;
      await Promise.all(pending);
    },
  };
}
