import type { AlertQuery } from "../../core/ports/alert-log.ts";
import {
  bodyConditions,
  deliveryConditions,
  factConditions,
  farthest,
  hasDelivery,
  hasProblem,
  isNewestOfKey,
  isOfAlert,
  mayBeResent,
  problemsBetween,
  stateCondition,
  timeConditions,
  unsent,
} from "../list-filters.ts";
import type { Add } from "../tx.ts";
import { type Term, textOfTerm, toTermQuery } from "./search-terms.ts";
import { toText } from "./texts.ts";
import { postgresDialect } from "./tx.ts";

export interface Statement {
  sql: string;
  values: unknown[];
}

export function toStatement(build: (add: Add) => string): Statement {
  const values: unknown[] = [];
  const sql = build((value) => `$${values.push(typeof value === "string" ? toText(value) : value)}`);
  return { sql, values };
}

/** Alerts from the first `seq` on, and below the second. */
export interface Bounds {
  from: number;
  below: number;
}

/**
 * What a page is read along, newest first: an index of alerts or of deliveries, what went wrong, or the search index. With
 * the values that the columns of an index in front of its position have.
 */
export type Driver =
  | { along: "alerts"; columns: Partial<Record<"alert_key" | "source" | "severity", string>>; only?: string }
  | {
      along: "deliveries";
      columns: Partial<Record<"destination" | "state" | "route", string>>;
      only?: string;
    }
  | { along: "problems" }
  | { along: "search"; terms: readonly Term[] };

/** The log itself. */
export const wholeLog: Driver = { along: "alerts", columns: {} };

/** Rows of a window that are counted at most to find the narrowest driver. */
export const mostCounted = 1_000;

/** Of an alert in a list. */
export const alertColumns = `a.seq, a.id, a.version, a.origin, a.source, a.received_at, a.routed_at, a.routing_error, a.unmatched,
  a.dropped, a.repeat_of, a.facts, a.alert_key`;

export const everything: Bounds = { from: 0, below: farthest };

/**
 * Rows of an index between two positions, and its order. Compared as one value: so it is this index that has the order, and
 * no plan walks all alerts instead because it takes the few that are wanted for many.
 */
function rangeOf(
  name: string,
  columns: Readonly<Record<string, string | undefined>>,
  position: string,
  { from, below }: Bounds,
  add: Add,
) {
  const values = Object.values(columns).map(add);
  const row = [...Object.keys(columns), position].map((column) => `${name}.${column}`);
  const exists = Object.keys(columns).map((column) => `${name}.${column} IS NOT NULL AND `);
  const start = [...values, add(from)].join(", ");
  const end = [...values, add(below)].join(", ");
  return {
    sql: `${exists.join("")}(${row.join(", ")}) >= (${start}) AND (${row.join(", ")}) < (${end})`,
    order: row.map((column) => `${column} DESC`).join(", "),
  };
}

/**
 * The statement for what a window of the log has of a page. Along its driver, in the order of the page, the other filters are
 * checked row by row until there are enough.
 */
export function toListStatement(
  query: AlertQuery,
  terms: readonly Term[],
  driver: Driver,
  bounds: Bounds,
  limit: number,
) {
  return toStatement((add) => {
    const sql = listSql(query, terms, driver, bounds, `LIMIT ${atMost(limit)}`, add);
    return `SELECT * FROM (${sql}) page LIMIT ${add(limit)}`;
  });
}

/**
 * As a constant, a little too many: a plan that is kept for any limit would else take few rows for a tenth of all. What is too many is
 * not read, since the limit itself stands around it.
 */
const atMost = (limit: number): number => 4 ** Math.max(2, Math.ceil(Math.log(limit) / Math.log(4)));

function listSql(
  query: AlertQuery,
  terms: readonly Term[],
  driver: Driver,
  bounds: Bounds,
  limit: string,
  add: Add,
  columns = alertColumns,
): string {
  const filters = filtersOf(query, terms, driver, add);
  const where = filters.length === 0 ? "" : `WHERE ${filters.join(" AND ")}`;
  const alert = (seq: string) => `CROSS JOIN LATERAL (SELECT * FROM alerts WHERE seq = ${seq} OFFSET 0) a`;
  switch (driver.along) {
    case "alerts": {
      const { sql, order } = rangeOf("a", driver.columns, "seq", bounds, add);
      const all = [...(driver.only ? [driver.only] : []), sql, ...filters].join(" AND ");
      return `SELECT ${columns} FROM alerts a WHERE ${all} ORDER BY ${order} ${limit}`;
    }
    case "deliveries": {
      const { sql, order } = rangeOf("d", driver.columns, "alert_seq", bounds, add);
      const own = [...(driver.only ? [driver.only] : []), ...deliveryConditions(query, add, driver.columns)];
      const same = [...Object.keys(driver.columns).map((column) => `d.${column} = o.${column}`), ...own].join(" AND ");
      // Of several deliveries of an alert the last one. No DISTINCT: a plan would take all rows there are before the first.
      const isLast = `NOT EXISTS (SELECT 1 FROM (SELECT d.*) o CROSS JOIN LATERAL (SELECT 1 FROM deliveries d
         WHERE d.alert_seq = o.alert_seq AND d.seq > o.seq AND ${same} OFFSET 0) later)`;
      const all = [sql, ...own, ...severityOfDelivery(query, add), isLast, ...filters].join(" AND ");
      return `SELECT ${columns} FROM deliveries d ${alert("d.alert_seq")} WHERE ${all} ORDER BY ${order} ${limit}`;
    }
    case "problems":
      return `SELECT ${columns} FROM (SELECT DISTINCT p.seq FROM (${problemsIn(bounds, add)}) p ORDER BY p.seq DESC) p
         ${alert("p.seq")} ${where} ORDER BY p.seq DESC ${limit}`;
    case "search":
      return `WITH hit AS MATERIALIZED (${searchIn(driver.terms, bounds, add)})
         SELECT ${columns} FROM (SELECT seq FROM hit WHERE seq >= ${add(bounds.from)} AND seq < ${add(bounds.below)}
         ORDER BY seq DESC) h ${alert("h.seq")} ${where} ORDER BY h.seq DESC ${limit}`;
    default:
      return driver satisfies never;
  }
}

