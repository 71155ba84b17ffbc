import type { AlertLog } from "./alert-log.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Inbox } from "./inbox.ts";
import type { RoutingDesk } from "./routing-desk.ts";
import type { ExpiringKeyStore, MuteStore } from "./shared.ts";
import type { Signals } from "./signals.ts";

/**
 * The store port. Every method is one whole transaction: it has happened, on disk and fsynced, when its promise
 * resolves, or not at all when it rejects. Rejects with `AppError("store_unavailable")` when nothing can be written
 * (disk full) and with plain errors only for bugs.
 */
export interface Store extends Inbox, RoutingDesk, Dispatch, AlertLog, MuteStore, ExpiringKeyStore, Signals {
  health(): Promise<StoreHealth>;
  /**
   * Housekeeping between two commits, to be asked for about once an hour: empties the write-ahead log into the database,
   * gives free pages back to the disk, a bounded number a time, and removes keys that have expired.
   */
  maintain(): Promise<StoreMaintenance>;
  /** A consistent copy at `path` (must not exist), checked and fsynced before it gets its name. */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}

export interface StoreHealth {
  /** A write was committed just now. */
  writable: boolean;
  /** Full disk: new alerts are answered 503 until there is room. */
  diskFull: boolean;
  unrouted: number;
  oldestUnroutedAt?: number;
  databaseBytes: number;
  /** Room on the disk of the database. Absent where that is another machine's. */
  freeBytes?: number;
}

export interface StoreMaintenance {
  /** False when somebody read just then, and part of the log had to stay. */
  logEmptied: boolean;
  pagesFreed: number;
  keysRemoved: number;
}
