import type { AlertFacts } from "../core/alert.ts";
import { DeliveryFigures } from "../core/delivery-figures.ts";
import type { DestinationState, DestinationStatus, StatusKey, Trial } from "../core/destination-status.ts";
import { AppError } from "../core/errors.ts";
import type { ConfigurationState } from "../core/judge-configuration.ts";
import { logFailure } from "../core/log.ts";
import type { PictureNotes } from "../core/picture-outcome.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import type { Administration } from "../core/ports/administration.ts";
import type { AlertLog } from "../core/ports/alert-log.ts";
import type { Dispatch } from "../core/ports/dispatch.ts";
import type { Illustrate } from "../core/ports/illustration.ts";
import type { Inbox } from "../core/ports/inbox.ts";
import { dutiesGroup, type LaneFence, type Lanes } from "../core/ports/lanes.ts";
import type { Relays } from "../core/ports/relays.ts";
import type { RoutingDesk } from "../core/ports/routing-desk.ts";
import type { CommonStates, WatchState } from "../core/ports/watch.ts";
import type { Destination } from "../core/rules.ts";
import { groupBy } from "../ground/group-by.ts";
import { createNotifier, type Notifier } from "./duties/notices.ts";
import { createOrphanSettler } from "./duties/orphans.ts";
import { Sweeper } from "./duties/sweep.ts";
import { DutiesLane } from "./duties-lane.ts";
import { type ClaimingDesk, createClaimingDesk } from "./lane/claiming-desk.ts";
import type { EngineContext } from "./lane/context.ts";
import type { LaneGroup, LaneGroupDeps, LaneTurn, Outlet } from "./lane-group.ts";
import { LaneKeeper, laneLeaseMs } from "./lane-keeper.ts";
import { Membership, type MembershipDeps } from "./membership.ts";
import { createPictureDesk } from "./memory/picture-desk.ts";
import { laneGroupOf } from "./plan/accounts.ts";
import { isWell, stateOf } from "./plan/health.ts";
import { createFallbackPlan } from "./plan/plan-fallbacks.ts";
import { type Wish, Wishes } from "./wishes.ts";

export interface EngineDeps
  extends EngineContext,
    Pick<LaneGroupDeps, "composer" | "readPayloads" | "publicUrl">,
    Pick<MembershipDeps, "self" | "report">,
    Partial<Pick<LaneGroupDeps, "findHold" | "findMute">> {
  store: Lanes &
    Relays &
    CommonStates &
    Dispatch &
    Inbox &
    Pick<RoutingDesk, "recordNotice" | "recordRouting" | "leaveRouting"> &
    Pick<AlertLog, "getAlert"> &
    Pick<Administration, "maintain" | "capabilities">;
  outlets: Outlet[];
  /** Draws pictures for destinations with `chart`. Absent: messages have no pictures. */
  illustrate?: Illustrate;
  /** Default: the results are not noted. */
  pictureNotes?: Pick<PictureNotes, "note">;
}

interface Doing<T> extends Pick<Wish, "by"> {
  here(group: LaneGroup): Promise<T>;
  /** The result, once the saved status shows it. */
  seen(own: DestinationStatus, before: DestinationStatus): T | undefined;
}

/** Delivers: runs the lane groups that it holds (lane-keeper.ts), and asks for the others every few seconds. */
export class Engine implements ClaimingDesk {
  readonly #isShared: boolean;
  readonly #destinations: ReadonlyMap<string, Destination>;
  readonly #outlets: ReadonlyMap<string, Outlet[]>;
  readonly #keeper: LaneKeeper;
  readonly #notifier: Notifier;
  readonly #orphans: Poll;
  readonly #sweeper: Sweeper;
  readonly #renewing: Poll;
  readonly #looking: Poll;
  readonly #stopping = new AbortController();
  #lookingEnded = Promise.resolve();
  #loops: Promise<unknown>[] = [];
  /** Statuses of destinations that other relays run, as those have saved them. */
  #saved = new Map<string, DestinationStatus>();

  readonly membership: Membership;
  readonly duties: DutiesLane;
  readonly figures: DeliveryFigures;
  /** Requests of people for destinations that other relays run. */
  readonly wishes: Wishes;
  readonly recordRouting: ClaimingDesk["recordRouting"];
  readonly acceptRequest: ClaimingDesk["acceptRequest"];

