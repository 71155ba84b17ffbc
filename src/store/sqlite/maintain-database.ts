import type { Database } from "better-sqlite3";

/** 8 MiB of free pages a time: short enough to stand between two commits. */
const pagesPerTurn = 2048;

/**
 * Empties the write-ahead log into the database and gives free pages back to the disk. Waits no longer than `waitMs` for
 * whoever reads just then: while it waits nothing else is committed.
 */
export function maintainDatabase(
  db: Database,
  waitMs = 200,
): {
  /** False when somebody read just then, and part of the log had to stay. */
  logEmptied: boolean;
  pagesFreed: number;
} {
  const freeBefore = freePages(db);
  db.pragma(`incremental_vacuum(${pagesPerTurn})`);
  const emptied = emptyLog(db, waitMs);
  return { logEmptied: emptied, pagesFreed: Math.max(0, freeBefore - freePages(db)) };
}

/** False when a reader kept some of it in use; the next commits go on behind it. */
export function emptyLog(db: Database, waitMs: number): boolean {
  const usual = db.pragma("busy_timeout", { simple: true }) as number;
  db.pragma(`busy_timeout = ${waitMs}`);
  try {
    const [outcome] = db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
    return outcome?.busy === 0;
  } finally {
    db.pragma(`busy_timeout = ${usual}`);
  }
}

function freePages(db: Database): number {
  return db.pragma("freelist_count", { simple: true }) as number;
}
