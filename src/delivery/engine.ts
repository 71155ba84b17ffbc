import type { Clock, Random } from "../core/clock.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { DestinationState } from "../core/destination-status.ts";
import { AppError } from "../core/errors.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { PictureNotes } from "../core/picture-outcome.ts";
import { createPoll } from "../core/poll.ts";
import type { Administration } from "../core/ports/administration.ts";
import type { ReadPayloads } from "../core/ports/body-reader.ts";
import type { ClaimJournal } from "../core/ports/claim-journal.ts";
import type { Dispatch } from "../core/ports/dispatch.ts";
import type { Illustrate } from "../core/ports/illustration.ts";
import type { LaneFence, LaneGrant, Lanes } from "../core/ports/lanes.ts";
import type { RelaySelf, Relays, RelayView } from "../core/ports/relays.ts";
import type { RoutingDesk } from "../core/ports/routing-desk.ts";
import type { Destination } from "../core/rules.ts";
import { type FindHold, followQuietHours } from "./duties/follow-quiet-hours.ts";
import { createNotifier, type Notifier } from "./duties/notices.ts";
import type { Trial } from "./duties/prober.ts";
import { recoverAbandoned, settleOrphans } from "./duties/recovery.ts";
import { createSweeper } from "./duties/sweep.ts";
import { createClaimingDesk } from "./lane/claiming-desk.ts";
import type { Composer } from "./lane/compose.ts";
import { createPayloadReader, noPayloads } from "./lane/payloads.ts";
import { type LaneGroup, type LaneTurn, type Outlet, openLaneGroup, requestOf } from "./lane-group.ts";
import { endless, type Lease, startLease } from "./lease.ts";
import { createPictureDesk } from "./memory/picture-desk.ts";
import { laneGroupOf } from "./plan/accounts.ts";
import { stateOf } from "./plan/health.ts";
import { createFallbackPlan } from "./plan/plan-fallbacks.ts";
import { shareLanes } from "./plan/share-lanes.ts";

