import type { Database, Statement } from "better-sqlite3";
import { Sqlite } from "./sqlite-library.ts";
import { toStoreError } from "./store-error.ts";

/** Bytes of the log that are copied into the database at a time; at the end of the log two such steps are copied. */
const stepBytes = 4 * 1024 * 1024;
/** From here on the log is copied to its end, so that the next commit begins it anew. A reader may keep it longer. */
const longestBytes = 32 * 1024 * 1024;

/**
 * The write-ahead log of the connection that writes, copied into the database in steps
 * (docs/adr/0004-what-an-accepted-alert-writes.md).
 *
 * SQLite copies as far as the oldest reader has seen, and it copies only the last version of each page in the log. A connection of
 * its own reads the log as it was one step ago: a copying takes what was written before and not again since, and the pages that
 * each commit writes wait for the end.
 */
export class WriteAheadLog {
  readonly #bound: Database;
  readonly #pages: Statement<[], { log: number }>;
  readonly #copy: Statement;
  readonly #pageSize: number;
  #boundAt = 0;

  constructor(private readonly db: Database) {
    db.pragma("wal_autocheckpoint = 0");
    this.#bound = new Sqlite(db.name, { readonly: true, fileMustExist: true });
    this.#pages = db.prepare<[], { log: number }>("PRAGMA wal_checkpoint(NOOP)");
    this.#copy = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    this.#pageSize = db.pragma("page_size", { simple: true }) as number;
  }

  /** Copies the next step, if it is time; called behind each commit, once that has been answered. */
  copyStep(): void {
    unlessRefused(() => this.#copyNext());
  }

  /**
   * Copies all of it and gives its room back to the disk.
   *
   * @param waitMs for readers that keep some of it in use
   * @returns false when a reader did so, and the next commits go on behind it
   * @throws as SQLite does
   */
  empty(waitMs: number): boolean {
    this.#release();
    const usual = this.db.pragma("busy_timeout", { simple: true }) as number;
    this.db.pragma(`busy_timeout = ${waitMs}`);
    try {
      const [outcome] = this.db.pragma("wal_checkpoint(TRUNCATE)") as { busy: number }[];
      return outcome?.busy === 0;
    } finally {
      this.db.pragma(`busy_timeout = ${usual}`);
    }
  }

  /** Like `empty`, and returns where the disk does not let it. What is in the log is on disk, and is read from there. */
  tryToEmpty(waitMs: number): void {
    unlessRefused(() => this.empty(waitMs));
  }

  close(): void {
    this.#bound.close();
  }

  #release(): void {
    this.#boundAt = 0;
    if (this.#bound.inTransaction) this.#bound.exec("COMMIT");
  }

  #copyNext(): void {
    const pages = this.#pages.get()?.log ?? 0;
    if (pages >= longestBytes / this.#pageSize) {
      this.#release();
      this.#copy.get();
      return;
    }
    if (pages < this.#boundAt + stepBytes / this.#pageSize) return;
    if (this.#bound.inTransaction) this.#copy.get();
    this.#release();
    // BEGIN alone holds nothing; the first read does.
    this.#bound.exec("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1");
    this.#boundAt = pages;
  }
}

function unlessRefused(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (toStoreError(error) === error) throw error;
  }
}
