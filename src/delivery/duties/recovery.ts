import type { AbandonedDelivery, Dispatch } from "../../core/ports/dispatch.ts";
import type { Destination } from "../../core/rules.ts";
import { groupBy } from "../../ground/group-by.ts";
import type { EngineContext } from "../lane/context.ts";
import type { LaneGroup } from "../lane-group.ts";
import { decideNext, historyOf } from "../plan/policy.ts";
import { advance } from "../plan/progress.ts";

export interface RecoveryDeps extends Omit<EngineContext, "newId"> {
  store: Pick<Dispatch, "listAbandoned">;
}

/** The deliveries of a claim, newest first. */
type Abandoned = [AbandonedDelivery, ...AbandonedDelivery[]];

/** Deliveries that the writing thread records in some 50 ms. */
const recoveryBatch = 2000;

/**
 * Ends claims of a former holder of the lane, or with a lease that is over. Their call may have been made: each is recorded as
 * ambiguous, and the policy decides. Claims that the journal lists were never called. They go back into the queue.
 * @param groups all held groups: one statement asks for them every second
 * @param detail the reason in words for people
 */
export async function recoverAbandoned(
  deps: RecoveryDeps,
  groups: Pick<LaneGroup, "lane" | "destinations" | "store" | "health">[],
  detail: string,
  now = deps.clock.now(),
): Promise<void> {
  if (groups.length === 0) return;
  const homes = new Map(
    groups.flatMap((group) => group.destinations.map((destination) => [destination.name, { group, destination }])),
  );
  const fences = Object.fromEntries([...homes].map(([name, { group }]) => [name, group.lane.fence]));
  const abandoned = await deps.store.listAbandoned(fences, recoveryBatch);
  if (abandoned.length === 0) return;
  const claims = [...groupBy(abandoned.toReversed(), ({ token }) => token).values()] as Abandoned[];
  const results = await Promise.all(
    claims.map(async (claim) => {
      const home = homes.get(claim[0].destination);
      return home && (await recover(deps, claim, home.destination, home.group, detail, now));
    }),
  );
  deps.log.warn("delivery.recovered", { count: abandoned.length });
  // A batch that settles nothing would otherwise come again for ever.
  if (abandoned.length === recoveryBatch && results.includes("recorded"))
    await recoverAbandoned(deps, groups, detail, now);
}

/** What was sent together is due again together: by itself, a beginning would be told behind the end that took it along. */
async function recover(
  { settings, random, journal }: RecoveryDeps,
  deliveries: Abandoned,
  destination: Destination,
  { store, health }: Pick<LaneGroup, "store" | "health">,
  detail: string,
  now: number,
): Promise<"recorded" | "late"> {
  const [{ progress, digestId, token }] = deliveries;
  if (journal?.isUntried(token)) {
    // Only deliveries that are due from their creation are claimed ahead.
    await store.releaseClaim(token, Math.min(...deliveries.map(({ createdAt }) => createdAt)));
    return "recorded";
  }
  const outcome = { kind: "ambiguous", reason: "process_stopped", detail } as const;
  const history = historyOf({ deliveries, digest: digestId }, destination, progress);
  const next = decideNext(outcome, history, settings, now, random);
  const result = await store.recordAttempt(
    {
      token,
      deliverySeqs: deliveries.map(({ seq }) => seq),
      at: now,
      durationMs: 0,
      action: "send",
      part: 1,
      parts: 1,
      outcome: outcome.kind,
      reason: outcome.reason,
      detail,
      countsAsAttempt: true,
      progress: advance(progress, { kind: "abandoned" }),
      next,
    },
    [],
  );
  if (result === "recorded") health.noteEnding({ destination, deliveries, outcome, next });
  return result;
}
