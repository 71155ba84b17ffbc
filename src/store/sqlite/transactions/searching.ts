import type { Database } from "better-sqlite3";
import type { AlertFacts } from "../../../core/alert.ts";
import { searchableText } from "../../search-words.ts";
import type { Row } from "../../tables.ts";
import { boundLimit, createStatementCache, type TransactionContext } from "./context.ts";

/** Alerts of one full-text index. Searching for a word's beginning cannot be stopped: `b` takes 45 ms for these. */
const alertsPerPart = 32_768;

/** Parts of the index that are asked for an exact word, in all and for one word. `firing-info` takes 3 ms a part. */
const mostAsked = 16;
const partsAsked = 8;

/** One full-text index, of the alerts from `firstSeq` to the beginning of the next part. */
export interface SearchPart {
  firstSeq: number;
  /** The name of its table. */
  name: string;
}

type IndexedAlert = Pick<Row<"alerts">, "seq" | "id" | "facts">;

/** Remaining alerts of a part that are moved at once: a few milliseconds. A part with more stays as it is. */
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

    /** Adds a part that begins with this alert, which comes after all indexed ones. */
    open(firstSeq: number): void {
      const name = `alerts_search_${firstSeq}`;
      createPart(db, name);
      add.run(firstSeq, name);
    },

    /** For removed alerts of this range: removes parts without alerts from the search, and rewrites parts with a few. */
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

    /** Empties a removed part bit by bit, then drops its table, which at once would take long. False: there is none. */
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
     * Words, as `splitSearch` gives them, as an FTS5 expression: all must occur, and FTS5's own syntax is escaped. A word that
     * the newest parts do not have exactly may be the beginning of one: `liquid` finds `liquidity`.
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

/** Removes some rows of FTS5's own tables, a few hundred KiB. FTS5 recognizes an index by the rows up to id 10, which stay. */
const clearing = (name: string) => [
  `DELETE FROM ${name}_data WHERE id IN (SELECT id FROM ${name}_data WHERE id > 10 LIMIT 64)`,
  `DELETE FROM ${name}_docsize WHERE id IN (SELECT id FROM ${name}_docsize LIMIT 2048)`,
  `DELETE FROM ${name}_idx WHERE (segid, term) IN (SELECT segid, term FROM ${name}_idx LIMIT 1024)`,
];

/** FTS5 cannot empty an index in part. Nobody searches in this one any more, so its tables can be changed directly. */
function clearSome(db: Database, name: string): boolean {
  db.unsafeMode(true);
  try {
    return clearing(name).some((sql) => db.prepare(sql).run().changes > 0);
  } finally {
    db.unsafeMode(false);
  }
}

export type Searching = ReturnType<typeof createSearching>;

/** Indexes stored alerts from a cursor that waits for routing. Alerts whose routing fails are indexed when routed. */
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

    /** For an alert that the cursor has skipped and that has just been routed. */
    indexLate(seq: number, facts: AlertFacts): void {
      const id = idOf.get(seq);
      if (id !== undefined) parts.insert(seq, id, facts);
    },
  };
}
