import { firstIdAt, lastIdAt, mostBehindMs } from "../../../core/id.ts";
import type { AlertQuery } from "../../../core/ports/alert-log.ts";
import {
  bodyConditions,
  deliveryConditions,
  factConditions,
  hasDelivery,
  hasProblem,
  isNewestOfKey,
  isOfAlert,
  mayBeResent,
  problemsBetween,
  stateCondition,
  timeConditions,
} from "../../list-filters.ts";
import type { Add, Dialect } from "../../tx.ts";

/**
 * What a page is read along, newest first: the log itself (or an index of it), the deliveries, what went wrong, or the
 * search index.
 */
export type Driver = "search" | "deliveries" | "problems" | "log";

export interface Statement {
  sql: string;
  /** By the numbers that stand in it. */
  values: Record<number, unknown>;
}

export function toStatement(build: (add: Add) => string): Statement {
  const values: Record<number, unknown> = {};
  let last = 0;
  const sql = build((value) => {
    last += 1;
    values[last] = value;
    return `?${last}`;
  });
  return { sql, values };
}

/** Alerts from the first `seq` on, and below the second. */
export interface Bounds {
  from: number;
  below: number;
}

/** A search as an FTS5 expression, and the table of the part in which it looks. */
export interface PartSearch {
  table: string;
  match: string;
}

/** Rows of a window that are counted at most to find the narrower driver: 50 microseconds. */
export const mostCounted = 1_000;

/** To count alerts: where deliveries say it all, the alerts themselves are not looked up. */
export const alertPosition = "a.seq";

/**
 * The statement for what a window of the log has of a page: it walks its driver in the order of the page and checks the other filters
 * row by row, so that nothing is sorted. Exported for the test that asks SQLite for its plan.
 */
export function toListStatement(
  sql: Dialect,
  query: AlertQuery,
  search: PartSearch | undefined,
  driver: Driver,
  bounds: Bounds,
  columns: string | ((add: Add) => string),
): Statement {
  const position = positions[driver];
  return toStatement((add) => {
    const [from, below, limit] = [add(bounds.from), add(bounds.below), add(query.limit)];
    const ofAlert = [
      ...timeConditions(query, add),
      ...indexedConditions(sql, query, driver, add),
      ...factConditions(sql, query, add),
      ...bodyConditions(sql, query, add),
      ...(query.newestOfKey ? [isNewestOfKey(sql)] : []),
      ...(driver === "problems" ? [`a.seq IN (${problemsBetween(sql, from, below)})`] : []),
    ];
    const conditions = [
      ...matchCondition(search, driver, add),
      ...deliveryCondition(sql, query, driver, add),
      ...ofAlert,
      `${position} >= ${from} AND ${position} < ${below}`,
    ];
    const isOfDelivery = driver === "deliveries" && columns === alertPosition && ofAlert.length === 0 && !search;
    const [source, selected] = isOfDelivery
      ? [deliveriesOf(query), "d.alert_seq AS seq"]
      : [sourceOf(driver, query, search), typeof columns === "string" ? columns : columns(add)];
    const group = driver === "deliveries" ? "GROUP BY d.alert_seq" : "";
    return `SELECT ${selected} FROM ${source} WHERE ${conditions.join(" AND ")} ${group}
       ORDER BY ${position} DESC LIMIT ${limit} + 0`;
  });
}

/** For each driver but the search that narrows this query, a statement that counts how far in a window, up to a limit. */
export function toCountStatements(sql: Dialect, query: AlertQuery, { from, below }: Bounds): [Driver, Statement][] {
  const counts: [Driver, Statement][] = [];
  const add = (driver: Driver, source: string, toConditions: (add: Add) => string[]) => {
    const position = positions[driver];
    let isNarrowing = true;
    const statement = toStatement((add) => {
      const conditions = toConditions(add);
      isNarrowing = conditions.length > 0;
      const where = [...conditions, `${position} >= ${add(from)} AND ${position} < ${add(below)}`].join(" AND ");
      return `SELECT count(*) FROM (SELECT 1 FROM ${source} WHERE ${where} LIMIT ${mostCounted})`;
    });
    if (isNarrowing) counts.push([driver, statement]);
  };
  if (query.state === "problem") {
    const toText = (add: Add) =>
      `SELECT count(*) FROM (SELECT 1 FROM (${problemsBetween(sql, add(from), add(below))}) LIMIT ${mostCounted})`;
    counts.push(["problems", toStatement(toText)]);
  } else {
    add("deliveries", deliveriesOf(query), (add) => deliveryCondition(sql, query, "deliveries", add));
  }
  add("log", "alerts a", (add) => indexedConditions(sql, query, "log", add));
  return counts;
}

/**
 * Whether one index has exactly what the query asks for, in the order of the page: then as many of its rows are read as
 * are wanted, however long the log is.
 */
