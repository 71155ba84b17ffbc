import type { NewId } from "../../core/id.ts";
import type { Dialect, Tx } from "../tx.ts";
import { createExpiringKeys } from "./expiring-keys.ts";
import { createHolding } from "./holding.ts";
import { createLanes, type Self } from "./lanes.ts";
import { createMutes } from "./mutes.ts";
import { createRefusing } from "./refusing.ts";
import { createResending } from "./resending.ts";
import { createWatchStates } from "./watch-states.ts";

/** The transactions that both databases share, written once: see `Tx`. */
export const createSharedTransactions = (sql: Dialect, self: Self & { newId: NewId }) => ({
  ...createExpiringKeys(sql),
  ...createHolding(sql),
  ...createLanes(sql, self),
  ...createMutes(sql),
  ...createRefusing(sql),
  ...createResending(sql, self.newId),
  ...createWatchStates(sql),
});

export type SharedTransactions = ReturnType<typeof createSharedTransactions>;
export type SharedName = keyof SharedTransactions;

/** Each with a `tx` of its own. */
export type SharedMethods = {
  [N in SharedName]: SharedTransactions[N] extends (tx: Tx, ...args: infer Args) => infer Result
    ? (...args: Args) => Result
    : never;
};

/**
 * How each is run. `read`: for what people look at, on a connection of its own; `look`: it reads where the others write; `statement`: it
 * writes in one statement, which is its own transaction; `transaction`: all of it or nothing.
 */
export const sharedWays: Record<SharedName, "read" | "look" | "statement" | "transaction"> = {
  acquireLanes: "transaction",
  addDeliveries: "transaction",
  addMute: "statement",
  changeWatchState: "statement",
  endMute: "statement",
  getRefused: "read",
  hasKey: "read",
  listHeld: "look",
  listKeys: "look",
  listMutes: "look",
  listRefused: "read",
  loadStatuses: "look",
  loadWatchState: "look",
  markReleased: "statement",
  putKeyIfAbsent: "statement",
  recordRefused: "transaction",
  releaseLanes: "statement",
  removeExpiredKeys: "statement",
  renewLanes: "statement",
  rescheduleHeld: "transaction",
  resendFailed: "transaction",
  savePaces: "statement",
  saveStatus: "statement",
  saveWatchState: "statement",
  saveWatchStateFor: "statement",
};
