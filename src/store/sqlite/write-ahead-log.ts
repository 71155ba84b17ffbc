import type { Database, Statement } from "better-sqlite3";
import { Sqlite } from "./sqlite-library.ts";
import { toStoreError } from "./store-error.ts";

/** Bytes of the log that are copied into the database at a time. At the end of the log the last two steps are copied together. */
const stepBytes = 4 * 1024 * 1024;
/** From this size on the log is copied to its end, so that the next commit begins it again. A reader may keep it longer. */
const longestBytes = 32 * 1024 * 1024;

/**
 * The write-ahead log of the connection that writes, copied into the database in steps
 * (docs/adr/0004-what-an-accepted-alert-writes.md).
 *
 * SQLite copies as far as the oldest reader has seen, and only the last version of each page. A connection of its own therefore
 * reads the log of one step ago. Each copy then takes the pages that were not written again since, and the pages that each commit
 * writes wait for the end.
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

  /** Copies the next step, if it is time. Called after each commit, once its calls are answered. */
  copyStep(): void {
    unlessRefused(() => this.#copyNext());
  }

  /**
   * Copies the whole log and gives its room back to the disk. Waits up to `waitMs` for readers. Throws the errors of SQLite.
   * @returns false when a reader keeps a part in use. The next commits are then appended to the log
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

  /** Like `empty`, but returns where the disk refuses. The log is on disk, and is read from there. */
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
    // BEGIN alone keeps no snapshot. The first read does.
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
