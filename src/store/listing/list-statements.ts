import type { AlertQuery } from "../../core/ports/alert-log.ts";
import {
  bodyConditions,
  deliveryConditions,
  factConditions,
  hasDelivery,
  hasProblem,
  isNewestOfKey,
  problemsBetween,
  shownColumns,
  stateCondition,
  timeConditions,
} from "../list-filters.ts";
import type { Add } from "../tx.ts";
import {
  type Bounds,
  type Driver,
  type ListWords,
  type Look,
  type Rows,
  type RowsFor,
  type Statement,
  toStatement,
} from "./list-words.ts";

/** Rows of a window that are counted at most to find the narrowest driver. */
export const mostCounted = 1_000;

/**
 * The statements of lists. A statement reads along one index (its driver) in the order of the page, and checks the other filters row by
 * row until the page is full, so that nothing is sorted.
 */
export function createListStatements<Search>(words: ListWords<Search>) {
  const { sql } = words;
  const statement = (build: (add: Add) => string): Statement => toStatement(sql, build);

  function listOf(look: Look<Search>, add: Add, columns?: string): string {
    const filters = filtersOf(look, add);
    const how: RowsFor = columns === undefined && filters.length === 0 ? "counted" : "listed";
    const { where, ...rows } = words.rowsOf(look, add, how);
    return select(columns ?? "1", { ...rows, where: [...where, ...filters] });
  }

  function filtersOf({ query, search, driver }: Look<Search>, add: Add): string[] {
    const { severity, state, source, key, newestOfKey } = query;
    const own: object = driver.along === "alerts" ? driver.columns : {};
    const conditions: string[] = [];
    const equal = (column: string, value: string | undefined, isIndexed = driver.along !== "problems") => {
      if (value === undefined || column in own) return;
      conditions.push(`${isIndexed ? `a.${column}` : words.unindexed(`a.${column}`)} = ${add(value)}`);
    };
    equal("source", source);
    equal("alert_key", key);
    // What is not routed has no severity yet.
    equal("severity", severity, driver.along !== "problems" && state !== "unrouted");
    const ofAlert = stateCondition(sql, state);
    if (ofAlert !== undefined && !("only" in driver && driver.only === ofAlert)) conditions.push(ofAlert);
    conditions.push(...timeConditions(query, add));
    if (search !== undefined && driver.along !== "search") conditions.push(words.matches(search, add));
    conditions.push(...factConditions(sql, query, add));
    if (driver.along !== "deliveries") {
      const parts = deliveryConditions(query, add);
      if (parts.length > 0) conditions.push(hasDelivery(sql, parts));
      else if (state === "problem" && driver.along !== "problems") conditions.push(hasProblem(sql));
    }
    if (newestOfKey) conditions.push(isNewestOfKey(sql));
    conditions.push(...bodyConditions(sql, query, add));
    return conditions;
  }

  return {
    /** What a window of the log has of a page. */
    toPage: (look: Look<Search>, limit: number) =>
      statement((add) => {
        const list = (columns: string) => listOf(look, add, columns);
        return words.page(list, () => shownColumns(sql, look.query, add), limit, add);
      }),

    /** How many it has, up to the limit, as `count`. */
    toMatchCount: (look: Look<Search>, limit: number) =>
      statement((add) => `SELECT count(*) AS count FROM (${words.limited(listOf(look, add), limit, add)}) found`),

    /** How far each driver narrows a window, up to `mostCounted`: one row, with a column `n0`, `n1` … for each in their order. */
    toNarrowness: (query: AlertQuery, drivers: readonly Driver<Search>[], window: Bounds) =>
      statement((add) => {
        const counts = drivers.map((driver, index) => {
          const rows =
            driver.along === "problems"
              ? `SELECT 1 FROM (${problemsBetween(sql, add(window.from), add(window.below))}) p`
              : // The order is asked for: without it a plan may walk the whole table until it has met enough.
                select("1", words.rowsOf({ query, driver, window }, add, "narrowed"));
          return `(SELECT count(*) FROM (${rows} LIMIT ${mostCounted}) x) AS n${index}`;
        });
        return `SELECT ${counts.join(", ")}`;
      }),

    /** When the first one came, from a position on, as `received_at`. */
    toReceivedAt: (seq: number) =>
      statement((add) => `SELECT received_at FROM alerts WHERE seq >= ${add(seq)} ORDER BY seq LIMIT 1`),
  };
}

export function select(columns: string, { from, alert = "", where, group = "", order }: Rows) {
  const filter = where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`;
  return `SELECT ${columns} FROM ${from} ${alert} ${filter} ${group} ${order === undefined ? "" : `ORDER BY ${order}`}`;
}
