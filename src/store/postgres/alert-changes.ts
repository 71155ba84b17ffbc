import type { Sql } from "./database.ts";

/**
 * Notes that the alerts which `of` names (a query of their `seq`) have changed: a part of a WITH. Their rows in `alert_changes`
 * are written in one order, so that no two statements wait for each other.
 */
export const notedChanges = (of: string) => `
  noted AS (
    INSERT INTO alert_changes (seq, changed_by)
    SELECT changing.seq, change_number() FROM (SELECT DISTINCT * FROM (${of}) AS of) AS changing (seq) ORDER BY changing.seq
    ON CONFLICT (seq) DO UPDATE SET version = alert_changes.version + 1, changed_by = excluded.changed_by)`;

/** The same as a statement, for what several statements have changed. */
export async function noteChanges(tx: Sql, alertSeqs: readonly number[]): Promise<void> {
  await tx.query(`WITH ${notedChanges("SELECT unnest($1::bigint[])")} SELECT`, [alertSeqs], "note_changes");
}

/** How often the alert `a` was changed, to be added to its own version. */
export const versionNoted = "(SELECT c.version FROM alert_changes c WHERE c.seq = a.seq)";
