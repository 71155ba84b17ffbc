import type { AlertStatus, Severity } from "../../../core/alert.ts";
import type { HeldChange, HeldDelivery } from "../../../core/ports/dispatch.ts";
import type { Decision } from "../../../core/rules.ts";
import { boundLimit, type TransactionContext } from "./context.ts";

interface HeldRow {
  id: string;
  seq: number;
  due_at: number;
  severity: Severity;
  status: AlertStatus;
}

/**
 * What quiet hours hold: state `held` with a time. Without one nobody knows whether it arrived, and a person decides.
 */
export function createHolding({ db, changed }: TransactionContext) {
  const held = db.prepare<[string, number, number, number], HeldRow>(
    `SELECT d.id, d.seq, d.due_at, a.severity, a.facts ->> 'status' AS status
     FROM deliveries d INDEXED BY deliveries_held JOIN alerts a ON a.seq = d.alert_seq
     WHERE d.destination = ? AND d.state = 'held' AND d.due_at IS NOT NULL AND (d.due_at, d.seq) > (?, ?)
     ORDER BY d.due_at, d.seq ${boundLimit}`,
  );
  const reschedule = db.prepare<[number, number, string, string, string, number, number], { alert_seq: number }>(
    `UPDATE deliveries SET fallback_at = iif(due_at IS NULL, fallback_at, fallback_at + ? - due_at), due_at = ?,
       reason = reason || '; ' || ?
     WHERE id = ? AND destination = ? AND state = 'held' AND resent_by IS NULL
       AND (due_at > ? OR (due_at IS NULL AND ?))
     RETURNING alert_seq`,
  );
  const decisionsOf = db.prepare<[number], string | null>("SELECT decisions FROM alerts WHERE seq = ?").pluck();
  const saveDecisions = db.prepare("UPDATE alerts SET decisions = ? WHERE seq = ?");

  /** The reason of a delivery goes with its next state; that of the decision stays. */
  function explain(alertSeq: number, destination: string, why: string): void {
    const text = decisionsOf.get(alertSeq);
    if (text === undefined || text === null) return;
    const decisions = (JSON.parse(text) as Decision[]).map((decision) =>
      decision.destination === destination && decision.result === "held" && !decision.reason.endsWith(why)
        ? { ...decision, reason: `${decision.reason}; ${why}` }
        : decision,
    );
    saveDecisions.run(JSON.stringify(decisions), alertSeq);
  }

  return {
    listHeld: (destination: string, after: { dueAt: number; seq: number }, limit: number): HeldDelivery[] =>
      held.all(destination, after.dueAt, after.seq, limit).map(({ due_at, ...row }) => ({ ...row, dueAt: due_at })),

    rescheduleHeld({ destination, deliveryIds, now, dueAt, why, includesAmbiguous }: HeldChange): number {
      let count = 0;
      for (const id of deliveryIds) {
        const row = reschedule.get(dueAt, dueAt, why, id, destination, now, includesAmbiguous ? 1 : 0);
        if (row === undefined) continue;
        explain(row.alert_seq, destination, why);
        changed.add(row.alert_seq);
        count += 1;
      }
      return count;
    },
  };
}
