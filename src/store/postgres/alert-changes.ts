import type { Sql } from "./database.ts";

/**
 * Changes stand in `alert_changes`, and in `alerts` those that a relay of the version before has made. Each of the two has all of
 * its own in the order of transactions, so both are read side by side; what both have under one number is listed once.
 */
const tables = ["alert_changes", "alerts"] as const;
export type ChangeTable = (typeof tables)[number];
export const isChanged = (table: ChangeTable) => (table === "alerts" ? "changed_by IS NOT NULL AND" : "");

/** The last change of each table. */
export const lastChanges = tables
  .map(
    (table) =>
      `SELECT * FROM (
        SELECT changed_by, seq FROM ${table} WHERE ${isChanged(table)} true ORDER BY changed_by DESC, seq DESC LIMIT 1) of_${table}`,
  )
  .join(" UNION ALL ");

/** The alerts that changed last, a query of their `seq`. */
export const lastChanged = `SELECT seq FROM (${lastChanges}) last`;

/**
 * Notes that the alerts which `of` names (a query of their `seq`) have changed: a part of a WITH. Their rows in `alert_changes`
 * are written in one order, so that no two statements wait for each other.
 */
export const notedChanges = (of: string) => `
  noted AS (
    INSERT INTO alert_changes (seq, changed_by)
    SELECT changing.seq, change_number() FROM (SELECT DISTINCT * FROM (${of}) AS of) AS changing (seq) ORDER BY changing.seq
    ON CONFLICT (seq) DO UPDATE SET version = alert_changes.version + 1, changed_by = excluded.changed_by)`;

/** Notes changes by a statement of its own, for what several statements have changed. */
export async function noteChanges(tx: Sql, alertSeqs: readonly number[]): Promise<void> {
  await tx.query(`WITH ${notedChanges("SELECT unnest($1::bigint[])")} SELECT`, [alertSeqs]);
}

/** How often an alert was changed, to be added to its own version. */
export const versionNoted = (alert: string) => `(SELECT c.version FROM alert_changes c WHERE c.seq = ${alert}.seq)`;
