import type { DueDelivery } from "../../core/delivery-job.ts";
import type { Administration } from "../../core/ports/administration.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import { anyDestination } from "../../core/rules.ts";
import type { LaneGroup } from "../lane-group.ts";
import type { PlanFallbacks } from "../plan/plan-fallbacks.ts";
import type { Notifier } from "./notices.ts";
import { type RecoveryDeps, recoverAbandoned } from "./recovery.ts";

/** What has to be looked at all the time, whether or not an alert comes. */
export interface Sweeper {
  /** Goes round every second until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
  lastTurnAt(): number;
}

export interface SweeperDeps extends RecoveryDeps {
  store: Pick<Dispatch, "listFallbacksDue" | "callFallbacks" | "listAbandoned"> & Pick<Administration, "maintain">;
  /** That are held now. */
  groups(): LaneGroup[];
  planFallbacks: PlanFallbacks;
  notifier: Pick<Notifier, "sendFurther">;
}

const sweepMs = 1_000;

export function createSweeper(deps: SweeperDeps): Sweeper {
  const { store, clock, log } = deps;
  let lastTurnAt = clock.now();

  async function maintain(stop: AbortSignal): Promise<void> {
    const done = await store.maintain?.(clock.now(), stop);
    if (done !== undefined) log.info("store.maintained", done);
  }

  async function callFallbacks(): Promise<void> {
    const now = clock.now();
    const because = ({ destination }: DueDelivery) => `${destination} has not taken it in time`;
    const due = await store.listFallbacksDue(now);
    const ofNotices = due.filter(({ fallbackTo }) => fallbackTo === anyDestination);
    const calls = deps.planFallbacks(
      due.filter((delivery) => !ofNotices.includes(delivery)),
      because,
      now,
    );
    if (calls.length > 0) await store.callFallbacks(calls, now);
    await deps.notifier.sendFurther(ofNotices);
  }

  /** Each on its own: one that fails holds up none of the others. */
  async function takeTurn(stop: AbortSignal): Promise<void> {
    const groups = deps.groups();
    const duties: [string, () => Promise<void>][] = [
      ["leases", () => recoverAbandoned(deps, groups, "the call never ended")],
      ["fallbacks", callFallbacks],
      ...groups.flatMap((group) => Object.entries(group.duties)),
      ["maintenance", () => maintain(stop)],
    ];
    for (const [duty, perform] of duties) {
      await perform().catch((error: unknown) => {
        log.error("engine.sweep_failed", { duty, error: String(error).slice(0, 300) });
      });
    }
  }

  return {
    async run(stop) {
      while (!stop.aborted) {
        await takeTurn(stop);
        lastTurnAt = clock.now();
        await clock.sleep(sweepMs, stop);
      }
    },
    lastTurnAt: () => lastTurnAt,
  };
}
