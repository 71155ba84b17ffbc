import type { AlertFacts } from "../../../core/alert.ts";
import { searchableText } from "../../search-words.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import { alertsPerPart, createSearchParts } from "./search-parts.ts";

interface Next {
  seq: number;
  id: string;
  facts: string | null;
  route_failures: number;
}

export type Searching = ReturnType<typeof createSearching>;

/**
 * Full-text indexing after the fact, from a cursor that survives restarts. The cursor waits for alerts that are about
 * to be routed. One whose routing fails is passed by, so that it hides no later one, and is indexed when it is
 * routed.
 */
export function createSearching({ db }: Pick<TransactionContext, "db">, perPart = alertsPerPart) {
  const parts = createSearchParts({ db });
  const cursor = db.prepare<[], number>("SELECT alert_seq FROM search_cursor").pluck();
  const move = db.prepare("UPDATE search_cursor SET alert_seq = ?");
  const next = db.prepare<[number, number], Next>(
    `SELECT seq, id, facts, route_failures FROM alerts WHERE seq > ? ORDER BY seq ${boundLimit}`,
  );
  const idOf = db.prepare<[number], string>("SELECT id FROM alerts WHERE seq = ?").pluck();

  function index(seq: number, id: string, facts: AlertFacts): void {
    parts.insert(seq, searchableText(id, facts));
  }

  return {
    indexAlerts(limit: number): number {
      let passed = 0;
      let position = cursor.get() ?? 0;
      for (const row of next.all(position, limit)) {
        if (row.facts === null && row.route_failures === 0) break;
        if (row.seq - parts.partOf(row.seq).firstSeq >= perPart) parts.open(row.seq);
        if (row.facts !== null) index(row.seq, row.id, JSON.parse(row.facts) as AlertFacts);
        position = row.seq;
        passed += 1;
      }
      if (passed > 0) move.run(position);
      return passed;
    },

    indexedUpTo: (): number => cursor.get() ?? 0,

    /** For an alert that has just been routed and that the cursor has passed by. */
    indexLate(seq: number, facts: AlertFacts): void {
      const id = idOf.get(seq);
      if (id !== undefined) index(seq, id, facts);
    },
  };
}
