import type { Database, Statement } from "better-sqlite3";
import type { Now } from "../../../core/clock.ts";
import type { NewId } from "../../../core/id.ts";
import { RecentMap } from "../../../ground/recent-map.ts";
import { type Notes, newNotes } from "../../signals.ts";

/** The state that all transaction functions of a connection share. */
export interface TransactionContext {
  db: Database;
  newId: NewId;
  /** Decides when a lease ends. */
  now: Now;
  notes: Notes;
  /** Alerts that still need a new version in this commit. */
  changed: Set<number>;
  /** The last version that an alert was given. */
  version: number;
  /** Why the last failed lookup of earlier alerts failed. */
  damage?: string;
}

export const createContext = (given: Pick<TransactionContext, "db" | "newId" | "now">): TransactionContext => ({
  ...given,
  changed: new Set(),
  notes: newNotes(),
  version: 0,
});

/** A limit that is bound at each call. SQLite plans a statement with a bare `LIMIT ?` again whenever it is bound. */
export const boundLimit = "LIMIT ? + 0";

/** Statements whose text is made for each call, kept by that text: preparing one takes longer than running most of them. */
export function createStatementCache(db: Database, most: number): (sql: string) => Statement<unknown[]> {
  const kept = new RecentMap<string, Statement<unknown[]>>(most);
  return (sql) => {
    const statement = kept.get(sql) ?? db.prepare<unknown[]>(sql);
    // The statement that was used last is at the end.
    kept.set(sql, statement);
    return statement;
  };
}
