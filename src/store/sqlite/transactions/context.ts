import type { Database } from "better-sqlite3";
import type { Now } from "../../../core/clock.ts";
import type { NewId } from "../../../core/id.ts";

/** What every transaction function is made from. */
export interface TransactionContext {
  db: Database;
  newId: NewId;
  /** The clock that decides when a lease ends. */
  now: Now;
  /** Alerts whose version has to rise with this commit. */
  changed: Set<number>;
  /** Called when a transaction was rolled back: what is kept in memory beside the tables may be wrong. */
  undone: Set<() => void>;
}

/**
 * Thrown by a transaction function that has noted what it met, and will do without it when it is run again. SQLite refuses every
 * further write of a transaction that has read a damaged page.
 */
export class RunAgain extends Error {}

/** A limit that is given at each call. SQLite plans a statement with a bare `LIMIT ?` anew whenever it is bound. */
export const boundLimit = "LIMIT ? + 0";
