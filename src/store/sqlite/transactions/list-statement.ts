import { firstIdAt, lastIdAt, mostBehindMs } from "../../../core/id.ts";
import type { AlertQuery } from "../../../core/ports/alert-log.ts";
import { fromPosition } from "../cursors.ts";

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

/** How many rows are counted at most to find the narrowest driver: half a millisecond. */
const mostCounted = 10_000;

/**
 * The statement for one page: it walks its driver in the order of the page and checks the other filters row by row, so
 * that nothing is sorted and nothing older than the page is read. `match` is the search as an FTS5 expression. Exported
 * for the test that asks SQLite for its plan.
 */
export function toListStatement(query: AlertQuery, match: string | undefined, driver: Driver): Statement {
  const conditions = [
    ...matchCondition(match, driver),
    ...deliveryCondition(query, driver),
    ...positionConditions(query, positions[driver]),
    ...alertConditions(query),
  ];
  const filter = conditions.length === 0 ? "" : `WHERE ${conditions.map(({ sql }) => sql).join(" AND ")}`;
  const group = driver === "deliveries" ? "GROUP BY d.alert_seq" : "";
  return {
    sql: `SELECT a.* FROM ${sourceOf(driver, query)} ${filter} ${group} ORDER BY ${positions[driver]} DESC LIMIT ?`,
    parameters: [...conditions.flatMap(({ values }) => values), query.limit],
  };
}

/**
 * For each driver that narrows this query, a statement that counts how far, up to a limit. The first is to be taken
 * when several are equally wide; none narrows: the log drives.
 */
export function toCountStatements(query: AlertQuery, match: string | undefined): [Driver, Statement][] {
  const counts: [Driver, Statement][] = [];
  const add = (driver: Driver, from: string, conditions: Condition[]) => {
    if (conditions.length === 0) return;
    const where = conditions.map(({ sql }) => sql).join(" AND ");
    const sql = `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT ${mostCounted})`;
    counts.push([driver, { sql, parameters: conditions.flatMap(({ values }) => values) }]);
  };
  add("search", "alerts_search s", matchCondition(match, "search"));
  add("deliveries", deliveriesOf(query), deliveryCondition(query, "deliveries"));
  add("log", "alerts a", alertConditions(query));
  return counts;
}

/** CROSS JOIN: SQLite, which has no statistics here, is not to turn it round. */
function sourceOf(driver: Driver, query: AlertQuery): string {
  switch (driver) {
    case "search":
      return "alerts_search s CROSS JOIN alerts a ON a.seq = s.rowid";
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

export function matchCondition(match: string | undefined, driver: Driver): Condition[] {
  if (match === undefined) return [];
  if (driver === "search") return [{ sql: "s.words MATCH ?", values: [match] }];
  const probe = "EXISTS (SELECT 1 FROM alerts_search s WHERE s.words MATCH ? AND s.rowid = a.seq)";
  return [{ sql: probe, values: [match] }];
}

function deliveryCondition({ state, destination }: AlertQuery, driver: Driver): Condition[] {
  const parts: Condition[] = [];
  if (destination !== undefined) parts.push({ sql: "d.destination = ?", values: [destination] });
  if (state !== undefined && !isOfAlert(state)) {
    parts.push({ sql: mayBeResent(state) ? `d.state = ? AND ${unsent}` : "d.state = ?", values: [state] });
  }
  if (parts.length === 0) return [];
  const sql = parts.map((part) => part.sql).join(" AND ");
  const values = parts.flatMap((part) => part.values);
  if (driver === "deliveries") return [{ sql, values }];
  return [{ sql: `EXISTS (SELECT 1 FROM deliveries d WHERE d.alert_seq = a.seq AND ${sql})`, values }];
}

/** States of an alert itself, not of its deliveries. */
function isOfAlert(state: NonNullable<AlertQuery["state"]>): boolean {
  return state === "unmatched" || state === "dropped" || state === "repeat" || state === "unrouted";
}

export function positionConditions(
  { before, fromAt, toAt }: Pick<AlertQuery, "before" | "fromAt" | "toAt">,
  position: string,
): Condition[] {
  const conditions: Condition[] = [];
  if (before !== undefined) conditions.push({ sql: `${position} < ?`, values: fromPosition(before) });
  if (fromAt !== undefined) {
    conditions.push({ sql: `${position} >= (${firstSince})`, values: [firstIdAt(fromAt)] });
    conditions.push({ sql: "a.received_at >= ?", values: [fromAt] });
  }
  if (toAt !== undefined) {
    conditions.push({ sql: `${position} <= (${lastUntil})`, values: [lastIdAt(toAt + mostAheadMs)] });
    conditions.push({ sql: "a.received_at <= ?", values: [toAt] });
  }
  return conditions;
}

function alertConditions({ severity, state }: AlertQuery): Condition[] {
  const conditions: Condition[] = [];
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
export const firstSince =
  "SELECT coalesce(min(seq), 9000000000000000) FROM (SELECT seq FROM alerts WHERE id >= ? ORDER BY id LIMIT 1)";
const lastUntil = "SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM alerts WHERE id <= ? ORDER BY id DESC LIMIT 1)";
