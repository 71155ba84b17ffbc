import type { Sql } from "./database.ts";

/**
 * Changes are noted in `alert_changes`, and by a relay of the version before in `alerts`. Both are read together, in the order of
 * transactions. A change that both have under one number is listed once.
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

/** A query of the `seq` of the alerts that changed last. */
export const lastChanged = `SELECT seq FROM (${lastChanges}) last`;

/** A part of a WITH that notes a change of the alerts in the query `of`. Rows are written in one order, against deadlocks. */
export const notedChanges = (of: string) => `
  noted AS (
    INSERT INTO alert_changes (seq, changed_by)
    SELECT changing.seq, change_number() FROM (SELECT DISTINCT * FROM (${of}) AS of) AS changing (seq) ORDER BY changing.seq
    ON CONFLICT (seq) DO UPDATE SET version = alert_changes.version + 1, changed_by = excluded.changed_by)`;

/** Notes the changes of several statements, in a statement of its own. */
export async function noteChanges(tx: Sql, alertSeqs: readonly number[]): Promise<void> {
  await tx.query(`WITH ${notedChanges("SELECT unnest($1::bigint[])")} SELECT`, [alertSeqs]);
}

/** The noted changes of an alert, which add to its own version. */
export const versionNoted = (alert: string) => `(SELECT c.version FROM alert_changes c WHERE c.seq = ${alert}.seq)`;
