import type { Administration } from "./administration.ts";
import type { AlertLog } from "./alert-log.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Inbox } from "./inbox.ts";
import type { KeptRecords } from "./kept-records.ts";
import type { Lanes } from "./lanes.ts";
import type { RefusedLog } from "./refused.ts";
import type { Relays } from "./relays.ts";
import type { Retention } from "./retention.ts";
import type { RoutingDesk } from "./routing-desk.ts";
import type { ExpiringKeyStore, MuteStore, SharedAllowances } from "./shared.ts";
import type { Signals } from "./signals.ts";
import type { Statistics } from "./statistics.ts";
import type { CommonStates, DutyStates, WatchStore } from "./watch.ts";

/**
 * All ports of one database, as opening it returns them. The composition root hands them out in parts. Every method is one
 * whole transaction: when its promise resolves, it is on disk and fsynced. When it rejects, nothing has happened. Rejects with
 * `AppError("store_unavailable")` when nothing can be written (disk full), and with plain errors only for bugs.
 */
export interface Store
  extends Inbox,
    RoutingDesk,
    Lanes,
    Relays,
    Dispatch,
    AlertLog,
    MuteStore,
    ExpiringKeyStore,
    Partial<SharedAllowances>,
    WatchStore,
    CommonStates,
    DutyStates,
    Retention,
    RefusedLog,
    Statistics,
    Signals,
    Administration {
  /** Absent: the records are files next to the database. */
  kept?: KeptRecords;
}
