import { firstIdAt, lastIdAt, mostBehindMs } from "../../../core/id.ts";
import type { AlertQuery } from "../../../core/ports/alert-log.ts";
import { boundLimit } from "./context.ts";

/**
 * What a page is read along, newest first: the log itself (or an index of it), the deliveries, what went wrong, or the
 * search index.
 */
export type Driver = "search" | "deliveries" | "problems" | "log";

/** Its parameters are followed by both ends of the window, `windows` times, and by what else its maker says. */
export interface Statement {
  sql: string;
  parameters: unknown[];
  windows: number;
}

export interface Condition {
  sql: string;
  values: unknown[];
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
 * The statement for what a window of the log (from `seq` on, below `seq`) has of a page: it walks its driver in the
 * order of the page and checks the other filters row by row, so that nothing is sorted. Its last parameter is how many
 * rows are wanted. Exported for the test that asks SQLite for its plan.
 */
export function toListStatement(
  query: AlertQuery,
  search: PartSearch | undefined,
  driver: Driver,
  columns: string,
): Statement {
  const position = positions[driver];
  const ofAlert = [
    ...timeConditions(query),
    ...alertConditions(query, driver),
    ...(query.newestOfKey ? [{ sql: isNewestOfKey, values: [] }] : []),
    ...(driver === "problems" ? [{ sql: `a.seq IN (${problems})`, values: [] }] : []),
  ];
  const conditions = [
    ...matchCondition(search, driver),
    ...deliveryCondition(query, driver),
    ...ofAlert,
    { sql: `${position} >= ? AND ${position} < ?`, values: [] },
  ];
  const isOfDelivery = driver === "deliveries" && columns === alertPosition && ofAlert.length === 0 && !search;
  const [from, selected] = isOfDelivery
    ? [deliveriesOf(query), "d.alert_seq AS seq"]
    : [sourceOf(driver, query, search), columns];
  const group = driver === "deliveries" ? "GROUP BY d.alert_seq" : "";
  return {
    sql: `SELECT ${selected} FROM ${from} WHERE ${joined(conditions)} ${group}
       ORDER BY ${position} DESC ${boundLimit}`,
    parameters: conditions.flatMap(({ values }) => values),
    windows: driver === "problems" ? problemWindows + 1 : 1,
  };
}

/** For each driver but the search that narrows this query, a statement that counts how far in a window, up to a limit. */
export function toCountStatements(query: AlertQuery): [Driver, Statement][] {
  const counts: [Driver, Statement][] = [];
  const add = (driver: Driver, from: string, conditions: Condition[]) => {
    if (conditions.length === 0) return;
    const position = positions[driver];
    const where = `${joined(conditions)} AND ${position} >= ? AND ${position} < ?`;
    const sql = `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT ${mostCounted})`;
    counts.push([driver, { sql, parameters: conditions.flatMap(({ values }) => values), windows: 1 }]);
  };
  if (query.state === "problem") {
    const sql = `SELECT count(*) FROM (SELECT 1 FROM (${problems}) LIMIT ${mostCounted})`;
    counts.push(["problems", { sql, parameters: [], windows: problemWindows }]);
  } else {
    add("deliveries", deliveriesOf(query), deliveryCondition(query, "deliveries"));
  }
  add("log", "alerts a", indexedConditions(query, "log"));
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
export const toSearchCount = ({ table, match }: PartSearch): Statement => ({
  sql: `SELECT count(*) FROM (SELECT 1 FROM ${table} s WHERE s.words MATCH ? AND s.rowid >= ? AND s.rowid < ? LIMIT ${mostCounted})`,
  parameters: [match],
  windows: 1,
});

const joined = (conditions: Condition[]) => conditions.map(({ sql }) => sql).join(" AND ");

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

function mayBeResent(state: AlertQuery["state"]): boolean {
  return state === "failed" || state === "expired" || state === "held";
}

const positions: Record<Driver, string> = {
  search: "s.rowid",
  deliveries: "d.alert_seq",
  problems: "a.seq",
  log: "a.seq",
};

/** One that was resent counts as its resend does. The last term names the index that holds only the others. */
export const unsent = "d.resent_by IS NULL AND d.state IN ('failed', 'expired', 'held')";

/** Of the alerts of a window those with which something went wrong, from small indexes: a list to look each up in. */
const problems = ["d.state = 'failed'", "d.state = 'expired'", "d.state = 'held' AND d.due_at IS NULL"]
  .map(
    (state) => `SELECT d.alert_seq FROM deliveries d INDEXED BY deliveries_unsent
       WHERE ${state} AND ${unsent} AND d.alert_seq >= ? AND d.alert_seq < ?`,
  )
  .concat(
    "SELECT seq FROM alerts WHERE unmatched = 1 AND seq >= ? AND seq < ?",
    // Named: along the index of what is not routed each alert that waits would be read, and in a flood there are thousands.
    `SELECT seq FROM alerts INDEXED BY alerts_routing_failed
       WHERE routed_at IS NULL AND route_failures > 0 AND seq >= ? AND seq < ?`,
  )
  .join(" UNION ALL ");
const problemWindows = 5;
/** How many alerts of a window are among them, up to a limit. */
export const countProblems = {
  sql: `SELECT count(*) FROM (SELECT DISTINCT alert_seq FROM (${problems}) LIMIT ${mostCounted})`,
  windows: problemWindows,
};
/** The same, and how many of those are of one severity, which comes last. */
export const countProblemsOf = {
  sql: `SELECT count(*) FROM (SELECT DISTINCT alert_seq FROM (${problems}) LIMIT ${mostCounted}) p
     CROSS JOIN alerts a ON a.seq = p.alert_seq WHERE +a.severity = ?`,
  windows: problemWindows,
};
/** The same of one delivery. */
const isProblem = "d.resent_by IS NULL AND (d.state IN ('failed', 'expired') OR d.state = 'held' AND d.due_at IS NULL)";

/** Beside another driver the part is asked once for all that it has: to ask it about one row takes as long. */
export function matchCondition(search: PartSearch | undefined, driver: Driver): Condition[] {
  if (search === undefined) return [];
  const { table, match } = search;
  if (driver === "search") return [{ sql: "s.words MATCH ?", values: [match] }];
  return [{ sql: `+a.seq IN (SELECT rowid FROM ${table} WHERE words MATCH ?)`, values: [match] }];
}

function deliveryCondition({ state, destination, route }: AlertQuery, driver: Driver): Condition[] {
  const parts: Condition[] = [];
  if (destination !== undefined) parts.push({ sql: "d.destination = ?", values: [destination] });
  if (route !== undefined) parts.push({ sql: "d.route = ?", values: [route] });
  if (state === "problem" && parts.length > 0) parts.push({ sql: isProblem, values: [] });
  if (state !== undefined && !isOfAlert(state)) {
    parts.push({ sql: mayBeResent(state) ? `d.state = ? AND ${unsent}` : "d.state = ?", values: [state] });
  }
  if (parts.length === 0) return [];
  const sql = joined(parts);
  const values = parts.flatMap((part) => part.values);
  if (driver === "deliveries") return [{ sql, values }];
  return [{ sql: `EXISTS (SELECT 1 FROM deliveries d WHERE d.alert_seq = a.seq AND ${sql})`, values }];
}

/** States of an alert itself, not of its deliveries. */
function isOfAlert(state: NonNullable<AlertQuery["state"]>): boolean {
  return ["problem", "unmatched", "dropped", "repeat", "unrouted"].includes(state);
}

export function timeConditions({ fromAt, toAt }: Pick<AlertQuery, "fromAt" | "toAt">): Condition[] {
  const conditions: Condition[] = [];
  if (fromAt !== undefined) conditions.push({ sql: "a.received_at >= ?", values: [fromAt] });
  if (toAt !== undefined) conditions.push({ sql: "a.received_at <= ?", values: [toAt] });
  return conditions;
}

function alertConditions(query: AlertQuery, driver: Driver): Condition[] {
  return [...indexedConditions(query, driver), ...factConditions(query), ...bodyConditions(query)];
}

/** The plus keeps SQLite from an index that has another order, or from reading all of one that says nothing. */
function indexedConditions({ severity, state, source, key, destination, route }: AlertQuery, driver: Driver) {
  const conditions: Condition[] = [];
  const plus = driver === "problems" ? "+" : "";
  if (source !== undefined) conditions.push({ sql: `${plus}a.source = ?`, values: [source] });
  if (key !== undefined) conditions.push({ sql: `${plus}a.alert_key = ?`, values: [key] });
  // What is not routed has no severity yet.
  const column = state === "unrouted" ? "+a.severity" : `${plus}a.severity`;
  if (severity !== undefined) conditions.push({ sql: `${column} = ?`, values: [severity] });
  if (state === "unmatched") conditions.push({ sql: "a.unmatched = 1", values: [] });
  if (state === "dropped") conditions.push({ sql: "a.dropped = 1", values: [] });
  if (state === "repeat") conditions.push({ sql: "a.repeat_of IS NOT NULL", values: [] });
  if (state === "unrouted") conditions.push({ sql: "a.routed_at IS NULL", values: [] });
  const isOfDelivery = destination !== undefined || route !== undefined;
  if (state === "problem" && driver !== "problems" && !isOfDelivery) conditions.push({ sql: hasProblem, values: [] });
  return conditions;
}

/**
 * A repeat says nothing new: it stands for its key only where the alert that it repeats is no longer kept, and before it
 * would hide what became of that one.
 */
const isNewestOfKey = `(a.repeat_of IS NULL OR NOT EXISTS (SELECT 1 FROM alerts o WHERE o.id = a.repeat_of))
  AND NOT EXISTS (SELECT 1 FROM alerts n WHERE n.alert_key = a.alert_key AND n.seq > a.seq
    AND (n.repeat_of IS NULL OR n.repeat_of = a.repeat_of))`;

const hasProblem = `(a.unmatched = 1 OR a.routed_at IS NULL AND a.route_failures > 0
  OR EXISTS (SELECT 1 FROM deliveries d WHERE d.alert_seq = a.seq AND ${isProblem}))`;

/** What is asked of each row that all else lets through: facts have no index of their own, their words have. */
export function factConditions({ facts = [] }: Pick<AlertQuery, "facts">): Condition[] {
  return facts.map((condition) => {
    const column = `a.facts ->> '$.${condition.fact}'`;
    if ("is" in condition) return { sql: `${column} = ? COLLATE NOCASE`, values: [condition.is] };
    if ("has" in condition) return { sql: `instr(lower(${column}), lower(?)) > 0`, values: [condition.has] };
    return {
      sql: `${column} GLOB '[-+.0-9]*' AND CAST(${column} AS REAL) ${condition.compare} ?`,
      values: [condition.number],
    };
  });
}

/** Asked last: it reads the body. */
export function bodyConditions({ raw = [] }: Pick<AlertQuery, "raw">): Condition[] {
  if (raw.length === 0) return [];
  const tests = raw.map(() => "instr(lower(CAST(r.body AS TEXT)), lower(?)) > 0").join(" AND ");
  return [{ sql: `EXISTS (SELECT 1 FROM requests r WHERE r.seq = a.request_seq AND ${tests})`, values: [...raw] }];
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
