import type { Sql } from "./database.ts";

/**
 * Gives the alerts that `of` names (a query of their `seq`) their next version: two parts of a WITH, of which the second,
 * `changed`, has what is asked of them. They are locked in one order, so that no two statements wait for each other.
 *
 * Here as elsewhere rows are asked for by an array of their positions: each is then looked up in the primary key, whatever the
 * planner thinks of a table that was empty when it looked.
 */
export const changedAlerts = (of: string, columns = "seq") => `
  locked_alerts AS MATERIALIZED (SELECT seq FROM alerts WHERE seq = ANY (ARRAY(${of})) ORDER BY seq FOR NO KEY UPDATE),
  changed AS (
    UPDATE alerts SET version = version + 1, changed_by = change_number()
    WHERE seq = ANY (ARRAY(SELECT seq FROM locked_alerts)) RETURNING ${columns})`;

/** The same as a statement, for what several statements have changed. */
export async function changeAlerts(tx: Sql, alertSeqs: readonly number[]): Promise<void> {
  await tx.query(
    `WITH ${changedAlerts("SELECT unnest($1::bigint[])")} SELECT FROM changed`,
    [alertSeqs],
    "change_alerts",
  );
}
