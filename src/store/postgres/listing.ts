import type { AlertQuery, FailedCount, FailedQuery, Position } from "../../core/ports/alert-log.ts";
import { shownColumns } from "../list-filters.ts";
import type { FailedRow, ShownRow } from "../log-entries.ts";
import { fromPosition } from "../positions.ts";
import { type Searched, wordsOfQuery } from "../search-words.ts";
import type { Add } from "../tx.ts";
import { toFailedCountStatement, toFailedStatement } from "./failed-statement.ts";
import {
  type Bounds,
  type Driver,
  driversOf,
  everything,
  isOfOneIndex,
  mostCounted,
  type Statement,
  toListStatement,
  toMatchCountStatement,
  toNarrownessStatement,
  wholeLog,
} from "./list-statement.ts";
import type { Reading } from "./reading.ts";
import { firstSince, lastUntil, sinceId, untilId } from "./times.ts";
import { postgresDialect } from "./tx.ts";
import { alertsPerTerm, foldWords, queryOfPart, type Term, textOfTerm } from "./search-terms.ts";

interface Walked {
  /** The time was over here: what is below this `seq` was not looked at. */
  stoppedBelow?: number;
  /** Positions that were looked at. */
  looked: number;
}

/** Alerts of the first window that is looked at; those after it are wider or narrower, as long as that took. */
const firstWidth = 4_096;
const leastWidth = 512;
/** Where bodies are looked at: each may be a mebibyte. */
const firstBodies = 32;
/** A step behind which the window grows, the way to the database among it, and one behind which it shrinks. */
const shortMs = 8;
const longMs = 24;
/** Parts of the search index that one statement asks for one word. */
const mostParts = 256;

/** To find out whether a word stands in the log as it is: parts of the index that are asked for all words, and for one. */
const mostAsked = 128;
const partsAsked = 64;
/** One would do. Of a limit of one a plan thinks that it soon meets it without the index, word by word, which took a second. */
const manyOfWord = 64;

/** Statements that a connection keeps prepared: those of the filters that people use come first. A rare one is planned each time. */
const mostPrepared = 100;

/**
 * Finds a page of the log, however the filters are combined. One filter is one index, which has the page in its order. Of
 * several, each may let half of the log through and together they let nothing: so the log is looked at in windows, newest
 * first, each along whatever narrows it most, until the page is full or the time is over.
 *
 * @param nowMs milliseconds that only go forward.
 */
