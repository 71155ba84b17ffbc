import type { AlertQuery } from "../../core/ports/alert-log.ts";
import { deliveryConditions, problemsBetween } from "../list-filters.ts";
import { driversOf } from "../listing/list-statements.ts";
import type { Bounds, Find, ListWords, Look, Rows, RowsFor, Statement } from "../listing/list-words.ts";
import type { Add } from "../tx.ts";
import type { Reading } from "./reading.ts";
import { alertsPerTerm, foldWords, queryOfPart, type Term, textOfTerm, toTermQuery } from "./search-terms.ts";
import { firstSince, lastUntil, sinceId, untilId } from "./times.ts";
import { postgresDialect as sql } from "./tx.ts";

/** The columns of an alert in a list. */
const alertColumns = `a.seq, a.id, a.version, a.origin, a.source, a.received_at, a.routed_at, a.routing_error, a.unmatched,
  a.dropped, a.repeat_of, a.facts, a.alert_key`;

/** Parts of the search index that one statement asks for one word. */
const mostParts = 256;
/** To find out whether a word stands in the log as it is: parts of the index that are asked for all words, and for one. */
const mostAsked = 128;
const partsAsked = 64;
/**
 * One would do. With a limit of one, the planner expects to meet a match soon without the index, word by word; that took a
 * second.
 */
const manyOfWord = 64;

/** Statements that a connection keeps prepared: those of the filters that people use come first. A rare one is planned each time. */
const mostPrepared = 100;

/** A step takes the way to the database as well. */
const step = { shortMs: 8, longMs: 24 };

export function createListWords(read: Pick<Reading, "query" | "row" | "unordered">): ListWords<readonly Term[]> {
  const prepared = new Set<string>();

  /** To plan a page anew takes as long as to read it. */
  function isPrepared(text: string): boolean {
    if (prepared.size < mostPrepared) prepared.add(text);
    return prepared.has(text);
  }

  return {
    ...{ sql, step, hasStatesBySeverity: false, rowsOf, rangeOf, alertOf },
    // Each by one index alone.
    driversOf: (query) => driversOf(sql, query),
    unindexed: (column) => column,
    // For one alert, which its words say faster than their index.
    matches: (terms, add) =>
      `EXISTS (SELECT 1 FROM alert_words w WHERE w.seq = a.seq AND ${hasTexts(terms, add).join(" AND ")} OFFSET 0)`,
    // What is shown of each is read once it is known which they are.
    page: (list, shown, limit, add) =>
      `SELECT ${shown()} FROM (${limited(list(alertColumns), limit, add)}) a ORDER BY a.seq DESC`,
    limited,
    run: async <Row extends object>({ sql: text, values }: Statement) =>
      (await read.query<Row>(text, values, isPrepared(text))).rows,

    async boundsOf({ fromAt, toAt }) {
      const { from, last } = await read.row<{ from: number; last: number }>({
        sql(add) {
          const from =
            fromAt === undefined ? "(SELECT coalesce(min(seq), 1) FROM alerts)" : firstSince(add(sinceId(fromAt)));
          const last =
            toAt === undefined ? "(SELECT coalesce(max(seq), 0) FROM alerts)" : lastUntil(add(untilId(toAt)));
          return `SELECT ${from}::bigint AS "from", ${last}::bigint AS last`;
        },
      });
      return { from, below: last + 1 };
    },

    /** A word that no alert of the newest parts has is taken for the beginning of one, which finds the word itself as well. */
    async toFind(words): Promise<Find<readonly Term[]>> {
      const folded = words.map((word) => ({ words: foldWords(word), isBeginning: false }));
      if (folded.some(({ words }) => words.length === 0)) return () => undefined;
      const occurs = await occur(read.unordered, folded);
      const terms = folded.map(({ words }, index): Term => ({ words, isBeginning: !occurs[index] }));
      const widest = Math.floor((mostParts * alertsPerTerm) / terms.length);
      return (below, width) => ({ search: terms, from: startOfPart(below, Math.min(width, widest)) });
    },
  };
}

