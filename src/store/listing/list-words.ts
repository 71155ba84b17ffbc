import type { AlertQuery } from "../../core/ports/alert-log.ts";
import type { Add, Awaitable, Dialect } from "../tx.ts";

export interface Statement {
  sql: string;
  values: unknown[];
}

/** @param build gets a function that makes a place in the text for a value */
export function toStatement({ place, kept }: Pick<Dialect, "place" | "kept">, build: (add: Add) => string): Statement {
  const values: unknown[] = [];
  const sql = build((value) => place(values.push(typeof value === "string" ? kept(value) : value)));
  return { sql, values };
}

/** Alerts from the first `seq` on, and below the second. */
export interface Bounds {
  from: number;
  below: number;
}

/**
 * What a page is read along, newest first: an index of alerts or of deliveries, what went wrong, or the search index. With the values that
 * the columns of an index in front of its position have, and the condition of a small one.
 */
export type Driver<Search> =
  | { along: "alerts"; columns: Partial<Record<"alert_key" | "source" | "severity", string>>; only?: string }
  | { along: "deliveries"; columns: Partial<Record<"destination" | "state" | "route", string>>; only?: string }
  | { along: "problems" }
  | { along: "search"; search: Search };

/** What of a query is looked for at once: along a driver, in a window, with the search of that part of the log. */
export interface Look<Search> {
  query: AlertQuery;
  driver: Driver<Search>;
  window: Bounds;
  /** Absent: nothing is searched for. */
  search?: Search;
}

/** What a driver gives, as parts of a SELECT. */
export interface Rows {
  from: string;
  where: string[];
  /** Newest first. Default: as they come. */
  order?: string;
  /** Joins the alert `a`, where `from` is not the alerts. */
  alert?: string;
  /** Makes one row of all that an alert has. */
  group?: string;
}

/**
 * `listed`: one row for each alert `a`; `counted`: one row for each alert, no column is read; `narrowed`: all rows of the
 * index, to count how many they are.
 */
export type RowsFor = "listed" | "counted" | "narrowed";

/**
 * The search for alerts below a position, and from which position on it finds all of them: at most `width` below. Undefined: nothing can
 * be found there.
 */
export type Find<Search> = (below: number, width: number) => { search: Search; from: number } | undefined;

/** How one database reads lists: each planner needs its own indexes, hints and windows. What a list has is said once, in this folder. */
export interface ListWords<Search> {
  sql: Dialect;
  /** A step behind which the next window is wider, and one behind which it is narrower. Milliseconds. */
  step: { shortMs: number; longMs: number };
  /** Small indexes have the states of alerts by severity as well. */
  hasStatesBySeverity: boolean;
  /** What narrows this query but for its words. Each driver has one index, or several from which the planner chooses. */
  driversOf(query: AlertQuery): Driver<Search>[];
  rowsOf(look: Look<Search>, add: Add, how: RowsFor): Rows;
  /** Joins the alert `a` of a position. */
  alertOf(seq: string): string;
  /** A range of an index, in its order: of the columns in front, and of the positions behind them. */
  rangeOf(
    name: string,
    columns: Readonly<Record<string, string | undefined>>,
    positions: string[],
    ends: { from: number[]; below: number[] },
    add: Add,
  ): { where: string; order: string };
  /** The condition that alert `a` has what is searched for. */
  matches(search: Search, add: Add): string;
  /** A column by whose index nothing is to be read. */
  unindexed(column: string): string;
  /** @param list selects the columns that it is given, in the order of the page */
  page(list: (columns: string) => string, shown: () => string, limit: number, add: Add): string;
  limited(list: string, limit: number, add: Add): string;
  run<Row extends object>(statement: Statement): Awaitable<Row[]>;
  /** Which alerts of these times there can be. */
  boundsOf(times: Pick<AlertQuery, "fromAt" | "toAt">): Awaitable<Bounds>;
  /** @param words as `wordsOfQuery` gives them, at least one */
  toFind(words: string[]): Awaitable<Find<Search>>;
}
