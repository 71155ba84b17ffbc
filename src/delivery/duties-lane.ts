import { type Log, logFailure } from "../core/log.ts";
import { dutiesGroup, type LaneFence, type Lanes, type Lease } from "../core/ports/lanes.ts";
import { errorText } from "../ground/text/error-text.ts";

/** Does the duties until `stop` is aborted. Rejects when they cannot be begun: the lane is then freed and asked for again. */
export type ServeDuties = (lane: LaneFence, stop: AbortSignal) => Promise<void>;

export interface DutiesLaneDeps {
  store: Lanes;
  /** See `Lanes.acquireLanes`. */
  owner: string;
  leaseMs: number;
  log: Log;
}

/**
 * One relay at a time has the duties, by a lease.
 *
 *     free ──acquire──▶ held: served ──handOver──▶ served no more, then free
 *                        └─ another relay took it, or the lease ended ──▶ served no more
 */
export class DutiesLane {
  #held: { lane: LaneFence; lease: Lease; stop: AbortController } | undefined;
  #serve: ServeDuties | undefined;
  #serving: Promise<void> | undefined;
  #hasLeft = false;

  constructor(private readonly deps: DutiesLaneDeps) {}

  /** Does nothing while the lane is held, or duties of an earlier grant have not ended. Rejects as the store does. */
  async acquire(lease: Lease): Promise<void> {
    const { store, owner, leaseMs } = this.deps;
    if (this.#hasLeft || this.#held !== undefined || this.#serving !== undefined) return;
    const request = { group: dutiesGroup, statuses: [], paces: [] };
    const [grant] = await store.acquireLanes(owner, [request], leaseMs);
    if (grant === undefined) return;
    const lane = { group: grant.group, fence: grant.fence };
    if (this.#hasLeft) return this.#free(lane);
    this.#held = { lane, lease, stop: new AbortController() };
    this.#begin();
  }

  /** Undefined: another relay may hold the lane. */
  held = (): LaneFence | undefined => this.#held?.lane;

  extend(lease: Lease): void {
    if (this.#held !== undefined) this.#held.lease = lease;
  }

  /** How long the lane is surely held. `Infinity` when it is not held. */
  leftMs(): number {
    return this.#held?.lease.leftMs() ?? Number.POSITIVE_INFINITY;
  }

  lose(why: string): void {
    if (this.#held === undefined) return;
    const { lane, stop } = this.#held;
    this.#held = undefined;
    stop.abort();
    this.deps.log.warn("lane.lost", { ...lane, why });
  }

  /** Ends the duties, then frees the lane. Never rejects. */
  async handOver(): Promise<void> {
    const mine = this.#held;
    if (mine === undefined) return;
    mine.stop.abort();
    await this.#serving;
    if (this.#held !== mine) return;
    this.#held = undefined;
    await this.#free(mine.lane);
    // A single relay hands over to nobody.
    if (Number.isFinite(mine.lease.leftMs())) this.deps.log.info("lane.handed_over", { group: dutiesGroup });
  }

  /** Like `handOver`, and never asks for the lane again. */
  leave = (): Promise<void> => {
    this.#hasLeft = true;
    return this.handOver();
  };

  /** Ends the duties for good, and leaves the lane to the caller. Never rejects. */
  async end(): Promise<void> {
    this.#hasLeft = true;
    this.#held?.stop.abort();
    await this.#serving;
  }

  /** Whenever this relay holds the lane, `serve` does the duties. */
  serveBy(serve: ServeDuties): void {
    this.#serve = serve;
    this.#begin();
  }

  #begin(): void {
    const mine = this.#held;
    if (mine === undefined || this.#serve === undefined || this.#serving !== undefined) return;
    this.#serving = this.#serve(mine.lane, mine.stop.signal)
      .catch(async (error) => {
        this.deps.log.error("engine.duties_failed", { error: errorText(error) });
        if (this.#held !== mine) return;
        this.#held = undefined;
        await this.#free(mine.lane);
      })
      .finally(() => {
        this.#serving = undefined;
      });
  }

  async #free(lane: LaneFence): Promise<void> {
    // If the lane cannot be freed, its lease ends by itself.
    await this.deps.store.releaseLanes([lane]).catch(logFailure(this.deps.log, "engine.lanes_failed"));
  }
}
