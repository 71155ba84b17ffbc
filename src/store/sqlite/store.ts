import type { Signals } from "../../core/ports/signals.ts";
import type { Store, StoreHealth, StoreMaintenance } from "../../core/ports/store.ts";
import type { TransactionName } from "./transactions/index.ts";

/** How a store reaches its database: in a thread of its own, or in this one. */
export interface StoreDriver extends Signals {
  /** Resolves after the commit that holds this call. Calls commit in the order they were made. */
  write(name: TransactionName, args: unknown[]): Promise<unknown>;
  read(name: TransactionName, args: unknown[]): Promise<unknown>;
  health(): Promise<StoreHealth>;
  maintain(): Promise<StoreMaintenance>;
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Which connection serves a method. What delivery reads goes through the writing one, whose queries are short and see each
 * commit at once; what people read has a connection of its own, so that a long search delays no alert.
 */
const onWriter = [
  "acceptRequest",
  "listUnrouted",
  "recordRouting",
  "recordRoutingFailure",
  "recordNotice",
  "listDue",
  "nextDueAt",
  "claimDeliveries",
  "recordAttempt",
  "finishDeliveries",
  "listHeld",
  "rescheduleHeld",
  "releaseClaim",
  "listAbandoned",
  "listFallbacksDue",
  "callFallbacks",
  "addDeliveries",
  "resendFailed",
  "listOrphans",
  "failOrphans",
  "findThread",
  "findAlertFacts",
  "loadPaces",
  "savePaces",
  "loadStatuses",
  "saveStatus",
  "indexAlerts",
  "addMute",
  "endMute",
  "listMutes",
  "putKeyIfAbsent",
] as const satisfies TransactionName[];

const onReader = [
  "listAlerts",
  "listFailed",
  "countFailed",
  "getAlert",
  "listChanges",
  "listFacts",
  "latestVersion",
  "countAlerts",
  "countDuplicates",
  "countByDestination",
  "findRequests",
  "hasKey",
  "listKeys",
] as const satisfies TransactionName[];

type DriverMethods = Pick<StoreDriver, "subscribe" | "health" | "maintain" | "backup" | "close">;
type Methods = Omit<Store, keyof DriverMethods>;

/** The store port over a driver. */
export function createStore(driver: StoreDriver): Store {
  const methods: Record<string, unknown> = {};
  for (const name of onWriter) methods[name] = (...args: unknown[]) => driver.write(name, args);
  for (const name of onReader) methods[name] = (...args: unknown[]) => driver.read(name, args);
  const complete: Record<keyof Methods, unknown> = methods as Record<
    (typeof onWriter)[number] | (typeof onReader)[number],
    unknown
  >;
  return {
    ...(complete as unknown as Methods),
    subscribe: driver.subscribe,
    health: () => driver.health(),
    maintain: () => driver.maintain(),
    backup: (path) => driver.backup(path),
    close: () => driver.close(),
  };
}
