import type { AlertFacts } from "../../core/alert.ts";
import type { Database } from "./database.ts";
import { toWords } from "./search-terms.ts";

/** Alerts whose words are written at once, and how often one after the other. */
const batch = 200;
const batchesAtOnce = 20;

/**
 * Makes alerts searchable that were routed, a bounded number a call. Relays take turns by rows: what one of them is at, another
 * leaves out.
 */
export function createSearching(database: Pick<Database, "transaction" | "single">) {
  async function indexSome(): Promise<number> {
    return database.transaction(async (tx) => {
      const { rows } = await tx.query<{ seq: number; id: string; facts: string | null }>(
        `WITH taken AS (DELETE FROM search_queue WHERE seq = ANY(ARRAY(
           SELECT seq FROM search_queue ORDER BY seq LIMIT ${batch} FOR UPDATE SKIP LOCKED)) RETURNING seq)
         SELECT t.seq, a.id, a.facts FROM taken t CROSS JOIN LATERAL (SELECT id, facts FROM alerts WHERE seq = t.seq OFFSET 0) a
         ORDER BY t.seq`,
        [],
        "take_for_search",
      );
      const words = rows.map(({ id, facts }) => (facts === null ? "" : toWords(id, JSON.parse(facts) as AlertFacts)));
      if (rows.length > 0)
        await tx.query(
          `INSERT INTO alert_words (seq, words) SELECT * FROM unnest($1::bigint[], $2::text[]) w (seq, words) WHERE words <> ''
             ON CONFLICT DO NOTHING`,
          [rows.map(({ seq }) => seq), words],
          "write_words",
        );
      return rows.length;
    });
  }

  return {
    /** To be asked for about once a second. */
    async indexAlerts(stop?: AbortSignal): Promise<void> {
      let indexed = 0;
      for (let round = 0; round < batchesAtOnce && !stop?.aborted; round += 1) {
        const count = await indexSome();
        indexed += count;
        if (count < batch) break;
      }
      // For a role that does not own the index the server does it, when the list is long or at its next vacuum.
      if (indexed > 0)
        await database.single.query(
          `SELECT CASE WHEN pg_has_role(relowner, 'USAGE') THEN gin_clean_pending_list(oid) END
           FROM pg_class WHERE oid = 'alert_words_by_term'::regclass`,
          [],
          "add_words",
        );
    },
  };
}
