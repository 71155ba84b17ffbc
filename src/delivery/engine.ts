import { setMaxListeners } from "node:events";
import type { Clock, Random } from "../core/clock.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { DestinationState } from "../core/destination-status.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { BodyReader } from "../core/ports/body-reader.ts";
import type { Channel } from "../core/ports/channel.ts";
import type { Store } from "../core/ports/store.ts";
import type { Destination } from "../core/rules.ts";
import { createFallbacks } from "./duties/fallbacks.ts";
import { type FindHold, followQuietHours } from "./duties/follow-quiet-hours.ts";
import { createAnnouncer } from "./duties/notices.ts";
import { settleOrphans } from "./duties/orphans.ts";
import { createProber, type Prober, type Trial } from "./duties/prober.ts";
import { settleAbandoned } from "./duties/recovery.ts";
import { createSweeper } from "./duties/sweep.ts";
import type { Composer } from "./lane/compose.ts";
import { createLane, type Lane } from "./lane/lane.ts";
import { createLaneQueue } from "./lane/lane-queue.ts";
import { createPayloadReader, noPayloads } from "./lane/payloads.ts";
import { createTeller } from "./lane/teller.ts";
import { createFloodWatch } from "./memory/flood-watch.ts";
import { createHealthKeeper } from "./memory/health-keeper.ts";
import { createPacer } from "./memory/pacing.ts";
import { createUndeliveredWatch } from "./memory/undelivered.ts";

/** One destination with its way out. */
export interface Outlet {
  destination: Destination;
  channel: Channel;
}

export interface EngineDeps {
  store: Store;
  outlets: Outlet[];
  composer: Composer;
  /** Reads a stored body again, for the payload of outgoing webhooks. Absent: they carry the facts alone. */
  reader?: BodyReader;
  /** What quiet hours hold now. Absent: there are none, and what was held is released. */
  findHold?: FindHold;
  settings: DeliverySettings;
  clock: Clock;
  newId: NewId;
  random: Random;
  log: Log;
  publicUrl?: string;
}

/**
 * The delivery engine: takes what is due from the store, destination by destination, until it is stopped. The store is
 * the truth; a signal only saves the wait for the next look.
 */
export interface Engine {
  /** Looks at these destinations now. Unknown names are ignored. */
  wake(destinations: Iterable<string>): void;
  /**
   * Probes a destination at once, whatever its health; what waits flows when the answer is a yes. Undefined for an unknown
   * name. Rejects as the store does.
   */
  tryNow(destination: string): Promise<Trial | undefined>;
  statuses(): DestinationState[];
  /** Calls since the start that were refused for what the message is, by destination: our rendering or its reading is at fault. */
  refusedMessages(): ReadonlyMap<string, number>;
  /** When the engine last went round; a readiness check compares it with the clock. */
  lastTurnAt(): number;
  /** Stops claiming, waits for calls in flight up to `deadlineMs`, then aborts and records them. */
  stop(deadlineMs: number): Promise<void>;
}

export async function startEngine(deps: EngineDeps): Promise<Engine> {
  const { store, clock, settings, composer, log, newId, random, reader } = deps;
  const destinations = new Map(deps.outlets.map(({ destination }) => [destination.name, destination]));
  const lanes = new Map<string, Lane>();
  const probers = new Map<string, Prober>();
  const refusedMessages = new Map<string, number>();
  const wake = (name: string) => lanes.get(name)?.wake();

  const startedAt = clock.now();
  const pacer = createPacer(await store.loadPaces());
  const fallbacks = createFallbacks({ destinations, clock });
  const statuses = await store.loadStatuses();
  const health = createHealthKeeper(
    {
      store,
      clock,
      settings,
      log,
      // All of them, since they may share the account.
      onChange() {
        for (const lane of lanes.values()) lane.wake();
      },
    },
    statuses,
  );
  const undelivered = createUndeliveredWatch(statuses, health.noteUndelivered);
  const announcer = createAnnouncer({
    store,
    health,
    undelivered,
    clock,
    newId,
    log,
    destinations: [...destinations.values()],
    publicUrl: deps.publicUrl,
  });
  await settleOrphans({ store, destinations, fallbacks, announcer, clock, log });
  const recovery = { store, destinations, undelivered, settings, clock, random, log };
  await settleAbandoned(recovery, true);
  const findHold = deps.findHold ?? (() => undefined);
  await followQuietHours({ store, destinations: destinations.values(), findHold, clock, log });
  health.probeSoon();

  const shared = {
    store,
    pacer,
    floods: createFloodWatch(),
    health,
    fallbacks,
    undelivered,
    settings,
    clock,
    log,
    startedAt,
  };
  const payloads = reader ? createPayloadReader({ store, reader, log }) : noPayloads;
  for (const { destination, channel } of deps.outlets) {
    const teller = createTeller({
      ...shared,
      destination,
      channel,
      composer,
      random,
      payloads: destination.type === "webhook" ? payloads : noPayloads,
      onRefusedMessage() {
        refusedMessages.set(destination.name, (refusedMessages.get(destination.name) ?? 0) + 1);
      },
    });
    const queue = createLaneQueue({ ...shared, destination });
    const prober = createProber({ ...shared, destination, channel });
    probers.set(destination.name, prober);
    lanes.set(
      destination.name,
      createLane({ ...shared, destination, channel, queue, prober, teller, newId }),
    );
  }

  const claiming = new AbortController();
  const calls = new AbortController();
  // Every lane and every call under way listens, so that many listeners are no sign of a leak.
  setMaxListeners(0, claiming.signal, calls.signal);
  const sweeper = createSweeper({
    store,
    clock,
    log,
    health,
    announcer,
    fallbacks,
    settleAbandoned: () => settleAbandoned(recovery, false),
  });
  const running = [
    sweeper.run(claiming.signal),
    ...[...lanes.values()].map((lane) => lane.run({ claiming: claiming.signal, calls: calls.signal })),
  ];

  return {
    wake(names) {
      for (const name of names) wake(name);
    },
    async tryNow(name) {
      const trial = await probers.get(name)?.probe(calls.signal);
      wake(name);
      return trial;
    },
    statuses: () => [...destinations.values()].map(health.stateOf),
    refusedMessages: () => refusedMessages,
    lastTurnAt: sweeper.lastTurnAt,
    async stop(deadlineMs) {
      claiming.abort();
      const ended = new AbortController();
      const all = Promise.all(running).then(() => ended.abort());
      await Promise.race([all, clock.sleep(deadlineMs, ended.signal)]);
      calls.abort();
      await all;
      await health
        .save()
        .catch((error: unknown) =>
          log.error("engine.health_unsaved", { error: String(error).slice(0, 300) }),
        );
    },
  };
}
