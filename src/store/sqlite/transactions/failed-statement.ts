import type { FailedQuery, Position } from "../../../core/ports/alert-log.ts";
import { fromPosition } from "../../positions.ts";
import { boundLimit } from "./context.ts";
import {
  bodyConditions,
  type Condition,
  deliveriesOf,
  factConditions,
  matchCondition,
  type PartSearch,
  type Statement,
  timeConditions,
  unsent,
} from "./list-statement.ts";

/** Alerts from the first `seq` on, and below the second. */
export interface Bounds {
  from: number;
  below: number;
}

/** CROSS JOIN: it walks the index of what failed, which is small, and looks at each alert. */
function sourceOf({ destination }: FailedQuery): string {
  return `${deliveriesOf({ state: "failed", destination })} CROSS JOIN alerts a ON a.seq = d.alert_seq`;
}

/** Its bounds are among its parameters. */
type BoundStatement = Omit<Statement, "windows">;

/**
 * One batch of what failed and was not resent, newest alert first. Its last parameter, to be added, is how many.
 * Exported for the test that asks for its plan.
 */
export function toFailedStatement(
  query: FailedQuery,
  search: PartSearch | undefined,
  bounds: Bounds,
  after?: Position,
): BoundStatement {
  const conditions = failedConditions(query, search, bounds);
  if (after !== undefined) conditions.push({ sql: "(d.alert_seq, d.seq) < (?, ?)", values: fromPosition(after) });
  return {
    sql: `SELECT d.seq, d.alert_seq AS alertSeq, d.destination, d.recipient FROM ${sourceOf(query)}
       WHERE ${conditions.map(({ sql }) => sql).join(" AND ")} ORDER BY d.alert_seq DESC, d.seq DESC ${boundLimit}`,
    parameters: conditions.flatMap(({ values }) => values),
  };
}

/** How many they are, at which destinations, and how old. Reads all of them: 100,000 take a tenth of a second. */
export function toFailedCountStatement(
  query: FailedQuery,
  search: PartSearch | undefined,
  bounds: Bounds,
): BoundStatement {
  const conditions = failedConditions(query, search, bounds);
  return {
    sql: `SELECT d.destination, count(*) AS deliveries, count(DISTINCT d.alert_seq) AS alerts,
         min(a.received_at) AS oldestAt, max(a.received_at) AS newestAt FROM ${sourceOf(query)}
       WHERE ${conditions.map(({ sql }) => sql).join(" AND ")} GROUP BY d.destination`,
    parameters: conditions.flatMap(({ values }) => values),
  };
}

function failedConditions(query: FailedQuery, search: PartSearch | undefined, { from, below }: Bounds): Condition[] {
  const { states, destination, route, source, key, severity, failedUntil } = query;
  const isOne = `d.state IN (${states.map(() => "?").join(", ")})`;
  const conditions: Condition[] = [{ sql: `${isOne} AND ${unsent}`, values: [...states] }];
  if (destination !== undefined) conditions.push({ sql: "d.destination = ?", values: [destination] });
  if (route !== undefined) conditions.push({ sql: "d.route = ?", values: [route] });
  conditions.push({ sql: "d.finished_at <= ?", values: [failedUntil] });
  conditions.push({ sql: "d.alert_seq >= ? AND d.alert_seq < ?", values: [from, below] });
  conditions.push(...matchCondition(search, "deliveries"), ...timeConditions(query));
  if (source !== undefined) conditions.push({ sql: "a.source = ?", values: [source] });
  if (key !== undefined) conditions.push({ sql: "a.alert_key = ?", values: [key] });
  if (severity !== undefined) conditions.push({ sql: "a.severity = ?", values: [severity] });
  conditions.push(...factConditions(query), ...bodyConditions(query));
  return conditions;
}
