import type { FailedQuery, Position } from "../../../core/ports/alert-log.ts";
import { fromPosition } from "../../positions.ts";
import { bodyConditions, factConditions, timeConditions, unsent } from "../../list-filters.ts";
import type { Add, Dialect } from "../../tx.ts";
import {
  type Bounds,
  deliveriesOf,
  matchCondition,
  type PartSearch,
  type Statement,
  toStatement,
} from "./list-statement.ts";

/** CROSS JOIN: it walks the index of what failed, which is small, and looks at each alert. */
function sourceOf({ destination }: FailedQuery): string {
  return `${deliveriesOf({ state: "failed", destination })} CROSS JOIN alerts a ON a.seq = d.alert_seq`;
}

/** One batch of what failed and was not resent, newest alert first. Exported for the test that asks for its plan. */
export function toFailedStatement(
  sql: Dialect,
  query: FailedQuery,
  search: PartSearch | undefined,
  bounds: Bounds,
  { limit, after }: { limit: number; after?: Position },
): Statement {
  return toStatement((add) => {
    const conditions = failedConditions(sql, query, search, bounds, add);
    if (after !== undefined) conditions.push(`(d.alert_seq, d.seq) < (${fromPosition(after).map(add).join(", ")})`);
    return `SELECT d.seq, d.alert_seq AS alertSeq, d.destination, d.recipient FROM ${sourceOf(query)}
       WHERE ${conditions.join(" AND ")} ORDER BY d.alert_seq DESC, d.seq DESC LIMIT ${add(limit)} + 0`;
  });
}

/** How many they are, at which destinations, and how old. Reads all of them: 100,000 take a tenth of a second. */
export function toFailedCountStatement(
  sql: Dialect,
  query: FailedQuery,
  search: PartSearch | undefined,
  bounds: Bounds,
): Statement {
  return toStatement(
    (add) => `SELECT d.destination, count(*) AS deliveries, count(DISTINCT d.alert_seq) AS alerts,
         min(a.received_at) AS oldestAt, max(a.received_at) AS newestAt FROM ${sourceOf(query)}
       WHERE ${failedConditions(sql, query, search, bounds, add).join(" AND ")} GROUP BY d.destination`,
  );
}

function failedConditions(
  sql: Dialect,
  query: FailedQuery,
  search: PartSearch | undefined,
  { from, below }: Bounds,
  add: Add,
): string[] {
  const { states, destination, route, source, key, severity, failedUntil } = query;
  const conditions = [`d.state IN (${states.map(add).join(", ")}) AND ${unsent}`];
  if (destination !== undefined) conditions.push(`d.destination = ${add(destination)}`);
  if (route !== undefined) conditions.push(`d.route = ${add(route)}`);
  conditions.push(`d.finished_at <= ${add(failedUntil)}`);
  conditions.push(`d.alert_seq >= ${add(from)} AND d.alert_seq < ${add(below)}`);
  conditions.push(...matchCondition(search, "deliveries", add), ...timeConditions(query, add));
  if (source !== undefined) conditions.push(`a.source = ${add(source)}`);
  if (key !== undefined) conditions.push(`a.alert_key = ${add(key)}`);
  if (severity !== undefined) conditions.push(`a.severity = ${add(severity)}`);
  conditions.push(...factConditions(sql, query, add), ...bodyConditions(sql, query, add));
  return conditions;
}
