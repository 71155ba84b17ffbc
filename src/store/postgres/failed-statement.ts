import type { FailedQuery, Position } from "../../core/ports/alert-log.ts";
import { fromPosition } from "../positions.ts";
import { bodyConditions, factConditions, timeConditions, unsent } from "../list-filters.ts";
import type { Add } from "../tx.ts";
import { type Bounds, type Statement, toStatement, wordConditions } from "./list-statement.ts";
import type { Term } from "./search-terms.ts";
import { postgresDialect } from "./tx.ts";

const alertOfDelivery = "CROSS JOIN LATERAL (SELECT * FROM alerts WHERE seq = d.alert_seq OFFSET 0) a";

/** One batch of what failed and was not resent, newest alert first. */
export function toFailedStatement(
  query: FailedQuery,
  terms: readonly Term[],
  { from, below }: Bounds,
  { limit, after }: { limit: number; after?: Position },
): Statement {
  return toStatement((add) => {
    const [afterAlert = below, afterDelivery = 0] = after === undefined ? [] : fromPosition(after);
    const end = afterAlert < below ? [afterAlert, afterDelivery] : [below, 0];
    const most = add(limit);
    // Each state by itself along the small index, which is in this order for one state alone.
    const ofStates = query.states.map((state) => {
      const columns = query.destination === undefined ? { state } : { destination: query.destination, state };
      const row = [...Object.keys(columns), "alert_seq", "seq"].map((column) => `d.${column}`);
      const place = (position: unknown[]) => [...Object.values(columns), ...position].map(add).join(", ");
      const range = `(${row.join(", ")}) >= (${place([from, 0])}) AND (${row.join(", ")}) < (${place(end)})`;
      const conditions = [unsent, range, ...conditionsOf(query, terms, add)].join(" AND ");
      return `(SELECT d.seq, d.alert_seq, d.destination, d.recipient FROM deliveries d ${alertOfDelivery} WHERE ${conditions}
         ORDER BY ${row.map((column) => `${column} DESC`).join(", ")} LIMIT ${most})`;
    });
    return `SELECT f.seq, f.alert_seq AS "alertSeq", f.destination, f.recipient FROM (${ofStates.join(" UNION ALL ")}) f
       ORDER BY f.alert_seq DESC, f.seq DESC LIMIT ${most}`;
  });
}

/** How many they are, at which destinations, and how old. Reads all of them. */
export function toFailedCountStatement(query: FailedQuery, terms: readonly Term[], { from, below }: Bounds): Statement {
  return toStatement((add) => {
    const conditions = [unsent, `d.state = ANY(${add(query.states)}::text[])`];
    if (query.destination !== undefined) conditions.push(`d.destination = ${add(query.destination)}`);
    conditions.push(`d.alert_seq >= ${add(from)} AND d.alert_seq < ${add(below)}`, ...conditionsOf(query, terms, add));
    return `SELECT d.destination, count(*) AS deliveries, count(DISTINCT d.alert_seq) AS alerts,
         min(a.received_at) AS "oldestAt", max(a.received_at) AS "newestAt"
       FROM deliveries d ${alertOfDelivery} WHERE ${conditions.join(" AND ")} GROUP BY d.destination`;
  });
}

/** Beside state, destination and position. */
function conditionsOf(query: FailedQuery, terms: readonly Term[], add: Add): string[] {
  const { route, source, key, severity, failedUntil } = query;
  const conditions = [`d.finished_at <= ${add(failedUntil)}`];
  if (route !== undefined) conditions.push(`d.route = ${add(route)}`);
  conditions.push(...timeConditions(query, add));
  if (source !== undefined) conditions.push(`a.source = ${add(source)}`);
  if (key !== undefined) conditions.push(`a.alert_key = ${add(key)}`);
  if (severity !== undefined) conditions.push(`a.severity = ${add(severity)}`);
  conditions.push(
    ...factConditions(postgresDialect, query, add),
    ...wordConditions(terms, add),
    ...bodyConditions(postgresDialect, query, add),
  );
  return conditions;
}
