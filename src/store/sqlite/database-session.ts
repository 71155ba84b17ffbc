import { dirname } from "node:path";
import type { Database } from "better-sqlite3";
import type { Now } from "../../core/clock.ts";
import { createIdSource } from "../../core/id.ts";
import type { Maintenance, StoreHealth } from "../../core/ports/administration.ts";
import { readRoom } from "../../ground/files/disk-room.ts";
import { Ballast, sizeOf } from "./ballast.ts";
import { copyDatabase } from "./copy-database.ts";
import { createGroupCommit, createGuardedCommit } from "./group-commit.ts";
import { openDatabase } from "./open-database.ts";
import { toStoreError } from "./store-error.ts";
import { createContext } from "./transactions/context.ts";
import { createTransactions } from "./transactions/index.ts";
import { WriteAheadLog } from "./write-ahead-log.ts";

/** The free pages that one turn gives back to the disk: 8 MiB, so that no commit waits for long. */
const pagesPerTurn = 2048;

/** The wait for a reader. Nothing else is committed meanwhile. */
const longestCheckpointWaitMs = 200;

export interface SessionOptions {
  path: string;
  readOnly?: boolean;
  /** The size of the file that is removed when the disk is full. Default 16 MiB. 0: none. */
  ballastBytes?: number;
  now?: Now;
}

export type DatabaseSession = ReturnType<typeof openSession>;

/** One connection with its transactions, in the thread that owns it. */
export function openSession(options: SessionOptions) {
  const { path, readOnly = false, now = Date.now } = options;
  const ballast = new Ballast(
    { path: `${path}.ballast`, bytes: readOnly ? 0 : (options.ballastBytes ?? 16 * 1024 * 1024) },
    { freeBytes: () => readRoom(dirname(path)).freeBytes, now },
  );
  const db = readOnly ? openDatabase({ path, readOnly }) : openOnAnyDisk(path, ballast);
  const context = createContext({ db, newId: createIdSource(now), now });
  const transactions = createTransactions(context);
  const log = readOnly ? undefined : new WriteAheadLog(db);
  const group = createGroupCommit(context, transactions, readOnly);
  const { commit } =
    log === undefined ? group : createGuardedCommit({ group, ballast, emptyLog: () => log.tryToEmpty(0) });
  const readHealth = createHealthReading(db, path);
  const dataVersion = db.prepare<[], number>("PRAGMA data_version").pluck();
  return {
    commit,
    /** Called after each commit, once its calls are answered. Copies a part of the write-ahead log into the database if due. */
    copyLog: () => log?.copyStep(),
    /** Changes with every commit of another connection to the same database. */
    dataVersion: () => dataVersion.get() ?? 0,
    health(): StoreHealth {
      if (ballast.isSpent()) ballast.restore();
      return { ...readHealth(), ...readRoom(dirname(path)), full: ballast.isSpent(), damage: context.damage };
    },
    async maintain(at: number): Promise<Maintenance> {
      try {
        const maintenance = maintainDatabase(db, log);
        const [removed] = (await commit([{ name: "removeExpiredKeys", arguments: [at] }])).results;
        if (removed?.ok === false) throw removed.error;
        return { ...maintenance, keysRemoved: (removed?.value as number | undefined) ?? 0 };
      } catch (error) {
        throw toStoreError(error);
      }
    },
    backup: (to: string) => copyDatabase(path, to),
    close() {
      try {
        log?.tryToEmpty(1000);
      } finally {
        log?.close();
        db.close();
      }
    },
  };
}

/** A restart must work on a full disk too: the write-ahead log needs room before an alert can be delivered. */
function openOnAnyDisk(path: string, ballast: Ballast): Database {
  const open = () => {
    const db = openDatabase({ path });
    if (ballast.isSpent()) ballast.restore();
    return db;
  };
  try {
    return open();
  } catch (error) {
    const code = ((error as Error).cause as { code?: string } | undefined)?.code ?? "";
    const mayBeFull = /^SQLITE_(FULL|IOERR|CANTOPEN)/.test(code) || code === "ENOSPC";
    if (!mayBeFull || !ballast.spend()) throw error;
    return open();
  }
}

export function createHealthReading(db: Database, path: string) {
  const countUnrouted = db.prepare<[], number>("SELECT count(*) FROM alerts WHERE routed_at IS NULL").pluck();
  const oldestUnrouted = db
    .prepare<[], number>("SELECT received_at FROM alerts WHERE routed_at IS NULL ORDER BY seq LIMIT 1")
    .pluck();
  const touch = db.prepare("UPDATE search_cursor SET alert_seq = alert_seq");

  function canWrite(): boolean {
    try {
      return db.transaction(() => touch.run().changes === 1).immediate();
    } catch {
      return false;
    }
  }

  return () => ({
    writable: canWrite(),
    unrouted: countUnrouted.get() ?? 0,
    oldestUnroutedAt: oldestUnrouted.get(),
    // The write-ahead log exists from the first change on.
    bytes: sizeOf(path) + sizeOf(`${path}-wal`),
  });
}

/** Empties the write-ahead log into the database and gives free pages back to the disk. */
function maintainDatabase(db: Database, log: WriteAheadLog | undefined) {
  const freeBefore = freePages(db);
  db.pragma(`incremental_vacuum(${pagesPerTurn})`);
  // False when a reader kept a part of the log in use.
  const logEmptied = log?.empty(longestCheckpointWaitMs) ?? true;
  return { logEmptied, pagesFreed: Math.max(0, freeBefore - freePages(db)) };
}

function freePages(db: Database): number {
  return db.pragma("freelist_count", { simple: true }) as number;
}
