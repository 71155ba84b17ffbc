import type { AlertQuery } from "../../core/ports/alert-log.ts";
import { deliveryConditions, problemsBetween } from "../list-filters.ts";
import { driversOf } from "../listing/list-statements.ts";
import type { Bounds, Find, ListWords, Look, Rows, RowsFor, Statement } from "../listing/list-words.ts";
import { markedColumns } from "../tables.ts";
import type { Add } from "../tx.ts";
import type { Reading } from "./reading.ts";
import { alertsPerTerm, foldWords, queryOfPart, type Term, textOfTerm, toTermQuery } from "./search-terms.ts";
import { firstSince, lastUntil, sinceId, untilId } from "./times.ts";
import { postgresDialect as sql } from "./tx.ts";

const alertColumns = ["seq", "version", ...markedColumns("isShown"), "facts", "alert_key"]
  .map((name) => `a.${name}`)
  .join(", ");

/** Parts of the search index that one statement asks for one word. */
const mostParts = 256;
/** Parts of the index that are asked whether a word occurs exactly: for all words together, and for one word. */
const mostAsked = 128;
const partsAsked = 64;
/** One would be enough. With a limit of one the planner expects an early match without the index, and reads for a second. */
const manyOfWord = 64;

/** Statements that a connection keeps prepared. Common ones come first. A rare one is planned each time. */
const mostPrepared = 100;

/** A step includes the way to the database. */
const step = { shortMs: 8, longMs: 24 };

export function createListWords(read: Pick<Reading, "query" | "row" | "unordered">): ListWords<readonly Term[]> {
  const prepared = new Set<string>();

  /** Planning a page takes as long as reading it. */
  function isPrepared(text: string): boolean {
    if (prepared.size < mostPrepared) prepared.add(text);
    return prepared.has(text);
  }

  return {
    ...{ sql, step, hasStatesBySeverity: false, rowsOf, rangeOf, alertOf },
    // Each driver has one index.
    driversOf: (query) => driversOf(sql, query),
    unindexed: (column) => column,
    // For one alert: its words answer faster than their index.
    matches: (terms, add) =>
      `EXISTS (SELECT 1 FROM alert_words w WHERE w.seq = a.seq AND ${hasTexts(terms, add).join(" AND ")} OFFSET 0)`,
    // The other columns of a page are read once its alerts are known.
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

    /** A word that no alert of the newest parts has is searched as the beginning of a word, which finds the word too. */
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

/** Where a window begins. A wide one begins with a part of the search index, since a part can only be asked as a whole. */
function startOfPart(below: number, width: number): number {
  const seq = Math.max(0, below - width);
  return width < alertsPerTerm ? seq : Math.floor(seq / alertsPerTerm) * alertsPerTerm;
}

const alertOf = (seq: string) => `CROSS JOIN LATERAL (SELECT * FROM alerts WHERE seq = ${seq} OFFSET 0) a`;

/** Compared as one value, so that the plan uses this index for the order. Otherwise a plan may walk all alerts. */
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
      // Counted from the index alone. The rows of one alert are adjacent.
      if (how === "counted")
        return {
          from: `(SELECT d.alert_seq, lag(d.alert_seq) OVER (ORDER BY ${order}) AS before FROM deliveries d
            WHERE ${all.join(" AND ")}) counted`,
          where: ["alert_seq IS DISTINCT FROM before"],
        };
      const same = [...Object.keys(driver.columns).map((column) => `d.${column} = o.${column}`), ...own].join(" AND ");
      // Takes the last delivery of each alert. DISTINCT would read all rows before it gives the first.
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

/** The limit as a constant, rounded up: a plan for any limit would expect a tenth of all rows. The exact limit is around it. */
function limited(list: string, limit: number, add: Add): string {
  const atMost = 4 ** Math.max(2, Math.ceil(Math.log(limit) / Math.log(4)));
  return `SELECT * FROM (${list} LIMIT ${atMost}) page LIMIT ${add(limit)}`;
}

const hasTexts = (terms: readonly Term[], add: Add): string[] =>
  terms.map((term) => `strpos(w.words, ${add(textOfTerm(term))}) > 0`);

/** Alerts that have all terms, and some more where a term has several words: the words themselves decide then. */
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

/** Checked first, in the index of severities. A destination without such alerts needs no other reading. */
function severityOfDelivery({ severity }: AlertQuery, add: Add): string[] {
  if (severity === undefined) return [];
  return [
    `EXISTS (SELECT 1 FROM alerts s WHERE s.severity = ${add(severity)} AND s.severity IS NOT NULL AND s.seq = d.alert_seq OFFSET 0)`,
  ];
}
