import type { Dialect } from "../tx.ts";
import { createExpiringKeys } from "./expiring-keys.ts";
import { createMutes } from "./mutes.ts";
import { createWatchStates } from "./watch-states.ts";

/** The transactions that both databases share, written once: see `Tx`. */
export const createSharedTransactions = (sql: Dialect) => ({
  ...createExpiringKeys(sql),
  ...createMutes(sql),
  ...createWatchStates(sql),
});

export type SharedTransactions = ReturnType<typeof createSharedTransactions>;
export type SharedName = keyof SharedTransactions;

/**
 * How each is run. `read`: for what people look at, on a connection of its own; `look`: it reads where the others write; `statement`: it
 * writes in one statement, which is its own transaction; `transaction`: all of it or nothing.
 */
export const sharedWays: Record<SharedName, "read" | "look" | "statement" | "transaction"> = {
  addMute: "statement",
  changeWatchState: "statement",
  endMute: "statement",
  hasKey: "read",
  listKeys: "look",
  listMutes: "look",
  loadWatchState: "look",
  putKeyIfAbsent: "statement",
  removeExpiredKeys: "statement",
  saveWatchState: "statement",
  saveWatchStateFor: "statement",
};
