import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { Decision } from "../../core/rules.ts";
import { noteChanges } from "./alert-changes.ts";
import type { Database, Transaction } from "./database.ts";
import { toText } from "./texts.ts";

/**
 * What quiet hours hold: state `held` with a time. Without one nobody knows whether it arrived, and a person decides.
 */
export function createHolding(database: Database): Pick<Dispatch, "rescheduleHeld"> {
  return {
    rescheduleHeld: ({ destination, deliveryIds, now, dueAt, why, includesAmbiguous }) =>
      database.transaction(async (tx) => {
        const isHeld = `destination = $2 AND state = 'held' AND resent_by IS NULL
          AND (due_at > $3 OR (due_at IS NULL AND $4::bool))`;
        const { rows } = await tx.query<{ alert_seq: number }>(
          `WITH held AS MATERIALIZED (
             SELECT seq FROM deliveries WHERE id = ANY($1::text[]) AND ${isHeld} ORDER BY seq FOR NO KEY UPDATE)
           UPDATE deliveries SET fallback_at = CASE WHEN due_at IS NULL THEN fallback_at ELSE fallback_at + $5 - due_at END,
             due_at = $5, reason = reason || '; ' || $6
           WHERE seq = ANY (ARRAY(SELECT seq FROM held)) AND ${isHeld} RETURNING alert_seq`,
          [deliveryIds, destination, now, includesAmbiguous, dueAt, toText(why)],
          "reschedule_held",
        );
        if (rows.length === 0) return 0;
        tx.notes.changed = true;
        tx.notes.due.add(destination);
        await explain(tx, [...new Set(rows.map((row) => row.alert_seq))], destination, why);
        return rows.length;
      }),
  };
}

/** The reason of a delivery goes with its next state; that of the decision stays. */
async function explain(tx: Transaction, alertSeqs: number[], destination: string, why: string): Promise<void> {
  const { rows } = await tx.query<{ seq: number; decisions: string | null }>(
    "SELECT seq, decisions FROM alerts WHERE seq = ANY($1::bigint[]) ORDER BY seq FOR NO KEY UPDATE",
    [alertSeqs],
    "lock_decisions",
  );
  const decisions = rows.map((row) => {
    if (row.decisions === null) return null;
    const explained = (JSON.parse(row.decisions) as Decision[]).map((decision) =>
      decision.destination === destination && decision.result === "held" && !decision.reason.endsWith(why)
        ? { ...decision, reason: `${decision.reason}; ${why}` }
        : decision,
    );
    return JSON.stringify(explained);
  });
  await tx.query(
    `UPDATE alerts a SET decisions = g.decisions
     FROM unnest($1::bigint[], $2::text[]) AS g (seq, decisions) WHERE a.seq = g.seq AND a.seq = ANY($1::bigint[])`,
    [rows.map(({ seq }) => seq), decisions],
    "save_decisions",
  );
  await noteChanges(tx, alertSeqs);
}