export interface EngineDeps {
  store: Lanes &
    Relays &
    Dispatch &
    Pick<RoutingDesk, "recordNotice" | "recordRouting"> &
    Pick<Administration, "maintain" | "capabilities">;
  /** As the other relays on this store see it; its id owns the lanes. */
  self: RelaySelf;
  outlets: Outlet[];
  composer: Composer;
  /** Reads a stored body again, for the payload of outgoing webhooks. Absent: they carry the facts alone. */
  readPayloads?: ReadPayloads;
  /** Says after a crash which claims were not begun. Absent: all of them may have been, and none is made ahead. */
  journal?: ClaimJournal;
  /** Draws what goes with an alert, for destinations with `chart`. Absent: messages get no pictures. */
  illustrate?: Illustrate;
  /** Where it is noted what became of pictures. Default: nowhere. */
  pictureNotes?: Pick<PictureNotes, "note">;
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
 * The delivery engine: takes what is due from the store, destination by destination, until it is stopped. It runs the
 * lane groups that it holds, and goes on asking for the others. The store is the truth; a signal only saves the wait
 * for the next look.
 */
export interface Engine {
  /** Looks at these destinations now. Unknown names are ignored. */
  wake(destinations: Iterable<string>): void;
  /**
   * As the store does it; a lane that has nothing else to do claims its deliveries in the same step and calls at once.
   */
  recordRouting: RoutingDesk["recordRouting"];
  /** Asks now for the lane groups that it does not hold: one may have been freed. */
  lookForLanes(): void;
  /** Sends a notice of the relay itself, see `Notifier.sendToAll`. Rejects as the store does. */
  notify: Notifier["sendToAll"];
  /**
   * Probes a destination at once, whatever its health; what waits flows when the answer is a yes. Undefined for an
   * unknown name. Rejects as the store does, and with `conflict` while another relay runs the destination.
   */
  tryNow(destination: string): Promise<Trial | undefined>;
  /**
   * Pauses a destination for a person, or lets it go on (`by` undefined): what comes for it waits, and nothing of it is given
   * up. Outlives a restart. False for an unknown name. Rejects as the store does, and with `conflict` while another relay
   * runs the destination.
   */
  setPause(destination: string, by: string | undefined): Promise<boolean>;
  /** Of a destination that another relay runs nothing is known here. */
  statuses(): DestinationState[];
  /**
   * Calls since the start that were refused for what the message is, by destination: our rendering or its reading is at
   * fault.
   */
  refusedMessages(): ReadonlyMap<string, number>;
  /** When the engine last went round; a readiness check compares it with the clock. */
  lastTurnAt(): number;
  /** Of the lanes that it holds. */
  laneTurns(): LaneTurn[];
  /**
   * Stops claiming, waits for calls in flight up to `deadlineMs`, then aborts and records them, and frees its lane
   * groups.
   */
  stop(deadlineMs: number): Promise<void>;
}

/** A relay that is gone without a word is replaced after this time. */
const laneLeaseMs = 15_000;
/** How often leases are renewed and others' lanes are looked for. */
const shared = { renewEveryMs: 3_000 };
/** Nobody else can take a lane: the disk is left alone. */
const alone = { renewEveryMs: 10_000 };
/** A call that leaves as its lease ends is still under way for a moment: the lease counts as over this much earlier. */
const leaseMarginMs = 1_000;
/** What waits for destinations that are not configured has no lane; one relay at a time looks after it. */
const orphanGroup = "orphans";

export async function startEngine(deps: EngineDeps): Promise<Engine> {
  const { store, clock, settings, log, newId, readPayloads, findHold = () => undefined } = deps;
  const { sharedByRelays } = store.capabilities;
  const owner = deps.self.id;
  const outlets = groupOutlets(deps.outlets);
  const destinations = new Map(deps.outlets.map(({ destination }) => [destination.name, destination]));
  const held = new Map<string, LaneGroup>();
  /** Those of them that another relay will have once their calls have ended. */
  const leaving = new Set<string>();
  /** Lost ones too, until their calls have ended. */
  const running = new Set<Promise<void>>();
  const refusedMessages = new Map<string, number>();
  const stopping = new AbortController();
  let orphanLane: LaneFence | undefined;
  let relays: RelayView[] = [];
  let isAlone = true;
  const beginLease = (): Lease =>
    sharedByRelays ? startLease(laneLeaseMs - leaseMarginMs, { now: clock.now }) : endless;

  const groupOf = (destination: Destination) => held.get(laneGroupOf(destination));
  function heldGroupOf(destination: Destination): LaneGroup {
    const group = groupOf(destination);
    if (!group) throw new AppError("conflict", `Another relay runs the destination ${destination.name}.`);
    return group;
  }
  function wake(name: string): void {
    const destination = destinations.get(name);
    if (destination) groupOf(destination)?.wake(name);
  }

  const planFallbacks = createFallbackPlan(destinations);
  const notifier = createNotifier({
    store,
    // Whoever runs the others knows how they are, and falls back.
    isWell: (destination) => groupOf(destination)?.health.isWell(destination) ?? true,
    clock,
    newId,
    log,
    destinations: [...destinations.values()],
  });
  const { illustrate, pictureNotes: notes } = deps;
  const pictureDesk = illustrate && createPictureDesk({ illustrate, notes, clock, log });
  const ofGroups = {
    ...deps,
    pictureDesk,
    payloads: readPayloads ? createPayloadReader({ store, readPayloads, log }) : noPayloads,
    planFallbacks,
    notifier,
    onRefusedMessage(name: string) {
      refusedMessages.set(name, (refusedMessages.get(name) ?? 0) + 1);
    },
    startedAt: clock.now(),
  };

  function open(grant: LaneGrant, lease: Lease): LaneGroup {
    const group = openLaneGroup(grant, outlets.get(grant.group) ?? [], {
      ...ofGroups,
      lease,
      onLost: () => lose(group, "another relay took the destination over"),
    });
    held.set(grant.group, group);
    return group;
  }

  function lose(group: LaneGroup, why: string): void {
    const { group: name, fence } = group.lane;
    if (held.get(name) !== group) return;
    held.delete(name);
    group.end(why);
    log.warn("lane.lost", { group: name, fence, why });
  }

  /** To a relay that has too few. What is under way ends first, so that no two calls to one chat overlap. */
  async function handOver(group: LaneGroup): Promise<void> {
    const { group: name } = group.lane;
    leaving.add(name);
    try {
      group.windDown();
      await group.ended;
      if (held.get(name) !== group) return;
      await group.health.saveAll();
      held.delete(name);
      await store.releaseLanes([group.lane]);
      log.info("lane.handed_over", { group: name });
    } catch (error) {
      // Its lease ends by itself.
      lose(group, "its lease is renewed no more");
      log.error("engine.lanes_failed", { error: String(error).slice(0, 300) });
    } finally {
      leaving.delete(name);
    }
  }

  const share = () => {
    const others = relays.filter(({ id, configuration }) => id !== owner && configuration === deps.self.configuration);
    return shareLanes([...outlets.keys()], held.size - leaving.size, others);
  };
  /** What no destination has belongs to whoever has the newest configuration: an older one does not know all of them. */
  const isNewest = () => {
    const newest = Math.max(...relays.map(({ configurationVersion }) => configurationVersion));
    return relays.every(({ id, configurationVersion }) => id !== owner || configurationVersion === newest);
  };

  /** Asks for what is not held, and begins to deliver there once all is settled that former holders have left. */
  async function acquire(): Promise<void> {
    const missing = [...outlets].filter(([group]) => !held.has(group));
    const requests = missing.map(([group, its]) =>
      requestOf(
        group,
        its.map(({ destination }) => destination),
        settings,
      ),
    );
    const most = Math.max(0, share().most - held.size);
    const lease = beginLease();
    if (orphanLane === undefined && isNewest()) {
      const request = { group: orphanGroup, statuses: [], paces: [] };
      [orphanLane] = await store.acquireLanes(owner, [request], laneLeaseMs);
      if (orphanLane !== undefined) await settleOrphansOf(orphanLane);
    }
    if (requests.length === 0 || most === 0) return;
    const grants = await store.acquireLanes(owner, requests, laneLeaseMs, most);
    // All of them first: the notices of one are sent by another that is well.
    const groups = grants.map((grant) => open(grant, lease));
    try {
      await recoverAbandoned(deps, groups, "Tocsin was stopped during the call");
      const taken = groups.flatMap((group) => group.destinations);
      await followQuietHours({ store, destinations: taken, findHold, clock, log });
    } catch (error) {
      // They are asked for again, and settled then.
      for (const group of groups) held.delete(group.lane.group);
      throw error;
    }
    if (stopping.signal.aborted) return;
    for (const group of groups) {
      group.start();
      const ended = group.ended.then(() => void running.delete(ended));
      running.add(ended);
    }
  }

  async function settleOrphansOf(lane: LaneFence): Promise<void> {
    try {
      await settleOrphans({ store, lane, destinations, planFallbacks, notifier, clock, log });
    } catch (error) {
      orphanLane = undefined;
      throw error;
    }
  }

  async function renew(): Promise<void> {
    const lanes = [...[...held.values()].map(({ lane }) => lane), ...(orphanLane ? [orphanLane] : [])];
    const lease = beginLease();
    const kept = new Set(await store.renewLanes(lanes, laneLeaseMs));
    for (const group of [...held.values()]) {
      if (kept.has(group.lane.group)) group.extend(lease);
      else lose(group, "another relay took the destination over");
    }
    if (!kept.has(orphanGroup)) orphanLane = undefined;
  }

  /** Lanes are shared, and what a relay watches is not: people would get those notices from each of them. */
  function noteOthers(): void {
    const names = relays.filter(({ id }) => id !== owner).map(({ name }) => name);
    if (names.length > 0 && isAlone) log.warn("relay.others", { names: names.join(", "), watches: "each by itself" });
    isAlone = names.length === 0;
  }

  const lanes = createPoll({
    async look() {
      relays = await store.announceRelay(deps.self, laneLeaseMs);
      noteOthers();
      await renew();
      const kept = [...held.values()].filter(({ lane }) => !leaving.has(lane.group));
      const { handOver: tooMany } = share();
      for (const group of tooMany > 0 ? kept.slice(-tooMany) : []) void handOver(group);
      await acquire();
    },
    everyMs: sharedByRelays ? shared.renewEveryMs : alone.renewEveryMs,
    clock,
    onFailed: (error) => log.error("engine.lanes_failed", { error: String(error).slice(0, 300) }),
  });

  /** A store that does not answer keeps nobody from leaving a lane whose lease is over. */
  async function leaveInTime(): Promise<void> {
    while (!stopping.signal.aborted) {
      for (const group of [...held.values()])
        if (group.leftMs() === 0) lose(group, "its lease could not be renewed in time");
      const soonest = Math.min(...[...held.values()].map((group) => group.leftMs()), laneLeaseMs);
      await clock.sleep(Math.max(soonest, 50), stopping.signal);
    }
  }

  relays = await store.announceRelay(deps.self, laneLeaseMs);
  await acquire();
  deps.journal?.forgetInherited();
  const sweeper = createSweeper({ ...deps, groups: () => [...held.values()], planFallbacks });
  const loops = [sweeper.run(stopping.signal), lanes.run(stopping.signal), ...(sharedByRelays ? [leaveInTime()] : [])];

  return {
    wake(names) {
      for (const name of names) wake(name);
    },
    recordRouting: createClaimingDesk(store, (name) => {
      const destination = destinations.get(name);
      const group = destination && groupOf(destination);
      const lane = group?.laneOf(name);
      return group && lane && { lane, fence: group.lane };
    }),
    lookForLanes: lanes.wake,
    notify: notifier.sendToAll,
    async setPause(name, by) {
      const destination = destinations.get(name);
      if (!destination) return false;
      await heldGroupOf(destination).setPause(destination, by);
      return true;
    },
    async tryNow(name) {
      const destination = destinations.get(name);
      if (!destination) return undefined;
      const group = heldGroupOf(destination);
      const trial = await group.probe(name);
      wake(name);
      return trial;
    },
    statuses: () =>
      [...destinations.values()].map(
        (destination) =>
          groupOf(destination)?.health.stateOf(destination) ?? stateOf(destination, () => undefined, clock.now()),
      ),
    refusedMessages: () => refusedMessages,
    lastTurnAt: sweeper.lastTurnAt,
    laneTurns: () => [...held.values()].flatMap((group) => group.turns()),
    async stop(deadlineMs) {
      stopping.abort();
      for (const group of held.values()) group.windDown();
      const ended = new AbortController();
      const all = Promise.all([...loops, ...running]).then(() => ended.abort());
      await Promise.race([all, clock.sleep(deadlineMs, ended.signal)]);
      for (const group of held.values()) group.end("Tocsin was stopped");
      await all;
      const groups = [...held.values()];
      try {
        for (const group of groups) await group.health.saveAll();
        await store.forgetRelay(owner);
        await store.releaseLanes([...groups.map(({ lane }) => lane), ...(orphanLane ? [orphanLane] : [])]);
      } catch (error) {
        log.error("engine.state_unsaved", { error: String(error).slice(0, 300) });
      }
    },
  };
}

function groupOutlets(outlets: Outlet[]): Map<string, Outlet[]> {
  const groups = new Map<string, Outlet[]>();
  for (const outlet of outlets) {
    const name = laneGroupOf(outlet.destination);
    groups.set(name, [...(groups.get(name) ?? []), outlet]);
  }
  return groups;
}
