import { logFailure } from "../../core/log.ts";
import type { Administration } from "../../core/ports/administration.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import { anyDestination } from "../../core/rules.ts";
import type { LaneGroup } from "../lane-group.ts";
import type { PlanFallbacks } from "../plan/plan-fallbacks.ts";
import type { Notifier } from "./notices.ts";
import { type RecoveryDeps, recoverAbandoned } from "./recovery.ts";

export interface SweeperDeps extends RecoveryDeps {
  store: Pick<Dispatch, "listFallbacksDue" | "callFallbacks" | "listAbandoned" | "releaseRest"> &
    Pick<Administration, "maintain">;
  groups(): LaneGroup[];
  planFallbacks: PlanFallbacks;
  notifier: Pick<Notifier, "sendFurther">;
}

const sweepMs = 1_000;

/** Does every second the work that no alert starts. */
export class Sweeper {
  #lastTurnAt: number;

  constructor(private readonly deps: SweeperDeps) {
    this.#lastTurnAt = deps.clock.now();
  }

  /** Runs until `stop` is aborted. Never rejects. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    while (!stop.aborted) {
      await this.#turn(stop);
      this.#lastTurnAt = clock.now();
      await clock.sleep(sweepMs, stop);
    }
  }

  lastTurnAt(): number {
    return this.#lastTurnAt;
  }

  /** Runs each duty by itself, so one that fails does not delay the others. */
  async #turn(stop: AbortSignal): Promise<void> {
    const groups = this.deps.groups();
    const duties: [string, () => Promise<void>][] = [
      ["leases", () => recoverAbandoned(this.deps, groups, "the call never ended")],
      ["fallbacks", () => this.#callFallbacks()],
      ["groups", () => this.#releaseRest(groups, stop)],
      ...groups.flatMap((group) => Object.entries(group.duties)),
      ["maintenance", () => this.#maintain(stop)],
    ];
    for (const [duty, perform] of duties) {
      await perform().catch(logFailure(this.deps.log, "engine.sweep_failed", { duty }));
    }
  }

  async #callFallbacks(): Promise<void> {
    const { store, clock, notifier, planFallbacks } = this.deps;
    const now = clock.now();
    const due = await store.listFallbacksDue(now);
    const ofNotices = due.filter(({ fallbackTo }) => fallbackTo === anyDestination);
    const others = due.filter((delivery) => !ofNotices.includes(delivery));
    const calls = planFallbacks(others, ({ destination }) => `${destination} has not taken it in time`, now);
    if (calls.length > 0) await store.callFallbacks(calls, now);
    await notifier.sendFurther(ofNotices);
  }

  /** Each step is a transaction of its own: alerts are accepted between them. */
  async #releaseRest(groups: LaneGroup[], stop: AbortSignal): Promise<void> {
    const names = groups.flatMap(({ destinations }) => destinations.map(({ name }) => name));
    while (!stop.aborted && (await this.deps.store.releaseRest(names, this.deps.clock.now())));
  }

  async #maintain(stop: AbortSignal): Promise<void> {
    const { store, clock, log } = this.deps;
    const done = await store.maintain?.(clock.now(), stop);
    if (done !== undefined) log.info("store.maintained", done);
  }
}
