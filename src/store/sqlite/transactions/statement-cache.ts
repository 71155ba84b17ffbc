import type { Database, Statement } from "better-sqlite3";

/** Statements that are put together at each call, kept by their text: preparing one takes longer than most of them run. */
export function createStatementCache(db: Database, most: number): (sql: string) => Statement<unknown[]> {
  const kept = new Map<string, Statement<unknown[]>>();
  return (sql) => {
    const statement = kept.get(sql) ?? db.prepare<unknown[]>(sql);
    // The one that was used last stands at the end.
    kept.delete(sql);
    kept.set(sql, statement);
    if (kept.size > most) kept.delete(kept.keys().next().value as string);
    return statement;
  };
}
