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
  /** The duties' lane, while this relay has the duties. A delivery whose destination is gone has no lane of its own. */
  lane(): LaneFence | undefined;
  /** A text that changes when there may be more to settle. Undefined: nothing may be settled now. */
  occasion(): string | undefined;
  destinations: ReadonlyMap<string, Destination>;
  planFallbacks: PlanFallbacks;
  notifier: Pick<Notifier, "send">;
  /** Between two looks, and after a failure. */
  everyMs: number;
}

/** Deliveries that one statement fails, with their fallbacks. */
const stepSize = 400;

/** Fails the deliveries to destinations that left the configuration. Runs when the duties begin, and at each new `occasion`. */
export function createOrphanSettler(deps: OrphanDeps): Poll {
  const { store, planFallbacks, notifier, clock, log } = deps;
  const known = [...deps.destinations.keys()];
  /** Fence and occasion under which everything was settled last. */
  let settledFor = "";
  /** Counts for the notice, by destination. They are kept when a try fails. */
  const unsaid = new Map<string, number>();
  let stop = new AbortController().signal;

  /**
   * @param before the first delivery of the last step. If it comes again, nothing was done, and this step throws
   * @returns the first delivery of this step, where there may be more
   */
  async function settleSome(lane: LaneFence, before: number | undefined): Promise<"done" | "lost" | number> {
    const orphans = await store.listOrphans(known, stepSize);
    if (orphans.length === 0) {
      // Only deliveries are left that a killed process was sending there.
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

  /** False when this relay stops, or another relay has the duties. */
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
      // The next relay with the duties does not find these deliveries. The counts are kept in case the duties come back.
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
