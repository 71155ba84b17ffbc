import { logFailure } from "../core/log.ts";
import { createPoll, type Poll } from "../core/poll.ts";
import {
  dutiesGroup,
  endless,
  type LaneFence,
  type LaneGrant,
  type Lanes,
  type Lease,
  startLease,
} from "../core/ports/lanes.ts";
import type { Relays } from "../core/ports/relays.ts";
import type { Destination } from "../core/rules.ts";
import { followQuietHours } from "./duties/follow-quiet-hours.ts";
import { type RecoveryDeps, recoverAbandoned } from "./duties/recovery.ts";
import type { DutiesLane } from "./duties-lane.ts";
import { LaneGroup, type LaneGroupDeps, type Outlet, requestOf } from "./lane-group.ts";
import type { Membership } from "./membership.ts";
import { laneGroupOf } from "./plan/accounts.ts";

export interface LaneKeeperDeps extends Omit<LaneGroupDeps, "lease" | "onLost">, Omit<RecoveryDeps, "store"> {
  store: LaneGroupDeps["store"] & Lanes & Pick<Relays, "forgetRelay">;
  sharedByRelays: boolean;
  owner: string;
  /** All configured destinations, by lane group. */
  outlets: ReadonlyMap<string, Outlet[]>;
  membership: Membership;
  duties: DutiesLane;
}

/** After this time the lanes of a dead relay are free. */
export const laneLeaseMs = 15_000;
/** How often leases are renewed. No other relay can take a lane of a SQLite store, so the disk is spared there. */
const [renewSharedMs, renewAloneMs] = [3_000, 10_000];
const lookAgainMs = 200;
/** A lease counts as over this much earlier: a call that leaves at its end needs a moment. */
const leaseMarginMs = 1_000;
const takenOver = "another relay took the destination over";
const notRenewed = "its lease could not be renewed in time";

/**
 * Holds the lane groups of this relay:
 *
 *     free ──acquire──▶ held, and what its former holder left is settled ──▶ its lanes run
 *                        ├─ another relay has too few ──▶ its calls end ──▶ saved ──▶ free
 *                        └─ another relay took it, or its lease could not be renewed ──▶ lost: its calls are ended
 */
export class LaneKeeper {
  readonly #held = new Map<string, LaneGroup>();
  /** Held groups that go to another relay when their calls have ended. */
  readonly #leaving = new Set<string>();
  /** One promise for each group with calls in flight, also for lost groups. */
  readonly #running = new Set<Promise<void>>();
  #isStopping = false;
  /** False while leases cannot be renewed. No group is taken then. */
  #canRenew = true;
  /** A free lane was not granted: another relay asked for it too, or has too few. It is asked for again soon. */
  #leavesSome = false;
  readonly renewEveryMs: number;

  constructor(private readonly deps: LaneKeeperDeps) {
    this.renewEveryMs = deps.sharedByRelays ? renewSharedMs : renewAloneMs;
  }

