import type { AlertFacts } from "../../core/alert.ts";
import { searchableText } from "../search-words.ts";
import type { TransactionContext } from "./context.ts";

/** Full-text indexing after the fact: from a cursor that survives restarts, only over alerts that are routed. */
export function createSearching({ db }: TransactionContext) {
  const cursor = db.prepare<[], number>("SELECT alert_seq FROM search_cursor").pluck();
  const move = db.prepare("UPDATE search_cursor SET alert_seq = ?");
  const next = db.prepare<
    [number, number],
    { seq: number; id: string; facts: string | null; routed_at: number | null }
  >("SELECT seq, id, facts, routed_at FROM alerts WHERE seq > ? ORDER BY seq LIMIT ?");
  const insert = db.prepare("INSERT INTO alerts_search (rowid, words) VALUES (?, ?)");

  return {
    indexAlerts(limit: number): number {
      let indexed = 0;
      let position = cursor.get() ?? 0;
      for (const row of next.all(position, limit)) {
        if (row.routed_at === null) break;
        if (row.facts) insert.run(row.seq, searchableText(row.id, JSON.parse(row.facts) as AlertFacts));
        position = row.seq;
        indexed += 1;
      }
      if (indexed > 0) move.run(position);
      return indexed;
    },
  };
}
