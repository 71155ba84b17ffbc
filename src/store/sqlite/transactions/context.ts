import type { Database, Statement } from "better-sqlite3";
import type { Now } from "../../../core/clock.ts";
import type { NewId } from "../../../core/id.ts";
import { RecentMap } from "../../../ground/recent-map.ts";
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

/** Statements that are put together at each call, kept by their text: preparing one takes longer than most of them run. */
export function createStatementCache(db: Database, most: number): (sql: string) => Statement<unknown[]> {
  const kept = new RecentMap<string, Statement<unknown[]>>(most);
  return (sql) => {
    const statement = kept.get(sql) ?? db.prepare<unknown[]>(sql);
    // The one that was used last stands at the end.
    kept.set(sql, statement);
    return statement;
  };
}