export function isOfOneIndex(query: AlertQuery): boolean {
  const { q, phrases, raw, severity, state, destination, route, key, source, facts, newestOfKey } = query;
  if (newestOfKey || raw !== undefined) return false;
  if (facts !== undefined && facts.length > 0) return false;
  const filters = [q, phrases, severity, state, destination, route, key, source].filter((one) => one !== undefined);
  if (q !== undefined || phrases !== undefined || state === "problem") return false;
  if (filters.length < 2) return true;
  if (filters.length > 2 || state === undefined) return false;
  return isOfAlert(state) ? severity !== undefined : destination !== undefined;
}

/** How many alerts of a window a search finds, up to a limit. */
export const toSearchCount = ({ table, match }: PartSearch, { from, below }: Bounds): Statement =>
  toStatement(
    (add) => `SELECT count(*) FROM (SELECT 1 FROM ${table} s
      WHERE s.words MATCH ${add(match)} AND s.rowid >= ${add(from)} AND s.rowid < ${add(below)} LIMIT ${mostCounted})`,
  );

/** CROSS JOIN: SQLite, which has no statistics here, is not to turn it round. */
function sourceOf(driver: Driver, query: AlertQuery, search: PartSearch | undefined): string {
  switch (driver) {
    case "search":
      return `${search?.table} s CROSS JOIN alerts a ON a.seq = s.rowid`;
    case "deliveries":
      return `${deliveriesOf(query)} CROSS JOIN alerts a ON a.seq = d.alert_seq`;
    case "problems":
    case "log":
      return "alerts a";
    default:
      return driver satisfies never;
  }
}

/** The index of what did not get through is named: the one of all states may hold 100,000 that were resent. */
export function deliveriesOf({ state, destination }: Pick<AlertQuery, "state" | "destination">): string {
  if (!mayBeResent(state)) return "deliveries d";
  const index = destination === undefined ? "deliveries_unsent" : "deliveries_unsent_by_destination";
  return `deliveries d INDEXED BY ${index}`;
}

const positions: Record<Driver, string> = {
  search: "s.rowid",
  deliveries: "d.alert_seq",
  problems: "a.seq",
  log: "a.seq",
};

/** Of alerts from `?1` on and below `?2`, how many went wrong, up to a limit. */
export const countProblems = (sql: Dialect) =>
  `SELECT count(*) FROM (SELECT DISTINCT seq FROM (${problemsBetween(sql, "?1", "?2")}) LIMIT ${mostCounted})`;
/** The same, and how many of those are of the severity `?3`. */
export const countProblemsOf = (sql: Dialect) =>
  `SELECT count(*) FROM (SELECT DISTINCT seq FROM (${problemsBetween(sql, "?1", "?2")}) LIMIT ${mostCounted}) p
     CROSS JOIN alerts a ON a.seq = p.seq WHERE +a.severity = ?3`;

/** Beside another driver the part is asked once for all that it has: to ask it about one row takes as long. */
export function matchCondition(search: PartSearch | undefined, driver: Driver, add: Add): string[] {
  if (search === undefined) return [];
  const match = `MATCH ${add(search.match)}`;
  return [
    driver === "search" ? `s.words ${match}` : `+a.seq IN (SELECT rowid FROM ${search.table} WHERE words ${match})`,
  ];
}

function deliveryCondition(sql: Dialect, query: AlertQuery, driver: Driver, add: Add): string[] {
  const conditions = deliveryConditions(query, add);
  return driver === "deliveries" || conditions.length === 0 ? conditions : [hasDelivery(sql, conditions)];
}

/** The plus keeps SQLite from an index that has another order, or from reading all of one that says nothing. */
function indexedConditions(sql: Dialect, query: AlertQuery, driver: Driver, add: Add): string[] {
  const { severity, state, source, key, destination, route } = query;
  const plus = driver === "problems" ? "+" : "";
  const conditions: string[] = [];
  if (source !== undefined) conditions.push(`${plus}a.source = ${add(source)}`);
  if (key !== undefined) conditions.push(`${plus}a.alert_key = ${add(key)}`);
  // What is not routed has no severity yet.
  if (severity !== undefined) conditions.push(`${state === "unrouted" ? "+" : plus}a.severity = ${add(severity)}`);
  const ofAlert = stateCondition(sql, state);
  if (ofAlert !== undefined) conditions.push(ofAlert);
  const isOfDelivery = destination !== undefined || route !== undefined;
  if (state === "problem" && driver !== "problems" && !isOfDelivery) conditions.push(hasProblem(sql));
  return conditions;
}

/**
 * An alert's id begins with the time at which it was made, never before the alert came and at most this many
 * milliseconds later: the ids narrow the walk, and the alert's own time decides.
 */
const mostAheadMs = mostBehindMs + 1_000;
export const sinceId = (fromAt: number): string => firstIdAt(fromAt);
export const untilId = (toAt: number): string => lastIdAt(toAt + mostAheadMs);
export const firstSince = (place = "?") =>
  `SELECT coalesce(min(seq), 9000000000000000) FROM (SELECT seq FROM alerts WHERE id >= ${place} ORDER BY id LIMIT 1)`;
export const lastUntil =
  "SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM alerts WHERE id <= ? ORDER BY id DESC LIMIT 1)";
