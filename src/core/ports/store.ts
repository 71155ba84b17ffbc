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
 * All ports of one database. Every method is one whole transaction: when it resolves, the change is on disk and fsynced. Rejects
 * with `AppError("store_unavailable")` when nothing can be written. Other errors are bugs.
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
  /** Absent: records are files next to the database. */
  kept?: KeptRecords;
}