/** How many it has, up to the limit, instead of what they are. */
export function toMatchCountStatement(
  query: AlertQuery,
  terms: readonly Term[],
  driver: Driver,
  bounds: Bounds,
  limit: number,
): Statement {
  return toStatement((add) => {
    const sql = countedOf(query, terms, driver, bounds, `LIMIT ${atMost(limit)}`, add);
    return `SELECT count(*) AS count FROM (SELECT * FROM (${sql}) page LIMIT ${add(limit)}) found`;
  });
}

/**
 * Where nothing is asked of the alerts themselves, deliveries are counted from their index alone, one behind the other: those of one
 * alert lie together.
 */
function countedOf(
  query: AlertQuery,
  terms: readonly Term[],
  driver: Driver,
  bounds: Bounds,
  limit: string,
  add: Add,
): string {
  const values: unknown[] = [];
  const isPlain = filtersOf(query, terms, driver, (value) => `$${values.push(value)}`).length === 0;
  if (driver.along !== "deliveries" || !isPlain) return listSql(query, terms, driver, bounds, limit, add, "a.seq");
  const { sql, order } = rangeOf("d", driver.columns, "alert_seq", bounds, add);
  const all = [...(driver.only ? [driver.only] : []), sql, ...deliveryConditions(query, add, driver.columns)];
  return `SELECT FROM (SELECT d.alert_seq, lag(d.alert_seq) OVER (ORDER BY ${order}) AS before FROM deliveries d
    WHERE ${all.join(" AND ")}) counted WHERE alert_seq IS DISTINCT FROM before ${limit}`;
}

/** How far each driver narrows a window, up to `mostCounted`: one row, with a column for each in their order. */
export function toNarrownessStatement(drivers: readonly Driver[], bounds: Bounds): Statement {
  return toStatement((add) => {
    const counts = drivers.map(
      (driver, index) =>
        `(SELECT count(*) FROM (SELECT 1 FROM ${rowsOf(driver, bounds, add)} LIMIT ${mostCounted}) x) AS n${index}`,
    );
    return `SELECT ${counts.join(", ")}`;
  });
}

/** In their order as well: without, a plan may walk the whole table until it has met as many. */
function rowsOf(driver: Driver, bounds: Bounds, add: Add): string {
  switch (driver.along) {
    case "alerts": {
      const { sql, order } = rangeOf("a", driver.columns, "seq", bounds, add);
      return `alerts a WHERE ${driver.only ? `${driver.only} AND ` : ""}${sql} ORDER BY ${order}`;
    }
    case "deliveries": {
      const { sql, order } = rangeOf("d", driver.columns, "alert_seq", bounds, add);
      return `deliveries d WHERE ${driver.only ? `${driver.only} AND ` : ""}${sql} ORDER BY ${order}`;
    }
    case "problems":
      return `(${problemsIn(bounds, add)}) p`;
    case "search":
      return `(${searchIn(driver.terms, bounds, add)}) s`;
    default:
      return driver satisfies never;
  }
}

/** What narrows this query but for its words, each by one index alone. */
export function driversOf(query: AlertQuery): Driver[] {
  const { severity, state, source, key, destination, route } = query;
  const drivers: Driver[] = [];
  if (state === "problem") drivers.push({ along: "problems" });
  const ofDelivery = state !== undefined && !isOfAlert(state) ? state : undefined;
  const only = ofDelivery !== undefined && mayBeResent(ofDelivery) ? unsent : undefined;
  if (destination !== undefined) {
    const columns = ofDelivery === undefined ? { destination } : { destination, state: ofDelivery };
    drivers.push({ along: "deliveries", columns, only });
  } else if (ofDelivery !== undefined) {
    drivers.push({ along: "deliveries", columns: { state: ofDelivery }, only });
  }
  if (route !== undefined) drivers.push({ along: "deliveries", columns: { route } });
  if (key !== undefined) drivers.push({ along: "alerts", columns: { alert_key: key } });
  if (source !== undefined) drivers.push({ along: "alerts", columns: { source } });
  const ofAlert = stateCondition(postgresDialect, state);
  if (ofAlert !== undefined) drivers.push({ along: "alerts", columns: {}, only: ofAlert });
  // What is not routed has no severity yet.
  if (severity !== undefined && state !== "unrouted") drivers.push({ along: "alerts", columns: { severity } });
  return drivers;
}

