import type { AlertFacts } from "../core/alert.ts";
import type { Clock, Random } from "../core/clock.ts";
import { DeliveryFigures } from "../core/delivery-figures.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { DestinationState, DestinationStatus, StatusKey } from "../core/destination-status.ts";
import { AppError } from "../core/errors.ts";
import type { NewId } from "../core/id.ts";
import { type ConfigurationState, judgeConfiguration } from "../core/judge-configuration.ts";
import type { Log } from "../core/log.ts";
import type { PictureNotes } from "../core/picture-outcome.ts";
import { createPoll } from "../core/poll.ts";
import type { Administration } from "../core/ports/administration.ts";
import type { AlertLog } from "../core/ports/alert-log.ts";
import type { ReadPayloads } from "../core/ports/body-reader.ts";
import type { ClaimJournal } from "../core/ports/claim-journal.ts";
import type { Dispatch } from "../core/ports/dispatch.ts";
import type { Illustrate } from "../core/ports/illustration.ts";
import type { Inbox } from "../core/ports/inbox.ts";
import type { LaneFence, LaneGrant, Lanes } from "../core/ports/lanes.ts";
import type { RelayReport, RelaySelf, Relays, RelayView } from "../core/ports/relays.ts";
import type { RelayRequests } from "../core/ports/requests.ts";
import type { RoutingDesk } from "../core/ports/routing-desk.ts";
import type { WatchState } from "../core/ports/watch.ts";
import type { Destination } from "../core/rules.ts";
import { type FindHold, followQuietHours } from "./duties/follow-quiet-hours.ts";
import { createNotifier } from "./duties/notices.ts";
import { createOrphanSettler } from "./duties/orphans.ts";
import type { Trial } from "./duties/prober.ts";
import { recoverAbandoned } from "./duties/recovery.ts";
import { createSweeper } from "./duties/sweep.ts";
import { createDutiesLane, dutiesGroup, type ServeDuties } from "./duties-lane.ts";
import { createHolderRequests, type HolderRequests } from "./holder-requests.ts";
import { type ClaimingDesk, createClaimingDesk } from "./lane/claiming-desk.ts";
import type { Composer } from "./lane/compose.ts";
import { createPayloadReader, noPayloads } from "./lane/payloads.ts";
import { type LaneGroup, type LaneTurn, type Outlet, openLaneGroup, requestOf } from "./lane-group.ts";
import { endless, type Lease, startLease } from "./lease.ts";
import { createPictureDesk } from "./memory/picture-desk.ts";
import { laneGroupOf } from "./plan/accounts.ts";
import { isWell, stateOf } from "./plan/health.ts";
import { createFallbackPlan } from "./plan/plan-fallbacks.ts";
import { shareLanes } from "./plan/share-lanes.ts";

