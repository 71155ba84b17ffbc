import type { Database } from "better-sqlite3";
import type { AlertFacts } from "../../../core/alert.ts";
import { searchableText } from "../../search-words.ts";
import { searchPhrase } from "../search-expression.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import { createStatementCache } from "./statement-cache.ts";

/**
 * Alerts whose words stand in one full-text index. To look for the beginning of a word, FTS5 reads all that begins so
 * in the whole index, and nothing can stop it: `b` of 32,768 alerts takes up to 45 ms.
 */
export const alertsPerPart = 32_768;

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

interface IndexedAlert {
  seq: number;
  id: string;
  facts: string | null;
}

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

  function create(name: string): void {
    db.exec(`CREATE VIRTUAL TABLE ${name} USING fts5 (words, content = '', tokenize = 'unicode61')`);
  }

  function moveTo(name: string, firstSeq: number, alerts: IndexedAlert[]): void {
    create(name);
    rename.run(name, firstSeq);
    const insert = db.prepare(`INSERT INTO ${name} (rowid, words) VALUES (?, ?)`);
    for (const { seq, id, facts } of alerts) {
      if (facts !== null) insert.run(seq, searchableText(id, JSON.parse(facts) as AlertFacts));
    }
  }

  return {
    /** Newest first. */
    list: (): SearchPart[] => list.all(),
    partOf,

    /** A new one that begins with this alert, which comes behind all that is indexed. */
    open(firstSeq: number): void {
      const name = `alerts_search_${firstSeq}`;
      create(name);
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
      if (name === undefined) {
        mayHaveForgotten = false;
        return false;
      }
      if (!clearSome(db, name)) db.exec(`DROP TABLE ${name}`);
      return true;
    },

    insert(seq: number, words: string): void {
      prepare(`INSERT INTO ${partOf(seq).name} (rowid, words) VALUES (?, ?)`).run(seq, words);
    },

    /** Says of each of these words whether an alert of the newest parts has it as it stands. */
    wordsOf(words: string[]): (word: string) => boolean {
      const newest = list.all().slice(0, Math.max(1, Math.min(partsAsked, Math.floor(mostAsked / words.length))));
      return (word) =>
        newest.some(({ name }) => prepare(`SELECT 1 FROM ${name} WHERE words MATCH ? LIMIT 1`).get(searchPhrase(word)));
    },
  };
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
