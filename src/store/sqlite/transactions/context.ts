import type { Database } from "better-sqlite3";
import type { Now } from "../../../core/clock.ts";
import type { NewId } from "../../../core/id.ts";
import { type Notes, newNotes } from "../../signals.ts";

/** What every transaction function is made from. */
export interface TransactionContext {
  db: Database;
  newId: NewId;
  /** The clock that decides when a lease ends. */
  now: Now;
  /** What the commit has to say. */
  notes: Notes;
  /** Alerts whose version has to rise with this commit, and has not yet. */
  changed: Set<number>;
  /** The last that an alert was given. */
  version: number;
  /** The reason when earlier alerts could last not be looked up. */
  damage?: string;
}

export const createContext = (given: Pick<TransactionContext, "db" | "newId" | "now">): TransactionContext => ({
  ...given,
  changed: new Set(),
  notes: newNotes(),
  version: 0,
});

/** A limit that is given at each call. SQLite plans a statement with a bare `LIMIT ?` anew whenever it is bound. */
export const boundLimit = "LIMIT ? + 0";
