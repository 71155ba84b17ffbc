import { orphanReason } from "../../core/delivery.ts";
import { logFailure } from "../../core/log.ts";
import { createPoll, type Poll } from "../../core/poll.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import type { Destination } from "../../core/rules.ts";
import type { EngineContext } from "../lane/context.ts";
import type { PlanFallbacks } from "../plan/plan-fallbacks.ts";
import { writeOrphanNotice } from "../plan/plan-notice.ts";
import type { Notifier } from "./notices.ts";

export interface OrphanDeps extends Pick<EngineContext, "clock" | "log"> {
  store: Pick<Dispatch, "listOrphans" | "finishDeliveries" | "failOrphans">;
  /** The duties' lane, while this relay has them. A delivery whose destination is gone has no lane of its own. */
  lane(): LaneFence | undefined;
  /**
   * Changes when there may be more to settle than at the last time. Undefined: nothing is to be settled now.
   */
  occasion(): string | undefined;
  destinations: ReadonlyMap<string, Destination>;
  planFallbacks: PlanFallbacks;
  notifier: Pick<Notifier, "send">;
  /** How often it is seen whether there is something to do, and how soon it is tried again when it failed. Milliseconds. */
  everyMs: number;
}

/** One statement, and what the fallbacks of as many take. */
const stepSize = 400;

/**
 * What waits for a destination that the configuration no longer has, renamed perhaps, fails. Its fallback gets it, and people get
 * a notice: nobody else would see it. There may be many, and a step may fail: the work is done in steps while everything else
 * runs, and is tried again until it is done. It begins when this relay gets the duties, and at each other occasion.
 */
export function createOrphanSettler(deps: OrphanDeps): Poll {
  const { store, planFallbacks, notifier, clock, log } = deps;
  const known = [...deps.destinations.keys()];
  /** The fence and the occasion of the last time that all was settled. */
  let settledFor = "";
  /** What people have not heard of yet, by destination. Kept when a try fails. */
  const unsaid = new Map<string, number>();
  let stop = new AbortController().signal;

  /**
   * @param before the delivery that the step before began with: one that comes again would come for ever
   * @returns the delivery that it began with, where there may be more
   */
  async function settleSome(lane: LaneFence, before: number | undefined): Promise<"done" | "lost" | number> {
    const orphans = await store.listOrphans(known, stepSize);
    if (orphans.length === 0) {
      // Deliveries that a killed process was sending there are left.
      return (await store.failOrphans(lane, known, clock.now())) === "lost" ? "lost" : "done";
    }
    const seqs = orphans.map((delivery) => delivery.seq);
    const [first = 0] = seqs;
    if (first === before) throw new Error(`delivery ${first} to ${orphans[0]?.destination} cannot be ended`);
    const now = clock.now();
    const calls = planFallbacks(orphans, ({ destination }) => `${destination} is no longer configured`, now);
    const failed = { state: "failed", reason: orphanReason } as const;
    if ((await store.finishDeliveries(lane, seqs, failed, now, calls)) === "lost") return "lost";
    for (const { destination, purpose } of orphans)
      if (purpose !== "notice") unsaid.set(destination, (unsaid.get(destination) ?? 0) + 1);
    return first;
  }

  /** Whether all is settled: neither was it stopped, nor has another relay the duties now. */
  async function settle(lane: LaneFence): Promise<boolean> {
    let first: number | undefined;
    for (;;) {
      const step = await settleSome(lane, first);
      if (typeof step !== "number") return step === "done";
      first = step;
      if (stop.aborted || deps.lane()?.fence !== lane.fence) return false;
    }
  }

  async function say(lane: LaneFence): Promise<void> {
    for (const [destination, count] of unsaid) {
      log.warn("delivery.orphans", { destination, count });
      // The next relay with the duties finds none of them, so the notice is kept in case they come back.
      if ((await notifier.send(writeOrphanNotice(destination, count), { lane })) === "lost") return;
      unsaid.delete(destination);
    }
  }

  const poll = createPoll({
    async look() {
      const [lane, occasion] = [deps.lane(), deps.occasion()];
      if (lane === undefined || occasion === undefined) return;
      const now = `${lane.fence} ${occasion}`;
      if (now === settledFor) return;
      const isDone = await settle(lane);
      await say(lane);
      if (isDone) settledFor = now;
    },
    everyMs: deps.everyMs,
    clock,
    onFailed: logFailure(log, "delivery.orphans_unsettled"),
  });

  return {
    wake: poll.wake,
    run(signal) {
      stop = signal;
      return poll.run(signal);
    },
  };
}
