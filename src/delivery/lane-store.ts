import type { Dispatch } from "../core/ports/dispatch.ts";
import type { LaneFence } from "../core/ports/lanes.ts";

/** What is asked for the lanes of one group, under their fence. */
type Fenced =
  | "claimDeliveries"
  | "claimRun"
  | "recordAttempt"
  | "recordAttempts"
  | "finishDeliveries"
  | "releaseClaim"
  | "savePaces"
  | "saveStatus";

type WithoutFence<Method> = Method extends (lane: LaneFence, ...rest: infer Rest) => Promise<infer Answer>
  ? (...rest: Rest) => Promise<Exclude<Answer, "lost">>
  : never;

/** The store as one lane group has it: whatever it writes goes under its fence. */
export type LaneStore = { [Name in Fenced]: WithoutFence<Dispatch[Name]> } & Pick<
  Dispatch,
  "listDue" | "listByKeys" | "nextDueAt" | "countDueTogether" | "findThread" | "findAlertFacts"
>;

/**
 * @param onLost another relay holds the group; called at each write that finds it so. For the caller that write has
 * come to nothing: no delivery was claimed, an attempt was late.
 */
export function createLaneStore(store: Dispatch, lane: LaneFence, onLost: () => void): LaneStore {
  async function unlessLost<Answer>(
    answer: Promise<Answer | "lost">,
    nothing: Exclude<Answer, "lost">,
  ): Promise<Exclude<Answer, "lost">> {
    const given = await answer;
    if (given !== "lost") return given as Exclude<Answer, "lost">;
    onLost();
    return nothing;
  }
  return {
    claimDeliveries: (...args) => unlessLost(store.claimDeliveries(lane, ...args), []),
    claimRun: (...args) => unlessLost(store.claimRun(lane, ...args), []),
    recordAttempt: (...args) => unlessLost(store.recordAttempt(lane, ...args), "late"),
    recordAttempts: (records) =>
      unlessLost(
        store.recordAttempts(lane, records),
        records.map(() => "late"),
      ),
    finishDeliveries: (...args) => unlessLost(store.finishDeliveries(lane, ...args), "done"),
    releaseClaim: (...args) => unlessLost(store.releaseClaim(lane, ...args), "done"),
    savePaces: (...args) => unlessLost(store.savePaces(lane, ...args), "done"),
    saveStatus: (...args) => unlessLost(store.saveStatus(lane, ...args), "done"),
    listDue: (...args) => store.listDue(...args),
    listByKeys: (...args) => store.listByKeys(...args),
    nextDueAt: (...args) => store.nextDueAt(...args),
    countDueTogether: (...args) => store.countDueTogether(...args),
    findThread: (...args) => store.findThread(...args),
    findAlertFacts: (...args) => store.findAlertFacts(...args),
  };
}