  /** Resolves when deliveries run. Rejects as the store does. */
  static async start(deps: EngineDeps): Promise<Engine> {
    const engine = new Engine(deps);
    await engine.#begin();
    return engine;
  }

  private constructor(private readonly deps: EngineDeps) {
    const { store, self, clock, log, illustrate, pictureNotes: notes } = deps;
    this.#isShared = store.capabilities.sharedByRelays;
    this.#outlets = groupBy(deps.outlets, ({ destination }) => laneGroupOf(destination));
    this.#destinations = new Map(deps.outlets.map(({ destination }) => [destination.name, destination]));
    this.figures = new DeliveryFigures(this.#destinations.keys());
    const shared = { ...deps, sharedByRelays: this.#isShared, owner: self.id, leaseMs: laneLeaseMs };
    this.membership = new Membership({ ...shared, groups: [...this.#outlets.keys(), dutiesGroup] });
    this.duties = new DutiesLane(shared);
    const planFallbacks = createFallbackPlan(this.#destinations);
    this.#notifier = createNotifier({
      ...shared,
      isWell: (destination) => isWell(this.#stateOf(destination)),
      destinations: [...this.#destinations.values()],
    });
    const sending = {
      ...shared,
      membership: this.membership,
      duties: this.duties,
      notifier: this.#notifier,
      planFallbacks,
      findHold: deps.findHold ?? (() => undefined),
      findMute: deps.findMute ?? (async () => undefined),
      pictureDesk: illustrate && createPictureDesk({ illustrate, notes, clock, log }),
      figures: this.figures,
      startedAt: clock.now(),
    };
    this.#keeper = new LaneKeeper({ ...sending, outlets: this.#outlets });
    this.#sweeper = new Sweeper({ ...sending, groups: this.#keeper.groups });
    this.#orphans = createOrphanSettler({
      ...sending,
      lane: this.duties.held,
      occasion: () => this.membership.whyOrphans(),
      destinations: this.#destinations,
      everyMs: this.#keeper.renewEveryMs,
    });
    this.#renewing = this.#keeper.renewing(() => this.#looking.wake());
    const onFailed = logFailure(log, "engine.lanes_failed");
    this.#looking = createPoll({ look: () => this.#look(), everyMs: this.#keeper.lookEveryMs, clock, onFailed });
    this.wishes = new Wishes({
      ...shared,
      runs: (name) => {
        const destination = this.#destinations.get(name);
        return destination !== undefined && this.#keeper.serving(destination) !== undefined;
      },
      fulfil: ({ destination, by }) =>
        by === undefined ? this.tryNow(destination) : this.setPause(destination, by ?? undefined),
    });
    const desk = createClaimingDesk(store, (name) => {
      const group = this.#groupOf(name);
      const lane = group?.laneOf(name);
      return group && lane && { lane, fence: group.lane };
    });
    this.recordRouting = desk.recordRouting;
    this.acceptRequest = desk.acceptRequest;
  }

  /** Ignores unknown names. */
  wake = (names: Iterable<string>): void => {
    for (const name of names) this.#groupOf(name)?.laneOf(name)?.wake();
  };

  /** Looks which relays run, and asks for lane groups that are not held: one may be free. */
  lookForLanes = (): void => {
    this.#renewing.wake();
    this.#looking.wake();
  };

  laneGroups = (): ReadonlyMap<string, string[]> =>
    new Map([...this.#outlets].map(([group, its]) => [group, its.map(({ destination }) => destination.name)]));

  /** As of the last announcement. */
  configuration = (): ConfigurationState => this.membership.configuration();

  /** Sends a notice, see `Notifier.send` and `NoticeOptions`. Rejects as the store does. */
  notify(facts: AlertFacts, watch?: WatchState, lane?: LaneFence, to?: string): Promise<"done" | "lost"> {
    return this.#notifier.send(facts, { watch, lane, to });
  }

  /** Probes a destination at once. Undefined for an unknown name. The relay that runs it does so. Rejects like `Wishes.leave`. */
  tryNow = async (name: string): Promise<Trial | undefined> => {
    const destination = this.#destinations.get(name);
    if (destination === undefined) return undefined;
    return this.#do(destination, {
      here: (group) => group.tryNow(destination),
      seen: ({ tried }, before) => (tried?.at === before.tried?.at ? undefined : tried?.trial),
    });
  };

  /**
   * Pauses a destination for a person, or resumes it (`by` undefined). Its alerts wait and do not expire, also across a restart.
   * False for an unknown name. The relay that runs it does so. Rejects as `Wishes.leave` does.
   */
  async setPause(name: string, by: string | undefined): Promise<boolean> {
    const destination = this.#destinations.get(name);
    if (destination === undefined) return false;
    await this.#do(destination, {
      by: by ?? null,
      here: (group) => group.setPause(destination, by).then(() => true),
      seen: ({ paused }) => (paused === undefined) === (by === undefined) || undefined,
    });
    return true;
  }

  /** The state of a destination that another relay runs may be some seconds old. */
  statuses = (): DestinationState[] => [...this.#destinations.values()].map((one) => this.#stateOf(one));

  /** When the last round ended, for the readiness check. */
  lastTurnAt = (): number => this.#sweeper.lastTurnAt();

  /** Only of lanes that this relay holds. */
  laneTurns = (): LaneTurn[] => this.#keeper.groups().flatMap((group) => group.turns());

  /** Stops claiming, waits up to `deadlineMs` for calls, aborts and records the rest, frees its lane groups. Never rejects. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping.abort();
    await this.#keeper.stop(deadlineMs, this.#lookingEnded, this.#loops);
  }

  async #begin(): Promise<void> {
    const { signal } = this.#stopping;
    await this.membership.announce(this.#keeper.holds);
    const renewed = this.#renewing.run(signal);
    try {
      await this.#keeper.acquire();
      await this.#readSaved();
    } catch (error) {
      this.#stopping.abort();
      throw error;
    }
    this.deps.journal?.forgetInherited();
    this.#lookingEnded = this.#looking.run(signal);
    this.#loops = [this.#sweeper.run(signal), renewed, this.#orphans.run(signal)];
    if (this.#isShared) this.#loops.push(this.#keeper.leaveInTime(signal), this.wishes.run(signal));
  }

  /** When the announcement fails, this relay goes by its last knowledge of the others. */
  async #look(): Promise<void> {
    const [announced] = await Promise.allSettled([this.membership.announce(this.#keeper.holds)]);
    await this.#keeper.balance();
    this.#orphans.wake();
    await this.#readSaved();
    if (announced.status === "rejected") throw announced.reason;
  }

  async #readSaved(): Promise<void> {
    if (!this.#isShared || this.#keeper.holdsAll()) return;
    this.#saved = new Map((await this.deps.store.loadStatuses()).map((status) => [savedAs(status), status]));
  }

  #stateOf(destination: Destination): DestinationState {
    const held = this.#keeper.groupOf(destination)?.health.stateOf(destination);
    return held ?? stateOf(destination, (key) => this.#saved.get(savedAs(key)), this.deps.clock.now());
  }

  #groupOf(name: string): LaneGroup | undefined {
    const destination = this.#destinations.get(name);
    return destination && this.#keeper.groupOf(destination);
  }

  /** Does the request, or leaves it for the relay that runs the destination. */
  async #do<T>(destination: Destination, { by, here, seen }: Doing<T>): Promise<T> {
    const { name } = destination;
    const group = this.#keeper.serving(destination);
    if (group === undefined) {
      if (!this.#isShared) throw new AppError("conflict", `Another relay runs the destination ${name}.`);
      const before = await this.#ownOf(destination);
      const look = async () => seen(await this.#ownOf(destination), before);
      return seen(before, before) ?? this.wishes.leave({ destination: name, by }, look);
    }
    const done = await here(group);
    if (this.#groupOf(name) !== group) throw elsewhere(name);
    if (this.#isShared) await group.health.save();
    return done;
  }

  /** Read anew where another relay runs the destination. */
  async #ownOf(destination: Destination): Promise<DestinationStatus> {
    await this.#readSaved();
    return this.#stateOf(destination).own;
  }
}

const savedAs = ({ kind, name }: StatusKey) => `${kind} ${name}`;

const elsewhere = (destination: string) =>
  new AppError("conflict", `Another relay has just taken the destination ${destination} over.`, {
    hint: "Try again.",
    retryAfterMs: 1_000,
  });
