import type { Database } from "better-sqlite3";
import type { AlertFacts } from "../../../core/alert.ts";
import { searchableText } from "../../search-words.ts";
import type { Row } from "../../tables.ts";
import { boundLimit, createStatementCache, type TransactionContext } from "./context.ts";

/**
 * Alerts whose words stand in one full-text index. To look for the beginning of a word, FTS5 reads all that begins so
 * in the whole index, and nothing can stop it: `b` of 32,768 alerts takes up to 45 ms.
 */
const alertsPerPart = 32_768;

/**
 * How often parts are asked whether a word of a search stands in them as it is, and how many at most for one word. To
 * find out that `firing-info` does not takes 3 ms a part where every alert has both halves.
 */
const mostAsked = 16;
const partsAsked = 8;

/** One full-text index, of the alerts from `firstSeq` to the next part's. */
export interface SearchPart {
  firstSeq: number;
  /** The name of its table. */
  name: string;
}

type IndexedAlert = Pick<Row<"alerts">, "seq" | "id" | "facts">;

/** Alerts that are left of a part and moved at once: a few milliseconds. With more it stays as it is. */
const mostMoved = 64;
const shrunkEnding = "_left";

export function createSearchParts({ db }: Pick<TransactionContext, "db">) {
  const list = db.prepare<[], SearchPart>(
    "SELECT first_seq AS firstSeq, name FROM search_parts ORDER BY first_seq DESC",
  );
  const cover = db.prepare<[number], SearchPart>(
    "SELECT first_seq AS firstSeq, name FROM search_parts WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1",
  );
  const add = db.prepare("INSERT INTO search_parts (first_seq, name) VALUES (?, ?)");
  const rename = db.prepare("UPDATE search_parts SET name = ? WHERE first_seq = ?");
  const remove = db.prepare("DELETE FROM search_parts WHERE first_seq = ?");
  const indexedUpTo = db.prepare<[], number>("SELECT alert_seq FROM search_cursor").pluck();
  const listAlerts = db.prepare<[number, number, number], IndexedAlert>(
    `SELECT seq, id, facts FROM alerts WHERE seq >= ? AND seq < ? ORDER BY seq ${boundLimit}`,
  );
  const findForgotten = db
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema WHERE name GLOB 'alerts_search*' AND sql LIKE 'CREATE VIRTUAL TABLE %'
         AND name NOT IN (SELECT name FROM search_parts) LIMIT 1`,
    )
    .pluck();
  const prepare = createStatementCache(db, 512);
  let mayHaveForgotten = true;

  /** The part that an alert belongs to. */
  function partOf(seq: number): SearchPart {
    const part = cover.get(seq);
    if (part === undefined) throw new Error(`no part of the search index is for alert ${seq}`);
    return part;
  }

  function insertInto(name: string, seq: number, id: string, facts: AlertFacts): void {
    prepare(`INSERT INTO ${name} (rowid, words) VALUES (?, ?)`).run(seq, searchableText(id, facts));
  }

  function moveTo(name: string, firstSeq: number, alerts: IndexedAlert[]): void {
    createPart(db, name);
    rename.run(name, firstSeq);
    for (const { seq, id, facts } of alerts)
      if (facts !== null) insertInto(name, seq, id, JSON.parse(facts) as AlertFacts);
  }

  return {
    /** Newest first. */
    list: (): SearchPart[] => list.all(),
    partOf,

    /** A new one that begins with this alert, which comes behind all that is indexed. */
    open(firstSeq: number): void {
      const name = `alerts_search_${firstSeq}`;
      createPart(db, name);
      add.run(firstSeq, name);
    },

    /**
     * Behind the removal of alerts from here to there: of parts that lie before the end, those without an alert are
     * searched no more, and those with a few are written anew, with those alone.
     */
    shrink(fromSeq: number, toSeq: number): void {
      const parts = list.all().reverse();
      const end = Math.min(toSeq, (indexedUpTo.get() ?? 0) + 1);
      parts.forEach(({ firstSeq, name }, index) => {
        const below = parts[index + 1]?.firstSeq ?? Number.POSITIVE_INFINITY;
        if (below <= fromSeq || below > end) return;
        const left = listAlerts.all(firstSeq, below, mostMoved + 1);
        if (left.length > mostMoved || (left.length > 0 && name.endsWith(shrunkEnding))) return;
        if (left.length === 0) remove.run(firstSeq);
        else moveTo(`alerts_search_${firstSeq}${shrunkEnding}`, firstSeq, left);
        mayHaveForgotten = true;
      });
    },

    /**
     * Empties a forgotten part bit by bit, and removes its table at last: to do it at once takes as long as the part is
     * large, and the first of an old log may hold millions of alerts. False: there is none.
     */
    clearForgotten(): boolean {
      const name = mayHaveForgotten ? findForgotten.get() : undefined;
      mayHaveForgotten = name !== undefined;
      if (name !== undefined && !clearSome(db, name)) db.exec(`DROP TABLE ${name}`);
      return mayHaveForgotten;
    },

    insert(seq: number, id: string, facts: AlertFacts): void {
      insertInto(partOf(seq).name, seq, id, facts);
    },

    /**
     * Words as an FTS5 expression: all must occur. A word that no alert of the newest parts has as it stands may continue: `liquid`
     * finds `liquidity`. Nothing of FTS5's own syntax gets through.
     * @param words as `splitSearch` gives them, at least one
     */
    toExpression(words: string[]): string {
      const newest = list.all().slice(0, Math.max(1, Math.min(partsAsked, Math.floor(mostAsked / words.length))));
      const occurs = (phrase: string) =>
        newest.some(({ name }) => prepare(`SELECT 1 FROM ${name} WHERE words MATCH ? LIMIT 1`).get(phrase));
      const phrases = words.map((word) => `"${word}"`);
      return phrases.map((phrase) => (occurs(phrase) ? phrase : `${phrase}*`)).join(" AND ");
    },
  };
}

function createPart(db: Database, name: string): void {
  db.exec(`CREATE VIRTUAL TABLE ${name} USING fts5 (words, content = '', tokenize = 'unicode61')`);
}

/**
 * Removes some of what FTS5 keeps in tables of its own, a few hundred KiB each. FTS5 knows an index by the rows with
 * ids up to 10, so these stay.
 */
const clearing = (name: string) => [
  `DELETE FROM ${name}_data WHERE id IN (SELECT id FROM ${name}_data WHERE id > 10 LIMIT 64)`,
  `DELETE FROM ${name}_docsize WHERE id IN (SELECT id FROM ${name}_docsize LIMIT 2048)`,
  `DELETE FROM ${name}_idx WHERE (segid, term) IN (SELECT segid, term FROM ${name}_idx LIMIT 1024)`,
];

/** FTS5 has no way to empty an index in part. Nobody looks into this one any more, so its tables can be written to. */
function clearSome(db: Database, name: string): boolean {
  db.unsafeMode(true);
  try {
    return clearing(name).some((sql) => db.prepare(sql).run().changes > 0);
  } finally {
    db.unsafeMode(false);
  }
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
  const next = db.prepare<[number, number], IndexedAlert & { route_failures: number }>(
    `SELECT seq, id, facts, route_failures FROM alerts WHERE seq > ? ORDER BY seq ${boundLimit}`,
  );
  const idOf = db.prepare<[number], string>("SELECT id FROM alerts WHERE seq = ?").pluck();

  return {
    indexAlerts(limit: number): number {
      let passed = 0;
      let position = cursor.get() ?? 0;
      for (const row of next.all(position, limit)) {
        if (row.facts === null && row.route_failures === 0) break;
        if (row.seq - parts.partOf(row.seq).firstSeq >= perPart) parts.open(row.seq);
        if (row.facts !== null) parts.insert(row.seq, row.id, JSON.parse(row.facts) as AlertFacts);
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
      if (id !== undefined) parts.insert(seq, id, facts);
    },
  };
}