async function occur({ query }: Pick<Reading, "query">, terms: readonly Term[]): Promise<(boolean | undefined)[]> {
  const parts = Math.max(8, Math.min(partsAsked, Math.floor(mostAsked / terms.length)));
  const { rows } = await query<{ occurs: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM generate_series(newest.part, greatest(newest.part - $3, 0), -1) part
       CROSS JOIN LATERAL (SELECT 1 FROM alert_words w
         WHERE search_terms(w.seq, w.words) @@ replace(asked.query, '#', part::text)::tsquery AND strpos(w.words, asked.text) > 0
         LIMIT ${manyOfWord}) found) AS occurs
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY asked (query, text, place),
       LATERAL (SELECT coalesce(max(seq), 0) / ${alertsPerTerm} AS part FROM alert_words) newest ORDER BY place`,
    [terms.map((term) => queryOfPart([term], "#")), terms.map(textOfTerm), parts - 1],
  );
  return rows.map(({ occurs }) => occurs);
}

/** Where a window begins: a wide one with a part of the search index, which can only be asked as a whole. */
function startOfPart(below: number, width: number): number {
  const seq = Math.max(0, below - width);
  return width < alertsPerTerm ? seq : Math.floor(seq / alertsPerTerm) * alertsPerTerm;
}

const alertOf = (seq: string) => `CROSS JOIN LATERAL (SELECT * FROM alerts WHERE seq = ${seq} OFFSET 0) a`;

/**
 * Compared as one value: so it is this index that has the order, and no plan walks all alerts instead because it takes the few that are
 * wanted for many.
 */
const rangeOf: ListWords<unknown>["rangeOf"] = (name, columns, positions, { from, below }, add) => {
  const values = Object.values(columns).map(add);
  const row = [...Object.keys(columns), ...positions].map((column) => `${name}.${column}`);
  const exists = Object.keys(columns).map((column) => `${name}.${column} IS NOT NULL AND `);
  const end = (place: number[]) => [...values, ...place.map(add)].join(", ");
  return {
    where: `${exists.join("")}(${row.join(", ")}) >= (${end(from)}) AND (${row.join(", ")}) < (${end(below)})`,
    order: row.map((column) => `${column} DESC`).join(", "),
  };
};

function rowsOf({ driver, query, window }: Look<readonly Term[]>, add: Add, how: RowsFor): Rows {
  const { from, below } = window;
  const alongIndex = (
    name: string,
    position: string,
    { columns, only }: Extract<typeof driver, { columns: object }>,
  ) => {
    const { where, order } = rangeOf(name, columns, [position], { from: [from], below: [below] }, add);
    return { where: only === undefined ? [where] : [only, where], order };
  };
  switch (driver.along) {
    case "alerts":
      return { from: "alerts a", ...alongIndex("a", "seq", driver) };
    case "deliveries": {
      const { where, order } = alongIndex("d", "alert_seq", driver);
      if (how === "narrowed") return { from: "deliveries d", where, order };
      const own = [...(driver.only ? [driver.only] : []), ...deliveryConditions(query, add, driver.columns)];
      const all = [...where, ...own];
      // Counted from the index alone, one behind the other: those of one alert lie together.
      if (how === "counted")
        return {
          from: `(SELECT d.alert_seq, lag(d.alert_seq) OVER (ORDER BY ${order}) AS before FROM deliveries d
            WHERE ${all.join(" AND ")}) counted`,
          where: ["alert_seq IS DISTINCT FROM before"],
        };
      const same = [...Object.keys(driver.columns).map((column) => `d.${column} = o.${column}`), ...own].join(" AND ");
      // Takes the last of several deliveries of an alert. No DISTINCT: a plan would take all rows there are before the
      // first.
      const isLast = `NOT EXISTS (SELECT 1 FROM (SELECT d.*) o CROSS JOIN LATERAL (SELECT 1 FROM deliveries d
         WHERE d.alert_seq = o.alert_seq AND d.seq > o.seq AND ${same} OFFSET 0) later)`;
      return {
        from: "deliveries d",
        alert: alertOf("d.alert_seq"),
        where: [...all, ...severityOfDelivery(query, add), isLast],
        order,
      };
    }
    case "problems":
      return {
        from: `(SELECT DISTINCT p.seq FROM (${problemsBetween(sql, add(from), add(below))}) p ORDER BY p.seq DESC) p`,
        alert: alertOf("p.seq"),
        where: [],
        order: "p.seq DESC",
      };
    case "search":
      return {
        from: `(WITH hit AS MATERIALIZED (${searchIn(driver.search, window, add)})
          SELECT seq FROM hit WHERE seq >= ${add(from)} AND seq < ${add(below)} ORDER BY seq DESC) h`,
        alert: alertOf("h.seq"),
        where: [],
        order: "h.seq DESC",
      };
    default:
      return driver satisfies never;
  }
}

/**
 * As a constant, a little too many: a plan that is kept for any limit would else take few rows for a tenth of all. What is too many is
 * not read, since the limit itself stands around it.
 */
function limited(list: string, limit: number, add: Add): string {
  const atMost = 4 ** Math.max(2, Math.ceil(Math.log(limit) / Math.log(4)));
  return `SELECT * FROM (${list} LIMIT ${atMost}) page LIMIT ${add(limit)}`;
}

const hasTexts = (terms: readonly Term[], add: Add): string[] =>
  terms.map((term) => `strpos(w.words, ${add(textOfTerm(term))}) > 0`);

/** Alerts that have all terms, and some more where a term is of several words: the words themselves say which. */
function searchIn(terms: readonly Term[], { from, below }: Bounds, add: Add): string {
  const conditions = [
    `search_terms(w.seq, w.words) @@ ${add(toTermQuery(terms, from, below))}::tsquery`,
    ...hasTexts(
      terms.filter(({ words }) => words.length > 1),
      add,
    ),
  ];
  return `SELECT w.seq FROM alert_words w WHERE ${conditions.join(" AND ")}`;
}

/**
 * Looked up before all else, in the index of severities where the log is long: where a destination has none of a severity, neither its
 * other deliveries nor the alerts themselves are read, which lie on as many pages.
 */
function severityOfDelivery({ severity }: AlertQuery, add: Add): string[] {
  if (severity === undefined) return [];
  return [
    `EXISTS (SELECT 1 FROM alerts s WHERE s.severity = ${add(severity)} AND s.severity IS NOT NULL AND s.seq = d.alert_seq OFFSET 0)`,
  ];
}