  groups = (): LaneGroup[] => [...this.#held.values()];

  groupOf = (destination: Destination): LaneGroup | undefined => this.#held.get(laneGroupOf(destination));

  /** Undefined where the group is lost, or about to be left. */
  serving(destination: Destination): LaneGroup | undefined {
    const group = this.groupOf(destination);
    return group && !this.#leaving.has(group.lane.group) && group.leftMs() > 0 ? group : undefined;
  }

  holds = (group: string): boolean => this.#held.has(group);

  holdsAll = (): boolean => this.#held.size === this.deps.outlets.size;

  /** How soon to ask for free lanes again. */
  lookEveryMs = (): number => (this.#leavesSome && this.deps.sharedByRelays ? lookAgainMs : this.renewEveryMs);

  /** Hands over what is more than this relay's share, and takes free groups. Rejects as the store does. */
  async balance(): Promise<void> {
    const kept = this.groups().filter(({ lane }) => !this.#leaving.has(lane.group));
    const { handOver: tooMany } = this.#share();
    for (const group of tooMany > 0 ? kept.slice(-tooMany) : []) void this.#handOver(group);
    if (!this.deps.membership.isNewest()) void this.deps.duties.handOver();
    if (this.#canRenew) await this.acquire();
  }

  /** Delivery in a group begins when the claims of its former holders are settled. */
  async acquire(): Promise<void> {
    const { store, outlets, membership, duties, owner, settings } = this.deps;
    const missing = [...outlets].filter(([group]) => !this.holds(group));
    const requests = missing.map(([group, its]) => requestOf(group, its, settings));
    const most = Math.max(0, this.#share().most - this.#held.size);
    this.#leavesSome = false;
    // A relay with an older configuration does not know all watches and destinations.
    if (membership.isNewest()) await duties.acquire(this.#beginLease());
    const lease = this.#beginLease();
    if (requests.length === 0 || most === 0) return;
    const grants = await store.acquireLanes(owner, requests, laneLeaseMs, most);
    const taken = new Set([...membership.taken(), ...grants.map(({ group }) => group)]);
    this.#leavesSome = missing.some(([group]) => !taken.has(group));
    // All groups are opened first: a healthy one sends the notices of another.
    const groups = grants.map((grant) => this.#open(grant, lease));
    await this.#settle(groups);
    if (this.#isStopping) return;
    for (const group of groups.filter((one) => this.#isHeld(one))) {
      group.start();
      const ended = group.ended.then(() => void this.#running.delete(ended));
      this.#running.add(ended);
    }
  }

  /** Renews the leases until `stop` is aborted. @param onFewer called when a group was lost. It may be asked for again */
  renewing(onFewer: () => void): Poll {
    return createPoll({
      look: async () => {
        const before = this.#lanes().length;
        const [renewed] = await Promise.allSettled([this.#renew()]);
        this.#canRenew = renewed.status === "fulfilled";
        if (renewed.status === "rejected") throw renewed.reason;
        if (this.#lanes().length < before) onFewer();
      },
      everyMs: this.renewEveryMs,
      clock: this.deps.clock,
      onFailed: logFailure(this.deps.log, "engine.renewal_failed"),
    });
  }

  /** Leaves lanes whose lease is over, even while the store does not answer. */
  async leaveInTime(stop: AbortSignal): Promise<void> {
    const { duties, clock } = this.deps;
    while (!stop.aborted) {
      this.#loseOverdue();
      if (duties.leftMs() === 0) duties.lose(notRenewed);
      const soonest = Math.min(...[...this.groups(), duties].map((one) => one.leftMs()), laneLeaseMs);
      await clock.sleep(Math.max(soonest, 50), stop);
    }
  }

  /**
   * Takes nothing more, waits up to `deadlineMs` for calls in flight, then ends them, and frees everything. Never rejects.
   * `looking` resolves when no look for lanes runs any more. `loops` must end before the lanes are freed.
   */
  async stop(deadlineMs: number, looking: Promise<void>, loops: Promise<unknown>[]): Promise<void> {
    const { store, sharedByRelays, owner, duties, clock, log } = this.deps;
    this.#isStopping = true;
    const dutiesEnded = duties.end();
    for (const group of this.groups()) group.windDown();
    const ended = new AbortController();
    const all = Promise.all([looking, ...loops, ...this.#running]).then(() => ended.abort());
    const failed = logFailure(log, "engine.state_unsaved");
    const left = sharedByRelays
      ? Promise.all([this.#leaveEach(looking).catch(failed), this.#keepUntil(ended.signal)])
      : undefined;
    await Promise.race([all, clock.sleep(deadlineMs, ended.signal)]);
    for (const group of this.groups()) group.end("Tocsin was stopped");
    await all;
    await left;
    await dutiesEnded;
    try {
      for (const group of this.groups()) await group.health.saveAll();
      await store.forgetRelay(owner);
      await store.releaseLanes(this.#lanes());
    } catch (error) {
      failed(error);
    }
  }

  #share() {
    return this.deps.membership.share([...this.deps.outlets.keys()], this.#held.size - this.#leaving.size);
  }

  #isHeld(group: LaneGroup): boolean {
    return this.#held.get(group.lane.group) === group;
  }

  #beginLease(): Lease {
    return this.deps.sharedByRelays ? startLease(laneLeaseMs - leaseMarginMs, { now: this.deps.clock.now }) : endless;
  }

  #lanes(): LaneFence[] {
    const ofDuties = this.deps.duties.held();
    return [...this.groups().map(({ lane }) => lane), ...(ofDuties === undefined ? [] : [ofDuties])];
  }

  #open(grant: LaneGrant, lease: Lease): LaneGroup {
    const outlets = this.deps.outlets.get(grant.group) ?? [];
    const onLost = () => this.#lose(group, takenOver);
    const group: LaneGroup = new LaneGroup(grant, outlets, { ...this.deps, lease, onLost });
    this.#held.set(grant.group, group);
    return group;
  }

  /** Settles claims of former holders and held deliveries. A group where that fails is asked for again. */
  async #settle(groups: LaneGroup[]): Promise<void> {
    const destinations = groups.flatMap((group) => group.destinations);
    try {
      await recoverAbandoned(this.deps, groups, "Tocsin was stopped during the call");
      await followQuietHours({ ...this.deps, destinations });
    } catch (error) {
      for (const group of groups.filter((one) => this.#isHeld(one))) this.#held.delete(group.lane.group);
      throw error;
    }
  }

  async #renew(): Promise<void> {
    const { store, duties } = this.deps;
    const lease = this.#beginLease();
    // The answer does not name groups that are acquired meanwhile.
    const [asked, ofDuties] = [this.groups(), duties.held()];
    const kept = new Set(await store.renewLanes(this.#lanes(), laneLeaseMs));
    for (const group of asked) {
      if (kept.has(group.lane.group)) group.extend(lease);
      else this.#lose(group, takenOver);
    }
    if (ofDuties === undefined || duties.held()?.fence !== ofDuties.fence) return;
    if (kept.has(dutiesGroup)) duties.extend(lease);
    else duties.lose("another relay took them over");
  }

  #lose(group: LaneGroup, why: string): void {
    if (!this.#isHeld(group)) return;
    const { group: name, fence } = group.lane;
    this.#held.delete(name);
    group.end(why);
    this.deps.log.warn("lane.lost", { group: name, fence, why });
  }

  #loseOverdue(): void {
    for (const group of this.groups()) if (group.leftMs() === 0) this.#lose(group, notRenewed);
  }

  /** Hands a group to a relay that has too few. Its calls end first: two calls to one chat must not overlap. */
  async #handOver(group: LaneGroup): Promise<void> {
    const { log } = this.deps;
    const { group: name } = group.lane;
    this.#leaving.add(name);
    try {
      group.windDown();
      if (await this.#free(group)) log.info("lane.handed_over", { group: name });
    } catch (error) {
      // If the lane cannot be freed, its lease ends by itself.
      this.#lose(group, "its lease is renewed no more");
      logFailure(log, "engine.lanes_failed")(error);
    } finally {
      this.#leaving.delete(name);
    }
  }

  /** Frees the group when its calls have ended. False: it was lost meanwhile. */
  async #free(group: LaneGroup): Promise<boolean> {
    await group.ended;
    if (!this.#isHeld(group)) return false;
    await group.health.saveAll();
    this.#held.delete(group.lane.group);
    await this.deps.store.releaseLanes([group.lane]);
    return true;
  }

  /** Frees each lane when its own calls have ended. */
  async #leaveEach(looking: Promise<void>): Promise<void> {
    // A running look would announce this relay again.
    await looking;
    await this.deps.store.forgetRelay(this.deps.owner);
    await Promise.all(this.groups().map((group) => this.#free(group)));
  }

  /** Renews the leases until the last call has ended. A call may take longer than a lease. */
  async #keepUntil(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await this.deps.clock.sleep(renewSharedMs, ended);
      if (ended.aborted) return;
      await this.#renew().catch(() => {});
      this.#loseOverdue();
    }
  }
}
