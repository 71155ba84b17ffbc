import type { Database, Statement } from "better-sqlite3";
import { RecentMap } from "../../../ground/recent-map.ts";

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
