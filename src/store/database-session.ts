import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Database } from "better-sqlite3";
import { AppError } from "../core/errors.ts";
import { createIdSource } from "../core/id.ts";
import type { Now } from "../core/ports.ts";
import type { StoreHealth } from "../core/store.ts";
import { type Ballast, createBallast } from "./ballast.ts";
import { copyDatabase } from "./copy-database.ts";
import { type Call, type CallResult, createGroupCommit, isDiskFull } from "./group-commit.ts";
import { openDatabase } from "./open-database.ts";
import { createTransactions } from "./transactions/index.ts";

export interface SessionOptions {
  path: string;
  readOnly?: boolean;
  /** Size of the file that is given up when the disk is full. Default 16 MiB; 0: none. */
  ballastBytes?: number;
  now?: Now;
}

/** One connection with its transactions: what lives in the thread that owns it. */
export interface DatabaseSession {
  commit(calls: Call[]): { results: CallResult[]; version: number };
  health(): StoreHealth;
  backup(path: string): Promise<void>;
  close(): void;
}

export function openSession(options: SessionOptions): DatabaseSession {
  const { path, readOnly = false, now = Date.now } = options;
  const db = openDatabase({ path, readOnly });
  const changed = new Set<number>();
  const transactions = createTransactions({ db, newId: createIdSource(now), changed });
  const group = createGroupCommit(db, transactions, changed);
  const ballast = createBallast(
    { path: `${path}.ballast`, bytes: readOnly ? 0 : (options.ballastBytes ?? 16 * 1024 * 1024) },
    { freeBytes: () => freeBytes(path), now },
  );
  return {
    commit: (calls) => (readOnly ? readAll(db, transactions, calls) : commitGuarded(group, ballast, calls)),
    health: () => readHealth(db, path, ballast),
    backup: (to) => copyDatabase(db, to),
    close() {
      if (!readOnly) db.pragma("wal_checkpoint(TRUNCATE)");
      db.close();
    },
  };
}

/**
 * While the disk is full new alerts are refused at once; everything else goes on in the room that the ballast gave back.
 */
function commitGuarded(
  group: ReturnType<typeof createGroupCommit>,
  ballast: Ballast,
  calls: Call[],
): { results: CallResult[]; version: number } {
  const refused: CallResult = { ok: false, error: fullError() };
  const results: CallResult[] = new Array(calls.length);
  const accepting = !ballast.isSpent() || ballast.restore();
  const runnable = calls.flatMap((call, index) => {
    if (accepting || call.name !== "acceptRequest") return [index];
    results[index] = refused;
    return [];
  });
  let { results: done, version } = group.commit(runnable.map((index) => calls[index] as Call));
  runnable.forEach((index, position) => {
    results[index] = done[position] as CallResult;
  });
  const full = runnable.filter((index) => isFullResult(results[index] as CallResult));
  if (full.length > 0 && ballast.spend()) {
    const again = full.filter((index) => calls[index]?.name !== "acceptRequest");
    ({ results: done, version } = group.commit(again.map((index) => calls[index] as Call)));
    again.forEach((index, position) => {
      results[index] = done[position] as CallResult;
    });
  }
  return { results, version };
}

function readAll(
  db: Database,
  transactions: ReturnType<typeof createTransactions>,
  calls: Call[],
): { results: CallResult[]; version: number } {
  const results = calls.map((call): CallResult => {
    try {
      const transaction = transactions[call.name] as (...args: unknown[]) => unknown;
      return { ok: true, value: db.transaction(() => transaction(...call.arguments))() };
    } catch (error) {
      return { ok: false, error };
    }
  });
  return { results, version: 0 };
}

function isFullResult(result: CallResult): boolean {
  return !result.ok && result.error instanceof AppError && isDiskFull(result.error.cause);
}

function fullError(): AppError {
  return new AppError("store_unavailable", "The disk that holds the database is full.", {
    hint: "Free space or enlarge the volume; Tocsin goes on by itself when there is room.",
    retryAfterMs: 30_000,
  });
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize;
}

function readHealth(db: Database, path: string, ballast: Ballast): StoreHealth {
  const unrouted = db.prepare("SELECT count(*) FROM alerts WHERE routed_at IS NULL").pluck().get() as number;
  const oldest = db
    .prepare("SELECT received_at FROM alerts WHERE routed_at IS NULL ORDER BY seq LIMIT 1")
    .pluck()
    .get() as number | undefined;
  return {
    writable: canWrite(db),
    diskFull: ballast.isSpent(),
    unrouted,
    oldestUnroutedAt: oldest,
    databaseBytes: statSync(path).size,
  };
}

function canWrite(db: Database): boolean {
  try {
    db.transaction(() => db.prepare("UPDATE search_cursor SET alert_seq = alert_seq").run()).immediate();
    return true;
  } catch {
    return false;
  }
}
