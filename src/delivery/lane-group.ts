import { setMaxListeners } from "node:events";
import type { Clock, Random } from "../core/clock.ts";
import type { DeliveryFigures } from "../core/delivery-figures.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { Channel } from "../core/ports/channel.ts";
import type { ClaimJournal } from "../core/ports/claim-journal.ts";
import type { Dispatch } from "../core/ports/dispatch.ts";
import type { LaneGrant, LaneRequest } from "../core/ports/lanes.ts";
import type { RoutingDesk } from "../core/ports/routing-desk.ts";
import type { Destination } from "../core/rules.ts";
import { recipientsOf } from "../vendors/index.ts";
import type { FindHold } from "./duties/follow-quiet-hours.ts";
import { createGroupNotices, type Notifier } from "./duties/notices.ts";
import { createProber, type Prober, type Trial } from "./duties/prober.ts";
import { createProving, type Proven } from "./duties/proving.ts";
import { createCalls } from "./lane/call-channel.ts";
import type { Composer } from "./lane/compose.ts";
import { createDeliverer } from "./lane/deliver.ts";
import { createLane, type Lane, type LaneStop } from "./lane/lane.ts";
import { createLaneQueue } from "./lane/lane-queue.ts";
import { noPayloads, type PayloadReader } from "./lane/payloads.ts";
import { createLanePictures, type LanePictures } from "./lane/pictures.ts";
import { createLaneStore, type LaneStore } from "./lane-store.ts";
import type { Lease } from "./lease.ts";
import { createHealthMemory, type HealthMemory } from "./memory/health.ts";
import { createPaceMemory } from "./memory/pace.ts";
import type { PictureDesk } from "./memory/picture-desk.ts";
import { accountOf, paceKeysOf } from "./plan/accounts.ts";
import type { PlanFallbacks } from "./plan/plan-fallbacks.ts";

/** One destination with its way out. */
export interface Outlet {
  destination: Destination;
  channel: Channel;
}

/** When the lane of a destination last came round, epoch milliseconds. */
export interface LaneTurn {
  destination: string;
  at: number;
}

/** The lanes that share memory, while this relay holds them. */
export interface LaneGroup {
  readonly lane: LaneGrant;
  readonly destinations: Destination[];
  readonly health: HealthMemory;
  /** Under its fence. */
  readonly store: LaneStore;
  start(): void;
  /** The lease was renewed. */
  extend(lease: Lease): void;
  /** See `Lease`. */
  leftMs(): number;
  wake(destination: string): void;
  /** The lane of a destination of this group, as routing has it. */
  laneOf(destination: string): Pick<Lane, "offer" | "settle"> | undefined;
  /** When each of its lanes last came round; see `Lane`. */
  turns(): LaneTurn[];
  /** See `HealthMemory.setPause`. */
  setPause(destination: Destination, by: string | undefined): Promise<void>;
  /** See `Prober`; undefined for a destination of another group. */
  probe(destination: string): Promise<Trial> | undefined;
  /** What has to be looked at all the time, by name. Each rejects as the store does. */
  duties: Record<string, () => Promise<void>>;
  /** Stops claiming. */
  windDown(): void;
  /**
   * Ends the calls under way as well: another relay holds the group, or the time for a stop is over.
   * @param why for the log of attempts, in words that "during the call" follows
   */
  end(why: string): void;
  /** Resolves when all calls have ended and are recorded. Never rejects. */
  readonly ended: Promise<void>;
}

export interface LaneGroupDeps {
  store: Dispatch & Pick<RoutingDesk, "recordNotice">;
  composer: Composer;
  payloads: PayloadReader;
  /** Absent: each delivery is claimed by itself. */
  journal?: ClaimJournal;
  planFallbacks: PlanFallbacks;
  notifier: Notifier;
  findHold: FindHold;
  /** Absent: messages get no pictures. */
  pictureDesk?: PictureDesk;
  publicUrl?: string;
  lease: Lease;
  figures: DeliveryFigures;
  /** Another relay holds the group now. */
  onLost(): void;
  settings: DeliverySettings;
  clock: Clock;
  newId: NewId;
  random: Random;
  log: Log;
  /** When this process began to deliver, epoch milliseconds. */
  startedAt: number;
}

