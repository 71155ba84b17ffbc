import type { AlertQuery } from "../../core/ports/alert-log.ts";
import type { Add, Awaitable, Dialect } from "../tx.ts";

export interface Statement {
  sql: string;
  values: unknown[];
}

/** @param build gets a function that adds a value and returns its place in the text */
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

/** The index along which a page is read. `columns`: values in front of the position. `only`: a small index's condition. */
export type Driver<Search> =
  | { along: "alerts"; columns: Partial<Record<"alert_key" | "source" | "severity", string>>; only?: string }
  | { along: "deliveries"; columns: Partial<Record<"destination" | "state" | "route", string>>; only?: string }
  | { along: "problems" }
  | { along: "search"; search: Search };

/** One part of a query: a window, with the search of that part of the log. */
export interface Look<Search> {
  query: AlertQuery;
  driver: Driver<Search>;
  window: Bounds;
  /** Absent: the query has no words. */
  search?: Search;
}

/** The rows of a driver, as parts of a SELECT. */
export interface Rows {
  from: string;
  where: string[];
  /** Newest first. Default: as the rows come. */
  order?: string;
  /** Joins the alert `a` to `from`. */
  alert?: string;
  /** Makes one row of all rows of an alert. */
  group?: string;
}

/** `listed`: a row for each alert `a`. `counted`: without columns. `narrowed`: all rows of the index, to count them. */
export type RowsFor = "listed" | "counted" | "narrowed";

/** Finds all alerts from the position `from` on, at most `width` below. Undefined: no alert below can match. */
export type Find<Search> = (below: number, width: number) => { search: Search; from: number } | undefined;

/** What one database says differently in lists, since each planner needs its own indexes, hints and windows. */
export interface ListWords<Search> {
  sql: Dialect;
  /** After a shorter step the next window is wider, after a longer one narrower. Milliseconds. */
  step: { shortMs: number; longMs: number };
  /** Whether small indexes have the states of alerts by severity too. */
  hasStatesBySeverity: boolean;
  /** The drivers for everything except the query's words. Each has one index, or several from which the planner chooses. */
  driversOf(query: AlertQuery): Driver<Search>[];
  rowsOf(look: Look<Search>, add: Add, how: RowsFor): Rows;
  /** Joins the alert `a` of a position. */
  alertOf(seq: string): string;
  /** A range of an index, in its order. `columns` are in front of the position. */
  rangeOf(
    name: string,
    columns: Readonly<Record<string, string | undefined>>,
    positions: string[],
    ends: { from: number[]; below: number[] },
    add: Add,
  ): { where: string; order: string };
  /** The condition that the search matches the alert `a`. */
  matches(search: Search, add: Add): string;
  /** A column in a form for which the planner uses no index. */
  unindexed(column: string): string;
  /** @param list selects the columns that it gets, in the order of the page */
  page(list: (columns: string) => string, shown: () => string, limit: number, add: Add): string;
  limited(list: string, limit: number, add: Add): string;
  run<Row extends object>(statement: Statement): Awaitable<Row[]>;
  /** The positions between which alerts of these times can be. */
  boundsOf(times: Pick<AlertQuery, "fromAt" | "toAt">): Awaitable<Bounds>;
  /** @param words as `wordsOfQuery` gives them, at least one */
  toFind(words: string[]): Awaitable<Find<Search>>;
}
