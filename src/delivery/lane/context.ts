import type { Clock, Random } from "../../core/clock.ts";
import type { DeliverySettings } from "../../core/delivery-settings.ts";
import type { NewId } from "../../core/id.ts";
import type { Log } from "../../core/log.ts";
import type { Channel } from "../../core/ports/channel.ts";
import type { ClaimJournal } from "../../core/ports/claim-journal.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import type { Destination } from "../../core/rules.ts";
import type { HealthMemory } from "../memory/health.ts";
import type { PaceMemory } from "../memory/pace.ts";
import type { Calls } from "./call-channel.ts";

/** Shared by all parts of the engine. */
export interface EngineContext {
  /** Absent: each delivery is claimed by itself, and lanes make no offers. */
  journal?: ClaimJournal;
  settings: DeliverySettings;
  clock: Clock;
  newId: NewId;
  random: Random;
  log: Log;
}

/** Shared by the parts of one lane. The group's lanes share pace and health. */
export interface LaneContext extends EngineContext {
  store: LaneStore;
  destination: Destination;
  channel: Channel;
  calls: Calls;
  pace: PaceMemory;
  health: HealthMemory;
}

export type LaneStore = ReturnType<typeof createLaneStore>;

type Asked<Name extends keyof Dispatch> = Parameters<Dispatch[Name]>;
/** The arguments of a method after the fence. */
type Written<Name extends keyof Dispatch> = Asked<Name> extends [LaneFence, ...infer Rest] ? Rest : never;

/** Writes under the fence of one lane group. `onLost` is called when a write finds that another relay holds the group. */
export function createLaneStore(store: Dispatch, lane: LaneFence, onLost: () => void) {
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
    claimDeliveries: (...of: Written<"claimDeliveries">) => unlessLost(store.claimDeliveries(lane, ...of), []),
    claimRun: (...of: Written<"claimRun">) => unlessLost(store.claimRun(lane, ...of), []),
    recordAttempt: (...of: Written<"recordAttempt">) => unlessLost(store.recordAttempt(lane, ...of), "late"),
    finishDeliveries: (...of: Written<"finishDeliveries">) => unlessLost(store.finishDeliveries(lane, ...of), "done"),
    releaseClaim: (...of: Written<"releaseClaim">) => unlessLost(store.releaseClaim(lane, ...of), "done"),
    savePaces: (...of: Written<"savePaces">) => unlessLost(store.savePaces(lane, ...of), "done"),
    saveStatus: (...of: Written<"saveStatus">) => unlessLost(store.saveStatus(lane, ...of), "done"),
    listDue: (...of: Asked<"listDue">) => store.listDue(...of),
    listByKeys: (...of: Asked<"listByKeys">) => store.listByKeys(...of),
    nextDueAt: (...of: Asked<"nextDueAt">) => store.nextDueAt(...of),
    countDueTogether: (...of: Asked<"countDueTogether">) => store.countDueTogether(...of),
    findThread: (...of: Asked<"findThread">) => store.findThread(...of),
    findThreads: (...of: Asked<"findThreads">) => store.findThreads(...of),
    listToldInstead: (...of: Asked<"listToldInstead">) => store.listToldInstead(...of),
    findAlertFacts: (...of: Asked<"findAlertFacts">) => store.findAlertFacts(...of),
  };
}