/** Whether one driver has exactly what the query asks for: then as many rows are read as are wanted, however long the log is. */
export function isOfOneIndex(query: AlertQuery): boolean {
  const { q, phrases, raw, severity, state, destination, route, key, source, facts = [], newestOfKey } = query;
  if (newestOfKey || raw !== undefined || facts.length > 0 || q !== undefined || phrases !== undefined) return false;
  if (state === "problem") return false;
  const filters = [severity, state, destination, route, key, source].filter((one) => one !== undefined);
  return (
    filters.length < 2 ||
    (filters.length === 2 && destination !== undefined && state !== undefined && !isOfAlert(state))
  );
}

/**
 * Steps of time with how many of their alerts (of one severity, where `$1` is one) went wrong, up to a limit. `steps` has
 * their `at`, `since`, `until`, `low` and `high`.
 */
export const problemsOfSteps = `SELECT s.at, s.low, s.high, (SELECT count(*) FROM (
    SELECT DISTINCT p.seq FROM (
      SELECT a.seq, a.received_at, a.severity FROM (
        SELECT d.alert_seq FROM deliveries d
          WHERE d.state IN ('failed', 'expired') AND ${unsent} AND d.alert_seq >= s.low AND d.alert_seq < s.high
        UNION ALL SELECT d.alert_seq FROM deliveries d
          WHERE d.state = 'held' AND d.due_at IS NULL AND ${unsent} AND d.alert_seq >= s.low AND d.alert_seq < s.high) d
        CROSS JOIN LATERAL (SELECT seq, received_at, severity FROM alerts WHERE seq = d.alert_seq OFFSET 0) a
      UNION ALL SELECT a.seq, a.received_at, a.severity FROM alerts a WHERE a.unmatched AND a.seq >= s.low AND a.seq < s.high
      UNION ALL SELECT a.seq, a.received_at, a.severity FROM alerts a
        WHERE a.routed_at IS NULL AND a.route_failures > 0 AND a.seq >= s.low AND a.seq < s.high) p
    WHERE p.received_at >= s.since AND p.received_at < s.until AND ($1::text IS NULL OR p.severity = $1)
    LIMIT ${mostCounted}) x) AS problems FROM steps s`;

function problemsIn({ from, below }: Bounds, add: Add): string {
  return problemsBetween(postgresDialect, `${add(from)}::bigint`, `${add(below)}::bigint`);
}

/** Alerts that have all terms, and some more where a term is of several words: the words themselves say which. */
function searchIn(terms: readonly Term[], { from, below }: Bounds, add: Add): string {
  const several = terms.filter(({ words }) => words.length > 1);
  const conditions = several.map((term) => ` AND strpos(w.words, ${add(textOfTerm(term))}) > 0`);
  const query = toTermQuery(terms, from, below);
  return `SELECT w.seq FROM alert_words w WHERE search_terms(w.seq, w.words) @@ ${add(query)}::tsquery${conditions.join("")}`;
}

function filtersOf(query: AlertQuery, terms: readonly Term[], driver: Driver, add: Add): string[] {
  const { severity, state, source, key, newestOfKey } = query;
  const own: Readonly<Record<string, unknown>> = driver.along === "alerts" ? driver.columns : {};
  const conditions: string[] = [];
  const equal = (column: string, value: string | undefined) => {
    if (value !== undefined && !(column in own)) conditions.push(`a.${column} = ${add(value)}`);
  };
  equal("source", source);
  equal("alert_key", key);
  equal("severity", severity);
  const ofAlert = stateCondition(postgresDialect, state);
  if (ofAlert !== undefined && !("only" in driver && driver.only === ofAlert)) conditions.push(ofAlert);
  conditions.push(...timeConditions(query, add));
  conditions.push(...factConditions(postgresDialect, query, add));
  if (driver.along !== "deliveries") {
    const parts = deliveryConditions(query, add);
    if (parts.length > 0) conditions.push(hasDelivery(postgresDialect, parts));
    else if (state === "problem" && driver.along !== "problems") conditions.push(hasProblem(postgresDialect));
  }
  if (newestOfKey) conditions.push(isNewestOfKey(postgresDialect));
  if (driver.along !== "search") conditions.push(...wordConditions(terms, add));
  conditions.push(...bodyConditions(postgresDialect, query, add));
  return conditions;
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

/** For one alert, which its words say faster than their index. */
export function wordConditions(terms: readonly Term[], add: Add): string[] {
  if (terms.length === 0) return [];
  const tests = terms.map((term) => `strpos(w.words, ${add(textOfTerm(term))}) > 0`);
  return [`EXISTS (SELECT 1 FROM alert_words w WHERE w.seq = a.seq AND ${tests.join(" AND ")} OFFSET 0)`];
}
