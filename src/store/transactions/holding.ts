import type { AlertStatus, Severity } from "../../core/alert.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { Decision } from "../../core/rules.ts";
import type { Dialect, InTx, Tx } from "../tx.ts";

/** Notes when a delivery leaves the state `held` for a try or a wait: its age counts from then on. */
export const noteHold = (when = ""): string =>
  `held_until = CASE WHEN state = 'held' AND due_at > coalesce(held_until, 0) ${when} THEN due_at ELSE held_until END`;

/** Deliveries that quiet hours hold: state `held` with a time. Without a time the outcome was ambiguous, and a person decides. */
export function createHolding(sql: Dialect) {
  const list = sql.statement(
    { destination: "text", due_at: "int8", seq: "int8", limit: "int8" },
    `SELECT d.id, d.seq, d.due_at, a.severity, ${sql.statusOf("a")} AS status
     FROM deliveries d ${sql.indexedBy("deliveries_held")} JOIN alerts a ON a.seq = d.alert_seq
     WHERE d.destination = :destination AND d.state = 'held' AND d.due_at IS NOT NULL AND d.updates <> 'summary'
       AND d.group_name IS NULL AND (d.due_at, d.seq) > (:due_at, :seq)
     ORDER BY d.due_at, d.seq ${sql.limit(":limit")}`,
    ({ due_at, ...row }: { id: string; seq: number; due_at: number; severity: Severity; status: AlertStatus }) => ({
      ...row,
      dueAt: due_at,
    }),
  );
  const isHeld = `destination = :destination AND state = 'held' AND resent_by IS NULL
    AND (due_at > :now OR (due_at IS NULL AND :is_named = 1))`;
  const reschedule = sql.statement(
    {
      ...({ ids: "text[]", destination: "text", now: "int8" } as const),
      ...({ is_named: "int8", due_at: "int8", why: "text" } as const),
    },
    `WITH held AS MATERIALIZED (
       SELECT seq FROM deliveries WHERE id ${sql.isOneOf(":ids")} AND ${isHeld} ${sql.forUpdate("seq")})
     UPDATE deliveries SET fallback_at = CASE WHEN due_at IS NULL THEN fallback_at ELSE fallback_at + :due_at - due_at END,
       due_at = :due_at, reason = reason || '; ' || :why,
       state = CASE WHEN :is_named = 1 THEN 'queued' ELSE state END,
       held_until = CASE WHEN :is_named = 1 THEN :due_at ELSE held_until END,
       group_name = CASE WHEN due_at IS NULL THEN group_name END
     WHERE seq ${sql.isIn("SELECT seq FROM held")} AND ${isHeld} RETURNING alert_seq`,
    ({ alert_seq }: { alert_seq: number }) => alert_seq,
  );
  const lockDecisions = sql.statement(
    { seqs: "int8[]" },
    `SELECT seq, decisions FROM alerts WHERE seq ${sql.isOneOf(":seqs")} AND decisions IS NOT NULL ${sql.forUpdate("seq")}`,
    (row: { seq: number; decisions: string }) => row,
  );
  const saveDecisions = sql.change("alerts", { decisions: "text" }, "decisions = :decisions");

  /** Adds the reason to the alert's decisions. Its deliveries lose their reason with their next state. */
  async function explain(tx: Tx, alertSeqs: number[], destination: string, why: string): Promise<void> {
    const rows = await tx.run(lockDecisions, { seqs: alertSeqs });
    const explained = rows.map(({ seq, decisions }) => ({
      seq,
      decisions: JSON.stringify(
        (JSON.parse(decisions) as Decision[]).map((decision) =>
          decision.destination === destination && decision.result === "held" && !decision.reason.endsWith(why)
            ? { ...decision, reason: `${decision.reason}; ${why}` }
            : decision,
        ),
      ),
    }));
    await tx.change(saveDecisions, explained);
  }

  return {
    listHeld: async (tx, destination, { dueAt, seq }, limit) =>
      tx.run(list, { destination, due_at: dueAt, seq, limit }),

    async rescheduleHeld(tx, change) {
      const { destination, deliveryIds: ids, now, dueAt, why, isNamed } = change;
      const found = await tx.run(reschedule, { ids, destination, now, why, is_named: isNamed ? 1 : 0, due_at: dueAt });
      if (found.length === 0) return 0;
      const alertSeqs = [...new Set(found)];
      tx.notes.due.add(destination);
      await Promise.all([explain(tx, alertSeqs, destination, why), tx.changed(alertSeqs)]);
      return found.length;
    },
  } satisfies InTx<Dispatch, "listHeld" | "rescheduleHeld">;
}
