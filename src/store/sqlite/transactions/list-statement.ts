import { firstIdAt, lastIdAt, mostBehindMs } from "../../../core/id.ts";
import type { AlertQuery } from "../../../core/ports/alert-log.ts";
import { boundLimit } from "./context.ts";

/** What a page is read along, newest first: the log itself (or an index of it), the deliveries, or the search index. */
export type Driver = "search" | "deliveries" | "log";

export interface Statement {
  sql: string;
  parameters: unknown[];
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

/** Of an alert in a list. */
const alertColumns = `a.seq, a.id, a.version, a.origin, a.source, a.received_at, a.routed_at, a.routing_error, a.unmatched, a.dropped,
  a.repeat_of, a.facts`;

/**
 * The statement for what a window of the log (from `seq` on, below `seq`) has of a page: it walks its driver in the
 * order of the page and checks the other filters row by row, so that nothing is sorted. Its last three parameters, to
 * be added, are both ends of the window and how many rows are wanted. Exported for the test that asks SQLite for its
 * plan.
 */
export function toListStatement(query: AlertQuery, search: PartSearch | undefined, driver: Driver): Statement {
  const position = positions[driver];
  const conditions = [
    ...matchCondition(search, driver),
    ...deliveryCondition(query, driver),
    ...timeConditions(query),
    ...alertConditions(query),
    { sql: `${position} >= ? AND ${position} < ?`, values: [] },
  ];
  const group = driver === "deliveries" ? "GROUP BY d.alert_seq" : "";
  return {
    sql: `SELECT ${alertColumns} FROM ${sourceOf(driver, query, search)} WHERE ${joined(conditions)} ${group}
       ORDER BY ${position} DESC ${boundLimit}`,
    parameters: conditions.flatMap(({ values }) => values),
  };
}

/**
 * For each driver but the search that narrows this query, a statement that counts how far in a window, up to a limit.
 * Its last two parameters, to be added, are both ends of the window.
 */
export function toCountStatements(query: AlertQuery): [Driver, Statement][] {
  const counts: [Driver, Statement][] = [];
  const add = (driver: Driver, from: string, conditions: Condition[]) => {
    if (conditions.length === 0) return;
    const position = positions[driver];
    const where = `${joined(conditions)} AND ${position} >= ? AND ${position} < ?`;
    const sql = `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT ${mostCounted})`;
    counts.push([driver, { sql, parameters: conditions.flatMap(({ values }) => values) }]);
  };
  add("deliveries", deliveriesOf(query), deliveryCondition(query, "deliveries"));
  add("log", "alerts a", alertConditions(query));
  return counts;
}

/** How many alerts of a window a search finds, up to a limit. Both ends of the window are its last two parameters. */
export const toSearchCount = ({ table, match }: PartSearch): Statement => ({
  sql: `SELECT count(*) FROM (SELECT 1 FROM ${table} s WHERE s.words MATCH ? AND s.rowid >= ? AND s.rowid < ? LIMIT ${mostCounted})`,
  parameters: [match],
});

const joined = (conditions: Condition[]) => conditions.map(({ sql }) => sql).join(" AND ");

/** CROSS JOIN: SQLite, which has no statistics here, is not to turn it round. */
function sourceOf(driver: Driver, query: AlertQuery, search: PartSearch | undefined): string {
  switch (driver) {
    case "search":
      return `${search?.table} s CROSS JOIN alerts a ON a.seq = s.rowid`;
    case "deliveries":
      return `${deliveriesOf(query)} CROSS JOIN alerts a ON a.seq = d.alert_seq`;
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

const positions: Record<Driver, string> = { search: "s.rowid", deliveries: "d.alert_seq", log: "a.seq" };

/** One that was resent counts as its resend does. The last term names the index that holds only the others. */
export const unsent = "d.resent_by IS NULL AND d.state IN ('failed', 'expired', 'held')";

/** Beside another driver the part is asked once for all that it has: to ask it about one row takes as long. */
export function matchCondition(search: PartSearch | undefined, driver: Driver): Condition[] {
  if (search === undefined) return [];
  const { table, match } = search;
  if (driver === "search") return [{ sql: "s.words MATCH ?", values: [match] }];
  return [{ sql: `+a.seq IN (SELECT rowid FROM ${table} WHERE words MATCH ?)`, values: [match] }];
}

function deliveryCondition({ state, destination }: AlertQuery, driver: Driver): Condition[] {
  const parts: Condition[] = [];
  if (destination !== undefined) parts.push({ sql: "d.destination = ?", values: [destination] });
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
  return state === "unmatched" || state === "dropped" || state === "repeat" || state === "unrouted";
}

export function timeConditions({ fromAt, toAt }: Pick<AlertQuery, "fromAt" | "toAt">): Condition[] {
  const conditions: Condition[] = [];
  if (fromAt !== undefined) conditions.push({ sql: "a.received_at >= ?", values: [fromAt] });
  if (toAt !== undefined) conditions.push({ sql: "a.received_at <= ?", values: [toAt] });
  return conditions;
}

function alertConditions({ severity, state, source }: AlertQuery): Condition[] {
  const conditions: Condition[] = [];
  if (source !== undefined) conditions.push({ sql: "a.source = ?", values: [source] });
  // What is not routed has no severity yet; the plus keeps SQLite from reading all that is routed to find that out.
  const column = state === "unrouted" ? "+a.severity" : "a.severity";
  if (severity !== undefined) conditions.push({ sql: `${column} = ?`, values: [severity] });
  if (state === "unmatched") conditions.push({ sql: "a.unmatched = 1", values: [] });
  if (state === "dropped") conditions.push({ sql: "a.dropped = 1", values: [] });
  if (state === "repeat") conditions.push({ sql: "a.repeat_of IS NOT NULL", values: [] });
  if (state === "unrouted") conditions.push({ sql: "a.routed_at IS NULL", values: [] });
  return conditions;
}

/**
 * An alert's id begins with the time at which it was made, never before the alert came and at most this many
 * milliseconds later: the ids narrow the walk, and the alert's own time decides.
 */
const mostAheadMs = mostBehindMs + 1_000;
export const sinceId = (fromAt: number): string => firstIdAt(fromAt);
export const untilId = (toAt: number): string => lastIdAt(toAt + mostAheadMs);
export const firstSince =
  "SELECT coalesce(min(seq), 9000000000000000) FROM (SELECT seq FROM alerts WHERE id >= ? ORDER BY id LIMIT 1)";
export const lastUntil =
  "SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM alerts WHERE id <= ? ORDER BY id DESC LIMIT 1)";