export function requestOf(group: string, destinations: Destination[], settings: DeliverySettings): LaneRequest {
  const accounts = new Set(destinations.flatMap((destination) => accountOf(destination) ?? []));
  const paces = destinations.flatMap((destination) =>
    recipientsOf(destination).flatMap((recipient) => paceKeysOf(destination, recipient, settings)),
  );
  return {
    group,
    statuses: [
      ...destinations.map(({ name }) => ({ kind: "destination", name }) as const),
      ...[...accounts].map((name) => ({ kind: "account", name }) as const),
    ],
    paces: [...new Set(paces.map(({ key }) => key))],
  };
}

export function openLaneGroup(grant: LaneGrant, outlets: Outlet[], deps: LaneGroupDeps): LaneGroup {
  const { clock, settings, log } = deps;
  const destinations = outlets.map(({ destination }) => destination);
  const { paces, statuses } = grant.memory;
  let { lease } = deps;
  const claiming = new AbortController();
  const callsUnderWay = new AbortController();
  // Every lane and every call under way listens, so that many listeners are no sign of a leak.
  setMaxListeners(0, claiming.signal, callsUnderWay.signal);
  const store = createLaneStore(deps.store, grant, deps.onLost);
  const lanes = new Map<string, Lane>();
  const probers = new Map<string, Prober>();
  const proven: Proven[] = [];
  const wakeAll = () => {
    for (const lane of lanes.values()) lane.wake();
  };
  const health = createHealthMemory({ store, clock, settings, log, onChange: wakeAll }, statuses);
  const notices = createGroupNotices({ ...deps, lane: grant, destinations, health });
  const shared = { ...deps, store, pace: createPaceMemory(paces), health };
  const stop: LaneStop = { claiming: claiming.signal, calls: callsUnderWay.signal };
  const pictures: LanePictures[] = [];

  /** Asked right before each call, and once more as it leaves: the process may have stood still since the lease was renewed. */
  function mayCall(): boolean {
    if (lease.isOver()) deps.onLost();
    return !lease.isOver();
  }

  function openPictures(destination: Destination, channel: Channel): LanePictures | undefined {
    const { pictureDesk: desk } = deps;
    if (!desk || !destination.chart || !channel.illustrate) return undefined;
    const isQuiet = () => lanes.get(destination.name)?.isQuiet() ?? false;
    const opened = createLanePictures({ ...shared, desk, destination, channel, isQuiet, stop });
    pictures.push(opened);
    return opened;
  }

  for (const { destination, channel } of outlets) {
    const { name } = destination;
    const calls = createCalls(deps);
    const deliverer = createDeliverer({
      ...shared,
      destination,
      channel,
      calls,
      pictures: openPictures(destination, channel),
      payloads: channel.can.carries === "payload" ? deps.payloads : noPayloads,
      mayCall,
    });
    const queue = createLaneQueue({ ...shared, destination });
    const prober = createProber({ ...shared, destination, channel, calls });
    const canRun = deps.journal !== undefined;
    const lane = createLane({ ...shared, canRun, destination, channel, calls, queue, prober, deliverer });
    probers.set(name, prober);
    lanes.set(name, lane);
    proven.push({ destination, lane, prober });
  }
  const proving = createProving({ ...shared, proven });

  let ended = Promise.resolve();

  return {
    lane: grant,
    destinations,
    health,
    store,
    start() {
      const running = [...lanes.values()].map((lane) => lane.run(stop));
      ended = Promise.all([...running, proving.run(claiming.signal)])
        .then(() => Promise.all(pictures.map((its) => its.ended())))
        .then(() => {});
    },
    extend(next) {
      lease = next;
    },
    leftMs: () => lease.leftMs(),
    turns: () => [...lanes].map(([destination, lane]) => ({ destination, at: lane.turnedAt() })),
    laneOf: (destination) => lanes.get(destination),
    wake: (destination) => lanes.get(destination)?.wake(),
    async setPause(destination, by) {
      await health.setPause(destination, by);
      if (by !== undefined) lanes.get(destination.name)?.giveBack();
      lanes.get(destination.name)?.wake();
    },
    probe: (destination) => probers.get(destination)?.probe(stop.calls),
    duties: {
      notices: notices.sendChanges,
      undelivered: notices.sendUndelivered,
      health: health.save,
    },
    windDown: () => claiming.abort(),
    end(why) {
      claiming.abort();
      callsUnderWay.abort(new DOMException(why, "AbortError"));
    },
    get ended() {
      return ended;
    },
  };
}
