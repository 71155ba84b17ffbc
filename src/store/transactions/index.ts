import type { NewId } from "../../core/id.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { Dialect, Tx } from "../tx.ts";
import { createAccepting } from "./accepting.ts";
import { createArrivals } from "./arrivals.ts";
import { createClaiming } from "./claiming.ts";
import { createDestinationCounts, createNoticeCounts } from "./destination-counts.ts";
import { createDueLists, createMessageReading } from "./due.ts";
import { createExpiringKeys } from "./expiring-keys.ts";
import { createGrouping } from "./grouping.ts";
import { createHolding } from "./holding.ts";
import { createKeyHistory } from "./key-history.ts";
import { createFences, createLanes, type Self } from "./lanes.ts";
import { createMutes, createSilenced } from "./mutes.ts";
import { createOrphans } from "./orphans.ts";
import { createRecording } from "./recording.ts";
import { createRefusing } from "./refusing.ts";
import { createRemoving } from "./removing.ts";
import { createResending } from "./resending.ts";
import { createRinging } from "./ringing.ts";
import { createRouting } from "./routing.ts";
import { createSingleAlerts } from "./single-alerts.ts";
import { createRouteStatistics, createStatistics } from "./statistics.ts";
import { createWatchStates } from "./watch-states.ts";

/** The transactions of both databases, see `Tx`. `joint`: calls of several lanes may share them. */
export function createSharedTransactions(sql: Dialect, self: Self & { newId: NewId }) {
  const lanes = createLanes(sql, self);
  const ringing = createRinging(sql);
  const grouping = createGrouping(sql, self.newId);
  const watchStates = createWatchStates(sql);
  const deps = { ...self, ...ringing, ...grouping, ...createFences(sql), ...lanes, ...watchStates };
  const { claimRun, ...claiming } = createClaiming(sql, deps);
  const { recordAttempt, ...recording } = createRecording(sql, deps);
  const routing = createRouting(sql, deps);
  const { forgetOldHours, ...routeStatistics } = createRouteStatistics(sql);
  return {
    joint: { claimRun, recordAttempt },
    acceptRequests: createAccepting(sql, routing),
    ...createRemoving(sql),
    shared: {
      ...createArrivals(sql),
      ...claiming,
      ...createDestinationCounts(sql),
      ...createNoticeCounts(sql),
      ...createDueLists(sql),
      ...createMessageReading(sql),
      ...createExpiringKeys(sql),
      releaseRest: grouping.releaseRest,
      ...createHolding(sql),
      ...createKeyHistory(sql),
      ...lanes,
      ...createMutes(sql),
      ...createOrphans(sql, deps),
      ...recording,
      ...createRefusing(sql),
      ...createResending(sql, self.newId),
      ...routing.desk,
      ...createSilenced(sql),
      ...createSingleAlerts(sql),
      ...createStatistics(sql),
      ...routeStatistics,
      /** A step through what is kept for a time of its own, whatever the age of alerts. True: this was not the last one. */
      async forgetOld(tx: Tx, now: number): Promise<boolean> {
        const [, ...isMore] = await Promise.all([
          forgetOldHours(tx, now),
          ringing.forgetOldRings(tx, now),
          grouping.forgetOldGroups(tx, now),
        ]);
        return isMore.includes(true);
      },
      ...watchStates,
    },
  };
}

type All = ReturnType<typeof createSharedTransactions>;
export type AcceptRequests = All["acceptRequests"];
/** A step of removing. Its driver runs it in a transaction that also watches the room on the disk. */
export type RemoveOld = All["removeOld"];
export type SharedTransactions = All["shared"];
export type SharedName = keyof SharedTransactions;
export type JointTransactions = All["joint"];

/** Each as a method of the port. */
export type JointMethods = Pick<Dispatch, keyof JointTransactions>;

/** The same functions without `tx`: the driver gives each call a transaction of its own. */
export type SharedMethods = {
  [N in SharedName]: SharedTransactions[N] extends (tx: Tx, ...args: infer Args) => infer Result
    ? (...args: Args) => Result
    : never;
};

/**
 * How each is run. `read`: for what people look at, on a connection of its own. `look`: it reads where the others write. `load`:
 * the same, but on SQLite in the reading thread where many are asked for. `statement`: it writes in one statement, which is its
 * own transaction. `transaction`: all of it or nothing.
 */
export const sharedWays: Record<SharedName, "read" | "look" | "load" | "statement" | "transaction"> = {
  acquireLanes: "transaction",
  addDeliveries: "transaction",
  addMute: "transaction",
  callFallbacks: "transaction",
  changeWatchState: "statement",
  claimDeliveries: "transaction",
  countByDestination: "read",
  countDueTogether: "look",
  countNotices: "read",
  countSilenced: "read",
  countSince: "read",
  destinationStatistics: "read",
  endMute: "statement",
  failOrphans: "transaction",
  findAlertFacts: "look",
  findByIdPart: "read",
  findRequests: "load",
  findThread: "look",
  findThreads: "look",
  finishDeliveries: "transaction",
  forgetOld: "transaction",
  followArrivals: "read",
  getAlert: "read",
  getRefused: "read",
  hasKey: "read",
  keyHistory: "read",
  keyValues: "read",
  listAbandoned: "look",
  listArrivals: "read",
  listByKeys: "look",
  listDue: "look",
  listFacts: "read",
  listFallbacksDue: "look",
  listHeld: "look",
  listKeys: "look",
  listMutes: "look",
  listOrphans: "look",
  listPast: "read",
  listRefused: "read",
  listSilenced: "read",
  listToldInstead: "look",
  loadStatuses: "look",
  loadWatchState: "look",
  markReleased: "statement",
  neighbours: "read",
  nextDueAt: "look",
  putKeyIfAbsent: "statement",
  recordNotice: "transaction",
  recordRefused: "transaction",
  recordRouting: "transaction",
  recordRoutingFailure: "transaction",
  releaseClaim: "transaction",
  releaseLanes: "statement",
  releaseRest: "transaction",
  removeExpiredKeys: "statement",
  renewLanes: "statement",
  rescheduleHeld: "transaction",
  resendFailed: "transaction",
  savePaces: "statement",
  routeStatistics: "read",
  saveStatus: "statement",
  saveWatchState: "statement",
  saveWatchStateFor: "statement",
};