export function createListing(
  read: Pick<Reading, "query" | "row" | "unordered">,
  nowMs: () => number = () => performance.now(),
) {
  const names = new Map<string, string>();

  /** Prepared once a connection: to plan a page anew takes as long as to read it. */
  function nameOf(sql: string): string | undefined {
    if (!names.has(sql) && names.size < mostPrepared) names.set(sql, `listing_${names.size}`);
    return names.get(sql);
  }

  const run = async <Row extends object>({ sql, values }: Statement): Promise<Row[]> =>
    (await read.query<Row>(sql, values, nameOf(sql))).rows;

  /**
   * A word that no alert of the newest parts has is taken for the beginning of one, which finds the word itself as well.
   * Undefined: nothing can be found.
   */
  async function toTerms(query: Searched): Promise<Term[] | undefined> {
    const wanted = wordsOfQuery(query);
    if (wanted === undefined) return [];
    const terms = wanted.map((one) => ({ words: foldWords(one), isBeginning: false }));
    if (terms.length === 0 || terms.some(({ words }) => words.length === 0)) return undefined;
    const parts = Math.max(8, Math.min(partsAsked, Math.floor(mostAsked / terms.length)));
    const { rows } = await read.unordered.query<{ occurs: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM generate_series(newest.part, greatest(newest.part - $3, 0), -1) part CROSS JOIN LATERAL (SELECT 1 FROM alert_words w
           WHERE search_terms(w.seq, w.words) @@ replace(asked.query, '#', part::text)::tsquery AND strpos(w.words, asked.text) > 0
           LIMIT ${manyOfWord}) found) AS occurs
       FROM unnest($1::text[], $2::text[]) WITH ORDINALITY asked (query, text, place),
         LATERAL (SELECT coalesce(max(seq), 0) / ${alertsPerTerm} AS part FROM alert_words) newest ORDER BY place`,
      [terms.map((term) => queryOfPart([term], "#")), terms.map(textOfTerm), parts - 1],
      "words_occur",
    );
    return terms.map(({ words }, index) => ({ words, isBeginning: !rows[index]?.occurs }));
  }

  async function boundsOf({ before, fromAt, toAt }: Pick<AlertQuery, "before" | "fromAt" | "toAt">): Promise<Bounds> {
    const { first, last: newest } = await read.row<{ first: number; last: number }>({
      name: `bounds${fromAt === undefined ? "" : " from"}${toAt === undefined ? "" : " to"}`,
      sql(add) {
        const from =
          fromAt === undefined ? "(SELECT coalesce(min(seq), 1) FROM alerts)" : firstSince(add(sinceId(fromAt)));
        const last = toAt === undefined ? "(SELECT coalesce(max(seq), 0) FROM alerts)" : lastUntil(add(untilId(toAt)));
        return `SELECT ${from}::bigint AS first, ${last}::bigint AS last`;
      },
    });
    const below = newest + 1;
    return { from: first, below: before === undefined ? below : Math.min(below, fromPosition(before)[0] as number) };
  }

  /** The narrowest of a window, and how many rows of it that is, up to `mostCounted`. */
  async function narrowest(drivers: readonly Driver[], window: Bounds): Promise<[Driver, number]> {
    const [row] = await run<Record<string, number>>(toNarrownessStatement(drivers, window));
    const counts = drivers.map((driver, index): [Driver, number] => [driver, row?.[`n${index}`] ?? 0]);
    return counts.reduce((best, one) => (one[1] < best[1] ? one : best));
  }

  /**
   * A window that ends below `below`, narrow enough that looking at all of it is a short step. Without a driver: it is empty.
   *
   * @param from where it begins at the earliest, and where it does when it is read along the search index.
   */
  async function nextStep(
    drivers: readonly Driver[],
    search: Driver | undefined,
    below: number,
    from: { any: number; search: number },
  ): Promise<{ window: Bounds; driver?: Driver }> {
    const [only = search ?? wholeLog] = drivers;
    const isCounted = drivers.length + (search === undefined ? 0 : 1) > 1 || only.along === "problems";
    if (!isCounted) return { window: { from: only === search ? from.search : from.any, below }, driver: only };
    for (let start = from.any; ; ) {
      const window = { from: start, below };
      const [driver, rows] = await narrowest(drivers, window);
      if (rows === 0) return { window };
      if (rows < mostCounted) return { window, driver };
      if (search !== undefined) return { window: { from: Math.max(start, from.search), below }, driver: search };
      if (below - start <= firstWidth) return { window, driver };
      start = below - Math.max(firstWidth, Math.floor((below - start) / 8));
    }
  }

  /**
   * Looks through the log, newest first, until `visit` has had enough: it is given the terms, and the driver and the bounds of
   * each window.
   */
  async function walk(
    query: AlertQuery,
    mostMs: number,
    visit: (terms: readonly Term[], driver: Driver, window: Bounds) => Promise<"enough" | "more">,
  ): Promise<Walked> {
    const endsAt = nowMs() + mostMs;
    const hasTimes = query.fromAt !== undefined || query.toAt !== undefined;
    const drivers = driversOf(query);
    if (isOfOneIndex(query)) {
      const bounds = hasTimes ? await boundsOf(query) : { ...everything };
      if (query.before !== undefined) bounds.below = Math.min(bounds.below, fromPosition(query.before)[0] as number);
      await visit([], drivers[0] ?? wholeLog, bounds);
      return { looked: 0 };
    }
    const [terms, bounds] = await Promise.all([toTerms(query), boundsOf(query)]);
    const looked = Math.max(0, bounds.below - bounds.from);
    if (terms === undefined) return { looked };
    const search: Driver | undefined = terms.length === 0 ? undefined : { along: "search", terms };
    const [first, narrow] = query.raw === undefined ? [firstWidth, leastWidth] : [firstBodies, firstBodies];
    const widths = { any: first, search: first };
    const widest = {
      any: Number.POSITIVE_INFINITY,
      search: Math.floor((mostParts * alertsPerTerm) / Math.max(1, terms.length)),
    };
    for (let { below } = bounds; below > bounds.from; ) {
      const beganAt = nowMs();
      const startOf = (width: number) => Math.max(bounds.from, startOfPart(below - width, width));
      const from = { any: startOf(widths.any), search: startOf(widths.search) };
      const { window, driver } = await nextStep(drivers, search, below, from);
      if (driver !== undefined && (await visit(terms, driver, window)) === "enough") break;
      below = window.from;
      const endedAt = nowMs();
      if (below > bounds.from && endedAt > endsAt) return { stoppedBelow: below, looked: bounds.below - below };
      const kind = search !== undefined && driver === search ? "search" : "any";
      if (endedAt - beganAt < shortMs) widths[kind] = Math.min(widest[kind], widths[kind] * 4);
      if (endedAt - beganAt > longMs) widths[kind] = Math.max(narrow, Math.floor(widths[kind] / 4));
    }
    return { looked };
  }

  return {
    /** @param mostMs is exceeded by one window at most. */
    async list(query: AlertQuery, mostMs: number): Promise<Walked & { rows: ShownRow[] }> {
      const rows: ShownRow[] = [];
      const walked = await walk(query, mostMs, async (terms, driver, window) => {
        const { sql, values } = toListStatement(query, terms, driver, window, query.limit - rows.length);
        rows.push(
          ...(await run<ShownRow>({ sql: withDetails(query, sql, (value) => `$${values.push(value)}`), values })),
        );
        return rows.length >= query.limit ? "enough" : "more";
      });
      return { ...walked, rows };
    },

    async countMatches(query: AlertQuery, mostMs: number): Promise<{ count: number; isMore: boolean }> {
      let count = 0;
      const { stoppedBelow } = await walk(query, mostMs, async (terms, driver, window) => {
        const [row] = await run<{ count: number }>(
          toMatchCountStatement(query, terms, driver, window, query.limit - count),
        );
        count += row?.count ?? 0;
        return count >= query.limit ? "enough" : "more";
      });
      return { count, isMore: count >= query.limit || stoppedBelow !== undefined };
    },

    async listFailed(query: FailedQuery, page: { limit: number; after?: Position }): Promise<FailedRow[]> {
      const [terms, bounds] = await Promise.all([toTerms(query), boundsOf(query)]);
      if (terms === undefined || page.limit < 1) return [];
      return run<FailedRow>(toFailedStatement(query, terms, bounds, page));
    },

    async countFailed(query: FailedQuery): Promise<FailedCount[]> {
      const [terms, bounds] = await Promise.all([toTerms(query), boundsOf(query)]);
      return terms === undefined ? [] : run<FailedCount>(toFailedCountStatement(query, terms, bounds));
    },
  };
}

/** Where a window begins: a wide one with a part of the search index, of which less than all cannot be asked. */
const startOfPart = (seq: number, width: number): number =>
  width < alertsPerTerm ? seq : Math.floor(Math.max(0, seq) / alertsPerTerm) * alertsPerTerm;

/** The rows of a page with what is shown of each, once it is known which they are. */
const withDetails = (query: AlertQuery, sql: string, add: Add): string =>
  `SELECT ${shownColumns(postgresDialect, query, add)} FROM (${sql}) a ORDER BY a.seq DESC`;
