import type { Administration, Maintenance } from "../../core/ports/administration.ts";
import type { RelayView } from "../../core/ports/relays.ts";
import type { Retention } from "../../core/ports/retention.ts";
import type { Signals } from "../../core/ports/signals.ts";
import type { Store } from "../../core/ports/store.ts";
import { isPosition } from "../positions.ts";
import { type SharedName, sharedWays } from "../transactions/index.ts";
import { isChangeCursor } from "./cursors.ts";
import type { TransactionName } from "./transactions/index.ts";

/** How a store reaches its database: in a thread of its own, or in this one. */
export interface StoreDriver extends Signals, Required<Pick<Administration, "health" | "backup" | "close">> {
  /** Resolves after the commit that holds this call. Calls commit in the order they were made. */
  write(name: TransactionName, args: unknown[]): Promise<unknown>;
  read(name: TransactionName, args: unknown[]): Promise<unknown>;
  /** Empties the write-ahead log, gives back a bounded number of free pages, and removes keys that expired before `now`. */
  maintain(now: number): Promise<Maintenance>;
}

/** Methods of the writing connection. What people read goes to the other one, so that a long search delays no alert. */
const onWriter = [
  "acceptRequest",
  "listUnrouted",
  "recordRouting",
  "claimRun",
  "recordAttempt",
  "removeAlerts",
  "giveBackRoom",
] as const satisfies TransactionName[];

const onReader = [
  "listAlerts",
  "listAlertsWithin",
  "listFailed",
  "countFailed",
  "listChanges",
  "latestChange",
  "knowsChange",
  "countOverTime",
  "countMatches",
  "countAlerts",
  "countDuplicates",
] as const satisfies TransactionName[];

type Transacted =
  | (typeof onWriter)[number]
  | (typeof onReader)[number]
  | Exclude<SharedName, "forgetOld" | "removeExpiredKeys">;

/** Up to this many payloads are read without the reading thread, whose start costs 0.1 s and 14 MiB. */
const few = 4;
const asksForMany = ([of]: unknown[]) => Array.isArray(of) && of.length > few;

/** Every port, and each part of administration that another driver may lack. */
export type SqliteStore = Store & Required<Omit<Administration, "standbys"> & Pick<Retention, "giveBackRoom">>;

/** Small, since the thread that accepts alerts writes the index. */
const indexBatch = 50;
const indexBatchesAtOnce = 40;
/** How often the write-ahead log is emptied and free pages are given back. */
const maintainEveryMs = 60 * 60 * 1000;

export function createStore({ write, read, maintain, ...driver }: StoreDriver): SqliteStore {
  const methods: Record<string, unknown> = {};
  for (const name of onWriter) methods[name] = (...args: unknown[]) => write(name, args);
  for (const name of onReader) methods[name] = (...args: unknown[]) => read(name, args);
  for (const [name, way] of Object.entries(sharedWays) as [SharedName, string][])
    methods[name] = (...args: unknown[]) =>
      way === "read" || (way === "load" && asksForMany(args)) ? read(name, args) : write(name, args);
  let maintainedAt: number | undefined;
  /** The relay that runs on this database. A command that only looks knows none. */
  const relays: RelayView[] = [];

  async function indexAlerts(stop?: AbortSignal): Promise<void> {
    for (let batch = 0; batch < indexBatchesAtOnce && !stop?.aborted; batch += 1) {
      if ((await write("indexAlerts", [indexBatch])) !== indexBatch) return;
    }
  }

  return {
    ...driver,
    ...(methods as unknown as Pick<SqliteStore, Transacted>),
    isPosition,
    isChangeCursor,
    capabilities: { sharedByRelays: false },
    async announceRelay(self) {
      relays.splice(0, relays.length, { ...self, configurationVersion: 1, seenAt: Date.now(), lanes: [] });
      return relays;
    },
    async forgetRelay() {
      relays.length = 0;
    },
    listRelays: async () => relays,
    async maintain(now, stop) {
      maintainedAt ??= now;
      const isDue = now - maintainedAt >= maintainEveryMs;
      if (isDue) maintainedAt = now;
      // Housekeeping comes first: a search index that cannot be written must not prevent it.
      const done = isDue ? await maintain(now) : undefined;
      while (isDue && !stop?.aborted && (await write("forgetOld", [now])));
      await indexAlerts(stop);
      return done;
    },
  };
}
