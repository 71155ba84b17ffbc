import type { AlertQuery } from "../core/ports/alert-log.ts";
import { inOrder, listedColumns, mostOfRun } from "./log-entries.ts";
import type { Add, Dialect } from "./tx.ts";

/* What the filters of a list mean for an alert `a` and a delivery `d`. Each database decides which index to read. */

export const farthest = 9_000_000_000_000_000;

/** A delivery that was resent counts as its resend does. The words must be those of the condition of the small indexes. */
export const unsent = "d.resent_by IS NULL AND d.state IN ('failed', 'expired', 'held')";

export const mayBeResent = (state: AlertQuery["state"]) =>
  state === "failed" || state === "expired" || state === "held";

/** Whether the state is the alert's own. Any other state is of a delivery. */
export const isOfAlert = (state: NonNullable<AlertQuery["state"]>) =>
  ["problem", "unmatched", "damped", "dropped", "repeat", "unrouted"].includes(state);

/** For a state of the alert itself, except `problem`. */
export function stateCondition(sql: Dialect, state: AlertQuery["state"]): string | undefined {
  switch (state) {
    case "unmatched":
    case "dropped":
      return sql.isSet(`a.${state}`);
    case "damped":
      return `EXISTS (SELECT 1 FROM deliveries n WHERE n.alert_seq = a.seq AND n.updates IN ('count', 'summary')
        AND n.damped IS NOT NULL ${sql.asItStands})`;
    case "repeat":
      return "a.repeat_of IS NOT NULL";
    case "unrouted":
      return "a.routed_at IS NULL";
    default:
      return undefined;
  }
}

const isProblem = "d.resent_by IS NULL AND (d.state IN ('failed', 'expired') OR d.state = 'held' AND d.due_at IS NULL)";

/** A query of alerts with a problem between two positions, from small indexes. It may give an alert twice. */
export function problemsBetween(sql: Dialect, from: string, below: string): string {
  const between = (column: string) => `${column} >= ${from} AND ${column} < ${below}`;
  return ["d.state = 'failed'", "d.state = 'expired'", "d.state = 'held' AND d.due_at IS NULL"]
    .map(
      (is) => `SELECT d.alert_seq AS seq FROM deliveries d ${sql.indexedBy("deliveries_unsent")}
       WHERE ${is} AND ${unsent} AND ${between("d.alert_seq")}`,
    )
    .concat(
      `SELECT a.seq FROM alerts a WHERE ${sql.isSet("a.unmatched")} AND ${between("a.seq")}`,
      // The index is named. Along the index of unrouted alerts each waiting alert would be read, thousands in a flood.
      `SELECT a.seq FROM alerts a ${sql.indexedBy("alerts_routing_failed")}
       WHERE a.routed_at IS NULL AND a.route_failures > 0 AND ${between("a.seq")}`,
    )
    .join(" UNION ALL ");
}

/** The condition that the alert `a` has a problem. */
export const hasProblem = (
  sql: Dialect,
) => `(${sql.isSet("a.unmatched")} OR a.routed_at IS NULL AND a.route_failures > 0
  OR ${hasDelivery(sql, [isProblem])})`;

export const hasDelivery = (sql: Dialect, conditions: readonly string[]) =>
  `EXISTS (SELECT 1 FROM deliveries d WHERE d.alert_seq = a.seq AND ${conditions.join(" AND ")} ${sql.asItStands})`;

/** Conditions on one delivery. Those of `own` are left out: the index that is read has them. */
export function deliveryConditions({ state, destination, route }: AlertQuery, add: Add, own: object = {}): string[] {
  const conditions: string[] = [];
  if (destination !== undefined && !("destination" in own)) conditions.push(`d.destination = ${add(destination)}`);
  if (route !== undefined && !("route" in own)) conditions.push(`d.route = ${add(route)}`);
  if (state === "problem" && (destination !== undefined || route !== undefined)) conditions.push(isProblem);
  if (state !== undefined && !isOfAlert(state) && !("state" in own)) {
    conditions.push(`d.state = ${add(state)}`);
    if (mayBeResent(state)) conditions.push(unsent);
  }
  return conditions;
}

export function timeConditions({ fromAt, toAt }: Pick<AlertQuery, "fromAt" | "toAt">, add: Add): string[] {
  const conditions: string[] = [];
  if (fromAt !== undefined) conditions.push(`a.received_at >= ${add(fromAt)}`);
  if (toAt !== undefined) conditions.push(`a.received_at <= ${add(toAt)}`);
  return conditions;
}

/** Looked up for each row in the index of keys. A repeat counts only where its original is no longer in the log. */
export const isNewestOfKey = (
  sql: Dialect,
) => `(a.repeat_of IS NULL OR NOT EXISTS (SELECT 1 FROM alerts o WHERE o.id = a.repeat_of ${sql.asItStands}))
  AND NOT EXISTS (SELECT 1 FROM alerts n WHERE ${sql.isOfKey("n", "a.alert_key", "a.seq", String(farthest))}
    AND (n.repeat_of IS NULL OR n.repeat_of = a.repeat_of) ORDER BY n.alert_key DESC, n.seq DESC ${sql.asItStands})`;

/** Facts have no index, so this is checked for each row that passes the other conditions. */
export function factConditions(sql: Dialect, { facts = [] }: Pick<AlertQuery, "facts">, add: Add): string[] {
  return facts.map((condition) => {
    const fact = sql.factOf("a", condition.fact);
    if ("is" in condition) return `${sql.folded(fact)} = ${sql.folded(add(condition.is))}`;
    if ("has" in condition) return `${sql.placeIn(sql.folded(fact), sql.folded(add(condition.has)))} > 0`;
    return `${sql.numberOf(fact)} ${condition.compare} CAST(${add(condition.number)} AS numeric)`;
  });
}

/** Checked last, since it reads the body. */
export function bodyConditions(sql: Dialect, { raw = [] }: Pick<AlertQuery, "raw">, add: Add): string[] {
  if (raw.length === 0) return [];
  const tests = raw.map((text) => `${sql.placeInBody("r.body", text, add)} > 0`).join(" AND ");
  return [`EXISTS (SELECT 1 FROM requests r WHERE r.seq = a.request_seq AND ${tests} ${sql.asItStands})`];
}

/** The columns that a page shows: the listed ones, how often the key came, and the body around the searched text. */
export function shownColumns(sql: Dialect, { newestOfKey, raw: [wanted] = [] }: AlertQuery, add: Add): string {
  const run = inOrder(
    sql,
    ["at", "status"],
    `SELECT n.received_at AS at, ${sql.statusOf("n")} AS status FROM alerts n
     WHERE ${sql.isOfKey("n", "a.alert_key", "0", "a.seq")} AND n.repeat_of IS NULL
     ORDER BY n.alert_key DESC, n.seq DESC LIMIT ${mostOfRun}`,
  );
  const columns = [listedColumns(sql)];
  if (newestOfKey) columns.push(`${run} AS run`);
  if (wanted !== undefined)
    columns.push(`(SELECT substr(r.body, ${sql.larger("1", `${sql.placeInBody("r.body", wanted, add)} - 60`)}, 200)
      FROM alerts o JOIN requests r ON r.seq = o.request_seq WHERE o.seq = a.seq) AS around`);
  return columns.join(", ");
}
