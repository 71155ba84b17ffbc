import { setMaxListeners } from "node:events";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { Trial } from "../core/destination-status.ts";
import type { Channel } from "../core/ports/channel.ts";
import type { Dispatch } from "../core/ports/dispatch.ts";
import type { LaneGrant, LaneRequest, Lease } from "../core/ports/lanes.ts";
import type { RoutingDesk } from "../core/ports/routing-desk.ts";
import type { Destination } from "../core/rules.ts";
import { recipientsOf } from "../vendors/index.ts";
import { createGroupNotices, type GroupNoticesDeps } from "./duties/notices.ts";
import { Prober, proveAll } from "./duties/prober.ts";
import { Calls } from "./lane/call-channel.ts";
import { Claims } from "./lane/claims.ts";
import { createLaneStore, type EngineContext, type LaneContext, type LaneStore } from "./lane/context.ts";
import { Deliverer, type DelivererDeps } from "./lane/deliver.ts";
import { Lane, type LaneStop } from "./lane/lane.ts";
import { LaneQueue, type LaneQueueDeps } from "./lane/lane-queue.ts";
import { type PayloadDeps, PayloadReader } from "./lane/payloads.ts";
import { LanePictures } from "./lane/pictures.ts";
import { HealthMemory } from "./memory/health.ts";
import { PaceMemory } from "./memory/pace.ts";
import type { PictureDesk } from "./memory/picture-desk.ts";
import { accountOf, paceKeysOf } from "./plan/accounts.ts";

export interface Outlet {
  destination: Destination;
  channel: Channel;
}

/** When a destination's lane last took a turn, epoch milliseconds. */
export interface LaneTurn {
  destination: string;
  at: number;
}

export interface LaneGroupDeps
  extends EngineContext,
    Pick<DelivererDeps, "composer" | "planFallbacks" | "figures" | "startedAt">,
    Pick<LaneQueueDeps, "findHold" | "findMute">,
    Pick<GroupNoticesDeps, "notifier" | "publicUrl" | "onLost">,
    Pick<PayloadDeps, "readPayloads"> {
  store: Dispatch & Pick<RoutingDesk, "recordNotice">;
  /** Absent: messages get no pictures. */
  pictureDesk?: PictureDesk;
  lease: Lease;
}

