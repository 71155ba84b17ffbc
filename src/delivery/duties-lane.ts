import type { Log } from "../core/log.ts";
import type { LaneFence, Lanes } from "../core/ports/lanes.ts";
import type { Lease } from "./lease.ts";

/** The lane group of what is done, and told, once for all relays on a database. */
export const dutiesGroup = "duties";

/**
 * Does it under this lane until `stop` is aborted, and resolves when nothing of it goes on. Rejects when it cannot be
 * begun: the lane is freed then, and asked for again.
 */
export type ServeDuties = (lane: LaneFence, stop: AbortSignal) => Promise<void>;

export interface DutiesLaneDeps {
  store: Lanes;
  /** See `Lanes.acquireLanes`. */
  owner: string;
  leaseMs: number;
  log: Log;
}

/**
 * Who has the duties: one relay at a time, by a lease like that of deliveries.
 *
 *     free ──acquire──▶ held: served ──handOver──▶ served no more, then free
 *                        └─ another relay took it, or the lease ended ──▶ served no more
 */
export interface DutiesLane {
  /** Asks for it, unless it is held, or what was begun under a former grant has not ended. Rejects as the store does. */
  acquire(lease: Lease): Promise<void>;
  /** Undefined: it is not held. */
  held(): LaneFence | undefined;
  /** The same, unless it is about to be left: one lane or none. */
  served(): LaneFence[];
  extend(lease: Lease): void;
  /** How long it is surely held, milliseconds; `Infinity` when it is not held. */
  leftMs(): number;
  lose(why: string): void;
  /** Ends what is served, then frees the lane for the next relay. Never rejects. */
  handOver(): Promise<void>;
  /** The same for good: it is asked for no more. */
  leave(): Promise<void>;
  /** Ends what is served for good, and leaves it to the caller to free the lane. Never rejects. */
  end(): Promise<void>;
  /** Who serves from now on; called at once where the lane is held. */
  serveBy(serve: ServeDuties): void;
}

export function createDutiesLane({ store, owner, leaseMs, log }: DutiesLaneDeps): DutiesLane {
  let held: { lane: LaneFence; lease: Lease; stop: AbortController } | undefined;
  let serve: ServeDuties | undefined;
  let serving: Promise<void> | undefined;
  let hasLeft = false;

  function begin(): void {
    const mine = held;
    if (mine === undefined || serve === undefined || serving !== undefined) return;
    serving = serve(mine.lane, mine.stop.signal)
      .catch(async (error) => {
        log.error("engine.duties_failed", { error: String(error).slice(0, 300) });
        if (held !== mine) return;
        held = undefined;
        await free(mine.lane);
      })
      .finally(() => {
        serving = undefined;
      });
  }

  async function handOver(): Promise<void> {
    const mine = held;
    if (mine === undefined) return;
    mine.stop.abort();
    await serving;
    if (held !== mine) return;
    held = undefined;
    await free(mine.lane);
    // With one relay there is nobody who takes it.
    if (Number.isFinite(mine.lease.leftMs())) log.info("lane.handed_over", { group: dutiesGroup });
  }

  async function free(lane: LaneFence): Promise<void> {
    // Its lease ends by itself.
    await store
      .releaseLanes([lane])
      .catch((error) => log.error("engine.lanes_failed", { error: String(error).slice(0, 300) }));
  }

  return {
    async acquire(lease) {
      if (hasLeft || held !== undefined || serving !== undefined) return;
      const request = { group: dutiesGroup, statuses: [], paces: [] };
      const [grant] = await store.acquireLanes(owner, [request], leaseMs);
      if (grant === undefined) return;
      const lane = { group: grant.group, fence: grant.fence };
      if (hasLeft) return free(lane);
      held = { lane, lease, stop: new AbortController() };
      begin();
    },
    held: () => held?.lane,
    served: () => (held === undefined || held.stop.signal.aborted || held.lease.leftMs() === 0 ? [] : [held.lane]),
    extend(lease) {
      if (held !== undefined) held.lease = lease;
    },
    leftMs: () => held?.lease.leftMs() ?? Number.POSITIVE_INFINITY,
    lose(why) {
      if (held === undefined) return;
      const { lane, stop } = held;
      held = undefined;
      stop.abort();
      log.warn("lane.lost", { ...lane, why });
    },
    handOver,
    leave() {
      hasLeft = true;
      return handOver();
    },
    async end() {
      hasLeft = true;
      held?.stop.abort();
      await serving;
    },
    serveBy(by) {
      serve = by;
      begin();
    },
  };
}