export interface EngineDeps {
  store: Lanes &
    Relays &
    Partial<RelayRequests> &
    Dispatch &
    Inbox &
    Pick<RoutingDesk, "recordNotice" | "recordRouting" | "leaveRouting"> &
    Pick<AlertLog, "getAlert"> &
    Pick<Administration, "maintain" | "capabilities">;
  /** As the other relays on this store see it; its id owns the lanes. */
  self: Omit<RelaySelf, "report">;
  /** Asked with each announcement, which waits for nothing else. Absent: the others hear nothing of how it is. */
  report?(): RelayReport;
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
export interface Engine extends ClaimingDesk {
  /** Looks at these destinations now. Unknown names are ignored. */
  wake(destinations: Iterable<string>): void;
  /** Looks now who runs, and asks for the lane groups that it does not hold: one may have been freed. */
  lookForLanes(): void;
  /** The other relays that ran on this store a moment ago. */
  others(): RelayView[];
  /** All that run on this store, itself among them, as of the last look some seconds ago. */
  relays(): RelayView[];
  /** The names of its destinations, by lane group. */
  laneGroups(): ReadonlyMap<string, string[]>;
  /** Lane groups that no running relay held at that look, the duties among them, with since when. Empty where another configuration routes. */
  unheld(): ReadonlyMap<string, number>;
  /** Whether this relay routes and delivers, as of that look. */
  configuration(): ConfigurationState;
  /** What other relays ask of this one, and this one of them, by lane group. */
  requests: Pick<HolderRequests, "ask" | "answer" | "wake">;
  /**
   * Sends a notice of the relay itself, see `Notifier.send`. Rejects as the store does.
   * @param watch saved in the same step, so that it is told once
   * @param lane once that is lost nothing is sent, and nothing saved. Default: in any case
   */
  notify(facts: AlertFacts, watch?: WatchState, lane?: LaneFence): Promise<"done" | "lost">;
  /** Does what one relay does for all, whenever this one has the duties; at once where it has them now. */
  serveDuties(serve: ServeDuties): void;
  /** Ends what is served, and frees the duties for the next relay. This one asks for them no more. Never rejects. */
  leaveDuties(): Promise<void>;
  /**
   * Probes a destination at once, whatever its health; what waits flows when the answer is a yes. Undefined for an
   * unknown name. Whichever relay runs the destination does it. Rejects as `HolderRequests.ask` does.
   */
  tryNow(destination: string): Promise<Trial | undefined>;
  /**
   * Pauses a destination for a person, or lets it go on (`by` undefined): what comes for it waits, and nothing of it is given
   * up. Outlives a restart. False for an unknown name. Whichever relay runs the destination does it. Rejects as
   * `HolderRequests.ask` does.
   */
  setPause(destination: string, by: string | undefined): Promise<boolean>;
  /** Of a destination that another relay runs as that one has saved it, some seconds ago. */
  statuses(): DestinationState[];
  figures: DeliveryFigures;
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
const hourMs = 3_600_000;
/** How often leases are renewed and others' lanes are looked for. */
const shared = { renewEveryMs: 3_000, lookAgainMs: 200 };
/** Nobody else can take a lane: the disk is left alone. */
const alone = { renewEveryMs: 10_000 };
const takenOver = "another relay took the destination over";
/** A call that leaves as its lease ends is still under way for a moment: the lease counts as over this much earlier. */
const leaseMarginMs = 1_000;

export async function startEngine(deps: EngineDeps): Promise<Engine> {
  const { store, clock, settings, log, newId, readPayloads, findHold = () => undefined } = deps;
  const { sharedByRelays } = store.capabilities;
  const { renewEveryMs } = sharedByRelays ? shared : alone;
  const owner = deps.self.id;
  const outlets = groupOutlets(deps.outlets);
  const destinations = new Map(deps.outlets.map(({ destination }) => [destination.name, destination]));
  const held = new Map<string, LaneGroup>();
  /** Those of them that another relay will have once their calls have ended. */
  const leaving = new Set<string>();
  /** Lost ones too, until their calls have ended. */
  const running = new Set<Promise<void>>();
  const figures = new DeliveryFigures(destinations.keys());
  const stopping = new AbortController();
  const namesOf = new Map([...outlets].map(([group, its]) => [group, its.map(({ destination }) => destination.name)]));
  let relays: RelayView[] = [];
  /** A lane that nobody had was not got: two that come at once ask for the same one, or a relay that lacks lanes came first. */
  let leavesSome = false;
  /** Nothing more is taken while what is held cannot be kept. */
  let canRenew = true;
  let configuration: ConfigurationState = "newest";
  const unheldSince = new Map<string, number>();
  const beginLease = (): Lease =>
    sharedByRelays ? startLease(laneLeaseMs - leaseMarginMs, { now: clock.now }) : endless;

  /** Of destinations and accounts that other relays run, as these have saved it. */
  let saved = new Map<string, DestinationStatus>();

  const groupOf = (destination: Destination) => held.get(laneGroupOf(destination));
  const savedAs = ({ kind, name }: StatusKey) => `${kind} ${name}`;
  async function readSaved(): Promise<void> {
    if (!sharedByRelays || [...outlets.keys()].every((name) => held.has(name))) return;
    saved = new Map((await store.loadStatuses()).map((status) => [savedAs(status), status]));
  }
  const stateOfAny = (destination: Destination): DestinationState =>
    groupOf(destination)?.health.stateOf(destination) ??
    stateOf(destination, (key) => saved.get(savedAs(key)), clock.now());
  function wake(name: string): void {
    const destination = destinations.get(name);
    if (destination) groupOf(destination)?.wake(name);
  }

  const planFallbacks = createFallbackPlan(destinations);
  const notifier = createNotifier({
    store,
    isWell: (destination) => isWell(stateOfAny(destination)),
    clock,
    newId,
    log,
    destinations: [...destinations.values()],
  });
  const duties = createDutiesLane({ store, owner, leaseMs: laneLeaseMs, log });
  const orphans = createOrphanSettler({
    store,
    lane: duties.held,
    occasion: whyOrphans,
    destinations,
    planFallbacks,
    notifier,
    everyMs: renewEveryMs,
    clock,
    log,
  });
  const { illustrate, pictureNotes: notes } = deps;
  const pictureDesk = illustrate && createPictureDesk({ illustrate, notes, clock, log });
  const ofGroups = {
    ...deps,
    pictureDesk,
    payloads: readPayloads ? createPayloadReader({ store, readPayloads, log }) : noPayloads,
    planFallbacks,
    notifier,
    findHold,
    figures,
    startedAt: clock.now(),
  };

  function open(grant: LaneGrant, lease: Lease): LaneGroup {
    const group = openLaneGroup(grant, outlets.get(grant.group) ?? [], {
      ...ofGroups,
      lease,
      onLost: () => lose(group, takenOver),
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
    if (configuration !== "newest") return { most: 0, handOver: held.size - leaving.size };
    const others = relays.filter(({ id, configuration }) => id !== owner && configuration === deps.self.configuration);
    return shareLanes([...outlets.keys()], held.size - leaving.size, others);
  };
  /** The duties belong to whoever has the newest configuration: an older one does not know all that is watched, or configured. */
  const isNewest = () => configuration === "newest";

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
    leavesSome = false;
    if (isNewest()) await duties.acquire(beginLease());
    const lease = beginLease();
    if (requests.length === 0 || most === 0) return;
    const grants = await store.acquireLanes(owner, requests, laneLeaseMs, most);
    const taken = new Set([...relays.flatMap((relay) => relay.lanes), ...grants.map(({ group }) => group)]);
    leavesSome = missing.some(([group]) => !taken.has(group));
    // All of them first: the notices of one are sent by another that is well.
    const groups = grants.map((grant) => open(grant, lease));
    try {
      await recoverAbandoned(deps, groups, "Tocsin was stopped during the call");
      const taken = groups.flatMap((group) => group.destinations);
      await followQuietHours({ store, destinations: taken, findHold, clock, log });
    } catch (error) {
      // They are asked for again, and settled then.
      for (const group of groups) if (held.get(group.lane.group) === group) held.delete(group.lane.group);
      throw error;
    }
    if (stopping.signal.aborted) return;
    for (const group of groups.filter((group) => held.get(group.lane.group) === group)) {
      group.start();
      const ended = group.ended.then(() => void running.delete(ended));
      running.add(ended);
    }
  }

  function heldLanes(): LaneFence[] {
    const [lanes, ofDuties] = [[...held.values()].map(({ lane }) => lane), duties.held()];
    return ofDuties === undefined ? lanes : [...lanes, ofDuties];
  }

  async function renew(): Promise<void> {
    const lease = beginLease();
    // Those that are acquired meanwhile were not asked for.
    const [asked, ofDuties] = [[...held.values()], duties.held()];
    const kept = new Set(await store.renewLanes(heldLanes(), laneLeaseMs));
    for (const group of asked) {
      if (kept.has(group.lane.group)) group.extend(lease);
      else lose(group, takenOver);
    }
    if (ofDuties === undefined || duties.held()?.fence !== ofDuties.fence) return;
    if (kept.has(dutiesGroup)) duties.extend(lease);
    else duties.lose("another relay took them over");
  }

  async function announce(): Promise<void> {
    relays = await store.announceRelay({ ...deps.self, report: deps.report?.() }, laneLeaseMs);
    const own = relays.find(({ id }) => id === owner);
    const before = configuration;
    configuration = own === undefined ? "newest" : judgeConfiguration(own, relays);
    if (configuration !== before) noteConfiguration(own?.configurationVersion ?? 0);
    noteUnheld();
    // Each time: what was on its way to the disk at the time before is left as well.
    if (configuration !== "newest") await store.leaveRouting?.(true);
    else if (before !== "newest") await store.leaveRouting?.(false);
  }

  function noteUnheld(): void {
    const taken = new Set(relays.flatMap((relay) => relay.lanes));
    const isOurs = sharedByRelays && isNewest();
    for (const group of [...outlets.keys(), dutiesGroup]) {
      if (!isOurs || taken.has(group) || held.has(group)) unheldSince.delete(group);
      else if (!unheldSince.has(group)) unheldSince.set(group, clock.now());
    }
  }

  function noteConfiguration(version: number): void {
    const newer = relays.filter(({ configurationVersion }) => configurationVersion > version);
    const names = newer.map(({ name }) => name).join(", ");
    if (configuration === "older") log.warn("configuration.older", { version, newer: names });
    else log.info(`configuration.${configuration}`, { version });
  }

  /**
   * What another configuration has had until now has nobody any more: when its last relay has gone, and each hour. What a newer
   * one has besides waits for a relay with that one to come back; after a day it does not.
   */
  function whyOrphans(): string | undefined {
    if (!sharedByRelays) return "";
    if (relays.some(({ id, isSuperseded }) => id === owner && isSuperseded)) return undefined;
    const others = new Set(relays.map((relay) => relay.configuration));
    return `${Math.floor(clock.now() / hourMs)} ${[...others].sort().join(" ")}`;
  }

  const requests = createHolderRequests({
    store,
    lanes: () => [
      ...[...held.values()].flatMap((group) =>
        leaving.has(group.lane.group) || group.leftMs() === 0 ? [] : [group.lane],
      ),
      ...duties.served(),
    ],
    clock,
    newId,
    log,
  });

  /** What is done with a destination by whoever holds its group. */
  function answerOn<Args extends { destination: string }, Answer>(
    kind: string,
    perform: (group: LaneGroup, destination: Destination, args: Args) => Promise<Answer>,
  ): void {
    requests.answer(kind, async (given) => {
      const args = given as Args;
      const destination = destinations.get(args.destination);
      const group = destination && groupOf(destination);
      if (!group) throw elsewhere(args.destination);
      const answer = await perform(group, destination, args);
      if (groupOf(destination) !== group) throw elsewhere(args.destination);
      if (sharedByRelays) await group.health.save();
      return answer;
    });
  }
  answerOn<PauseRequest, void>("pause", (group, destination, { by }) => group.setPause(destination, by ?? undefined));
  answerOn<TryRequest, Trial | undefined>("try", async (group, destination) => {
    const trial = await group.probe(destination.name);
    group.wake(destination.name);
    return trial;
  });

  async function askHolder(kind: string, destination: Destination, args: object): Promise<unknown> {
    const { name } = destination;
    const all = { ...args, destination: name };
    const answer = await requests.ask(laneGroupOf(destination), kind, all, {
      subject: `the destination ${name}`,
      howToSee:
        "The page Destinations and `tocsin status` show in some seconds how it is now. If it was not done, ask again.",
    });
    await readSaved();
    return answer;
  }

  const renewing = createPoll({
    async look() {
      const before = heldLanes().length;
      canRenew = await renew().then(
        () => true,
        (error: unknown) => {
          canRenew = false;
          throw error;
        },
      );
      // What was lost is asked for again.
      if (heldLanes().length < before) lanes.wake();
    },
    everyMs: renewEveryMs,
    clock,
    onFailed: (error) => log.error("engine.renewal_failed", { error: String(error).slice(0, 300) }),
  });

  const lanes = createPoll({
    async look() {
      // Whoever cannot say how it is goes on by what it knew of the others, and delivers.
      const failure = await announce().then(
        () => undefined,
        (error: unknown) => error,
      );
      const kept = [...held.values()].filter(({ lane }) => !leaving.has(lane.group));
      const { handOver: tooMany } = share();
      for (const group of tooMany > 0 ? kept.slice(-tooMany) : []) void handOver(group);
      if (!isNewest()) void duties.handOver();
      if (canRenew) await acquire();
      orphans.wake();
      await readSaved();
      if (failure !== undefined) throw failure;
    },
    everyMs: () => (leavesSome && sharedByRelays ? shared.lookAgainMs : renewEveryMs),
    clock,
    onFailed: (error) => log.error("engine.lanes_failed", { error: String(error).slice(0, 300) }),
  });

  /** A store that does not answer keeps nobody from leaving a lane whose lease is over. */
  async function leaveInTime(): Promise<void> {
    while (!stopping.signal.aborted) {
      for (const group of [...held.values()])
        if (group.leftMs() === 0) lose(group, "its lease could not be renewed in time");
      if (duties.leftMs() === 0) duties.lose("its lease could not be renewed in time");
      const leases = [...held.values(), duties].map(({ leftMs }) => leftMs());
      const soonest = Math.min(...leases, laneLeaseMs);
      await clock.sleep(Math.max(soonest, 50), stopping.signal);
    }
  }

  /** Each lane is another's as soon as its calls have ended. */
  async function leaveLanes(): Promise<void> {
    // A look under way would announce this relay again.
    await looking;
    await store.forgetRelay(owner);
    const leave = async (group: LaneGroup) => {
      await group.ended;
      if (held.get(group.lane.group) !== group) return;
      await group.health.saveAll();
      held.delete(group.lane.group);
      await store.releaseLanes([group.lane]);
    };
    await Promise.all([...held.values()].map(leave));
  }

  /** Until the last call has ended: it may take longer than a lease, and nobody else is to call there meanwhile. */
  async function keepLanes(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await clock.sleep(shared.renewEveryMs, ended);
      if (ended.aborted) return;
      await renew().catch(() => {});
      for (const group of [...held.values()])
        if (group.leftMs() === 0) lose(group, "its lease could not be renewed in time");
    }
  }

  await announce();
  const renewed = renewing.run(stopping.signal);
  try {
    await acquire();
    await readSaved();
  } catch (error) {
    stopping.abort();
    throw error;
  }
  deps.journal?.forgetInherited();
  const sweeper = createSweeper({ ...deps, groups: () => [...held.values()], planFallbacks, notifier });
  const looking = lanes.run(stopping.signal);
  const loops = [
    sweeper.run(stopping.signal),
    looking,
    renewed,
    orphans.run(stopping.signal),
    ...(sharedByRelays ? [leaveInTime(), requests.run(stopping.signal)] : []),
  ];

  return {
    wake(names) {
      for (const name of names) wake(name);
    },
    ...createClaimingDesk(store, (name) => {
      const destination = destinations.get(name);
      const group = destination && groupOf(destination);
      const lane = group?.laneOf(name);
      return group && lane && { lane, fence: group.lane };
    }),
    lookForLanes() {
      renewing.wake();
      lanes.wake();
    },
    others: () => relays.filter(({ id }) => id !== owner),
    relays: () => relays,
    laneGroups: () => namesOf,
    unheld: () => unheldSince,
    configuration: () => configuration,
    requests,
    notify: (facts, watch, lane) => notifier.send(facts, { watch, lane }),
    serveDuties: duties.serveBy,
    leaveDuties: duties.leave,
    async setPause(name, by) {
      const destination = destinations.get(name);
      if (!destination) return false;
      await askHolder("pause", destination, { by: by ?? null });
      return true;
    },
    async tryNow(name) {
      const destination = destinations.get(name);
      if (!destination) return undefined;
      return (await askHolder("try", destination, {})) as Trial;
    },
    statuses: () => [...destinations.values()].map(stateOfAny),
    figures,
    lastTurnAt: sweeper.lastTurnAt,
    laneTurns: () => [...held.values()].flatMap((group) => group.turns()),
    async stop(deadlineMs) {
      stopping.abort();
      const dutiesEnded = duties.end();
      for (const group of held.values()) group.windDown();
      const ended = new AbortController();
      const all = Promise.all([...loops, ...running]).then(() => ended.abort());
      const failed = (error: unknown) => log.error("engine.state_unsaved", { error: String(error).slice(0, 300) });
      const left = sharedByRelays ? Promise.all([leaveLanes().catch(failed), keepLanes(ended.signal)]) : undefined;
      await Promise.race([all, clock.sleep(deadlineMs, ended.signal)]);
      for (const group of held.values()) group.end("Tocsin was stopped");
      await all;
      await left;
      await dutiesEnded;
      try {
        for (const group of held.values()) await group.health.saveAll();
        await store.forgetRelay(owner);
        await store.releaseLanes(heldLanes());
      } catch (error) {
        failed(error);
      }
    },
  };
}

interface PauseRequest {
  destination: string;
  /** Null: it is to go on. */
  by: string | null;
}

interface TryRequest {
  destination: string;
}

const elsewhere = (destination: string) =>
  new AppError("conflict", `Another relay has just taken the destination ${destination} over.`, {
    hint: "Try again.",
    retryAfterMs: 1_000,
  });

function groupOutlets(outlets: Outlet[]): Map<string, Outlet[]> {
  const groups = new Map<string, Outlet[]>();
  for (const outlet of outlets) {
    const name = laneGroupOf(outlet.destination);
    groups.set(name, [...(groups.get(name) ?? []), outlet]);
  }
  return groups;
}