export function requestOf(group: string, outlets: Outlet[], settings: DeliverySettings): LaneRequest {
  const destinations = outlets.map(({ destination }) => destination);
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

interface Opened {
  destination: Destination;
  lane: Lane;
  prober: Prober;
}

/** The lanes that share memory, while this relay holds them. */
export class LaneGroup {
  readonly lane: LaneGrant;
  readonly destinations: Destination[];
  readonly health: HealthMemory;
  /** Writes under the group's fence. */
  readonly store: LaneStore;
  /** The work of every second, by name. Each rejects as the store does. */
  readonly duties: Record<string, () => Promise<void>>;
  /** Resolves when all calls have ended and are recorded. Never rejects. */
  ended = Promise.resolve();
  readonly #deps: LaneGroupDeps;
  readonly #pace: PaceMemory;
  readonly #lanes: ReadonlyMap<string, Opened>;
  readonly #pictures: LanePictures[] = [];
  readonly #claiming = new AbortController();
  readonly #calls = new AbortController();
  readonly #stop: LaneStop = { claiming: this.#claiming.signal, calls: this.#calls.signal };
  #lease: Lease;

  constructor(grant: LaneGrant, outlets: Outlet[], deps: LaneGroupDeps) {
    // Every lane and every call listens. Many listeners are no leak here.
    setMaxListeners(0, this.#claiming.signal, this.#calls.signal);
    this.lane = grant;
    this.#deps = deps;
    this.#lease = deps.lease;
    this.destinations = outlets.map(({ destination }) => destination);
    this.store = createLaneStore(deps.store, grant, deps.onLost);
    this.#pace = new PaceMemory(grant.memory.paces);
    this.health = new HealthMemory(
      { ...deps, store: this.store, onChange: () => this.#wakeAll() },
      grant.memory.statuses,
    );
    const notices = createGroupNotices({
      ...deps,
      lane: grant,
      destinations: this.destinations,
      health: this.health,
    });
    this.duties = {
      notices: notices.sendChanges,
      undelivered: notices.sendUndelivered,
      health: () => this.health.save(),
    };
    this.#lanes = new Map(outlets.map((outlet) => [outlet.destination.name, this.#open(outlet)]));
  }

  start(): void {
    const running = [...this.#lanes.values()].map(({ lane }) => lane.run(this.#stop));
    const proven = { ...this.#deps, health: this.health, proven: [...this.#lanes.values()] };
    this.ended = Promise.all([...running, proveAll(proven, this.#stop.claiming)])
      .then(() => Promise.all(this.#pictures.map((its) => its.ended())))
      .then(() => {});
  }

  extend(lease: Lease): void {
    this.#lease = lease;
  }

  /** See `Lease`. */
  leftMs(): number {
    return this.#lease.leftMs();
  }

  laneOf(destination: string): Lane | undefined {
    return this.#lanes.get(destination)?.lane;
  }

  turns(): LaneTurn[] {
    return [...this.#lanes].map(([destination, { lane }]) => ({ destination, at: lane.turnedAt() }));
  }

  /** See `HealthMemory.setPause`. */
  async setPause(destination: Destination, by: string | undefined): Promise<void> {
    const saved = this.health.setPause(destination, by);
    // Claims must be given back before others can see the pause.
    const lane = this.laneOf(destination.name);
    if (by !== undefined) lane?.giveBack();
    await saved;
    lane?.wake();
  }

  /** See `Prober`. Rejects as the store does. */
  async tryNow({ name }: Destination): Promise<Trial> {
    const { prober, lane } = this.#lanes.get(name) as Opened;
    const trial = await prober.probe(this.#stop.calls);
    this.health.noteTrial({ name }, trial);
    lane.wake();
    return trial;
  }

  windDown(): void {
    this.#claiming.abort();
  }

  /** Also ends the calls in flight. The log of attempts has `why` after the words "during the call". */
  end(why: string): void {
    this.#claiming.abort();
    this.#calls.abort(new DOMException(why, "AbortError"));
  }

  #open({ destination, channel }: Outlet): Opened {
    const context: LaneContext = {
      ...this.#deps,
      store: this.store,
      pace: this.#pace,
      health: this.health,
      destination,
      channel,
      calls: new Calls(this.#deps),
    };
    const { store, log } = this.#deps;
    const readPayloads = channel.can.carries === "payload" ? this.#deps.readPayloads : undefined;
    const claims = new Claims({ ...context, payloads: new PayloadReader({ store, readPayloads, log }) });
    const parts = { ...this.#deps, ...context, claims };
    const pictures = this.#openPictures(context);
    const deliverer = new Deliverer({ ...parts, pictures, mayCall: () => this.#mayCall() });
    const prober = new Prober(context);
    const lane = new Lane({ ...context, claims, deliverer, prober, queue: new LaneQueue(parts) });
    return { destination, lane, prober };
  }

  #openPictures(context: LaneContext): LanePictures | undefined {
    const { pictureDesk: desk } = this.#deps;
    const { destination, channel } = context;
    const { illustrate } = channel;
    if (!desk || !destination.chart || !illustrate) return undefined;
    const isQuiet = () => this.laneOf(destination.name)?.isQuiet() ?? false;
    const pictures = new LanePictures({ ...context, desk, illustrate, isQuiet, stop: this.#stop });
    this.#pictures.push(pictures);
    return pictures;
  }

  /** The process may have been suspended since the lease was renewed. */
  #mayCall(): boolean {
    if (this.#lease.isOver()) this.#deps.onLost();
    return !this.#lease.isOver();
  }

  #wakeAll(): void {
    for (const { lane } of this.#lanes.values()) lane.wake();
  }
}
