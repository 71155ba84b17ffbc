import type { Database } from "better-sqlite3";
import { Sqlite } from "./sqlite-library.ts";
import { toStoreError } from "./store-error.ts";

/** Of the log that is copied into the database at a time; at the end of the log it is two of these steps. */
const stepBytes = 4 * 1024 * 1024;
/** From here on the log is copied to its end, so that the next commit begins it anew. A reader may keep it longer. */
const longestBytes = 32 * 1024 * 1024;

export interface WriteAheadLog {
  /** Copies the next step, if it is time; called behind each commit, once that has been answered. */
  copyStep(): void;
  /**
   * Copies all of it and gives its room back to the disk.
   *
   * @param waitMs for readers that keep some of it in use
   * @returns false when a reader did so, and the next commits go on behind it
   * @throws as SQLite does
   */
  empty(waitMs: number): boolean;
  /** The same as far as the disk lets it. What is in the log is on disk, and is read from there. */
  tryToEmpty(waitMs: number): void;
  close(): void;
}

/**
 * The write-ahead log of the connection that writes, copied into the database in steps
 * (docs/adr/0004-what-an-accepted-alert-writes.md).
 *
 * SQLite copies as far as the oldest reader has seen, and of each page only what stands last in the log. So a connection of its own
 * reads the log as it was one step ago: a copying takes what was written before and not again since, and the pages that
 * each commit writes wait for the end.
 */
export function createWriteAheadLog(db: Database): WriteAheadLog {
  db.pragma("wal_autocheckpoint = 0");
  const bound = new Sqlite(db.name, { readonly: true, fileMustExist: true });
  const look = db.prepare<[], { log: number }>("PRAGMA wal_checkpoint(NOOP)");
  const copy = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  const pageSize = db.pragma("page_size", { simple: true }) as number;
  let boundAt = 0;

  function release(): void {
    boundAt = 0;
    if (bound.inTransaction) bound.exec("COMMIT");
  }

  /** BEGIN alone holds nothing; the first read does. */
  function hold(pages: number): void {
    bound.exec("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1");
    boundAt = pages;
  }

  function copyNext(): void {
    const pages = look.get()?.log ?? 0;
    if (pages >= longestBytes / pageSize) {
      release();
      copy.get();
      return;
    }
    if (pages < boundAt + stepBytes / pageSize) return;
    if (bound.inTransaction) copy.get();
    release();
    hold(pages);
  }

  function empty(waitMs: number): boolean {
    release();
    const usual = db.pragma("busy_timeout", { simple: true }) as number;
    db.pragma(`busy_timeout = ${waitMs}`);
    try {
      const [outcome] = db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
      return outcome?.busy === 0;
    } finally {
      db.pragma(`busy_timeout = ${usual}`);
    }
  }

  function unlessRefused(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (toStoreError(error) === error) throw error;
    }
  }

  return {
    copyStep: () => unlessRefused(copyNext),
    empty,
    tryToEmpty: (waitMs) => unlessRefused(() => empty(waitMs)),
    close: () => bound.close(),
  };
}
