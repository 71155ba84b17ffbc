import type { DeliveryPurpose } from "../../../core/delivery.ts";
import type { DeliverySummary } from "../../../core/ports/alert-log.ts";
import type { ResendCall, ResentCount } from "../../../core/ports/dispatch.ts";
import type { PlannedDelivery } from "../../../core/rules.ts";
import { type DeliveryRow, toDeliverySummary } from "../../rows.ts";
import { deliveryColumns, type TransactionContext } from "./context.ts";
import type { InsertDelivery } from "./routing.ts";

interface FailedRow {
  alert_seq: number;
  recipient: string;
}

/** A resend stands from the moment at which it is made for what did not get through, so nothing is resent twice. */
export function createResending({ db, changed }: TransactionContext, insertDelivery: InsertDelivery) {
  const made = db.prepare<[number], DeliveryRow>(
    `SELECT ${deliveryColumns} FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq WHERE d.seq = ?`,
  );
  const alertSeqOf = db.prepare<[string], number>("SELECT seq FROM alerts WHERE id = ?").pluck();
  const listUnsent = db.prepare<[number, string, number], { seq: number; recipient: string }>(
    `SELECT seq, recipient FROM deliveries WHERE alert_seq = ? AND destination = ? AND seq < ?
       AND resent_by IS NULL AND state IN ('failed', 'expired', 'held') AND due_at IS NULL`,
  );
  const markResent = db.prepare("UPDATE deliveries SET resent_by = ? WHERE seq = ? AND resent_by IS NULL");
  const failed = db.prepare<[number], FailedRow>(
    `SELECT alert_seq, recipient FROM deliveries
     WHERE seq = ? AND resent_by IS NULL AND state IN ('failed', 'expired')`,
  );
  const laterResend = db
    .prepare<[number, string, string, number], number>(
      `SELECT seq FROM deliveries WHERE alert_seq = ? AND destination = ? AND recipient = ? AND seq > ?
         AND purpose IN ('resend', 'bulk_resend')
         AND state IN ('queued', 'waiting', 'sending', 'sent', 'digested') LIMIT 1`,
    )
    .pluck();
  const hasDelivery = db
    .prepare<[number, string, string], number>(
      "SELECT 1 FROM deliveries WHERE alert_seq = ? AND destination = ? AND recipient = ? LIMIT 1",
    )
    .pluck();

  /** Of a mailbox its own resend; of an address that the destination no longer has, the first of the others. */
  function standFor(alertSeq: number, resends: DeliveryRow[]): void {
    const firstOf = new Map<string, DeliveryRow>();
    for (const row of resends) if (!firstOf.has(row.destination)) firstOf.set(row.destination, row);
    for (const [destination, first] of firstOf) {
      for (const { seq, recipient } of listUnsent.all(alertSeq, destination, first.seq)) {
        const own = resends.find((row) => row.destination === destination && row.recipient === recipient);
        markResent.run((own ?? first).seq, seq);
      }
    }
  }

  /** The resend to one recipient: what is on its way already, or a new one. */
  function resendTo(
    planned: PlannedDelivery,
    { deliverySeq, onlyNew }: ResendCall,
    row: FailedRow,
    at: number,
  ): { seq: number; isNew: boolean } | undefined {
    const { destination, recipient } = planned;
    const known = laterResend.get(row.alert_seq, destination, recipient, deliverySeq);
    if (known !== undefined) return { seq: known, isNew: false };
    if (onlyNew && hasDelivery.get(row.alert_seq, destination, recipient) !== undefined) return undefined;
    return { seq: insertDelivery(row.alert_seq, planned, "bulk_resend", at).seq, isNew: true };
  }

  return {
    addDeliveries(
      alertId: string,
      deliveries: PlannedDelivery[],
      purpose: DeliveryPurpose,
      at: number,
    ): DeliverySummary[] {
      const alertSeq = alertSeqOf.get(alertId);
      if (alertSeq === undefined) throw new Error(`there is no alert ${alertId}`);
      const rows = deliveries.flatMap((planned) => made.get(insertDelivery(alertSeq, planned, purpose, at).seq) ?? []);
      if (purpose === "resend") standFor(alertSeq, rows);
      return rows.map(toDeliverySummary);
    },

    resendFailed(calls: ResendCall[], at: number): ResentCount {
      const count: ResentCount = { made: 0, resent: 0, noRecipient: 0 };
      for (const call of calls) {
        const { deliverySeq, planned } = call;
        const row = failed.get(deliverySeq);
        if (row === undefined) continue;
        const resends = planned.flatMap((one) => resendTo(one, call, row, at) ?? []);
        const [first] = resends;
        if (first === undefined) {
          count.noRecipient += 1;
          continue;
        }
        markResent.run(first.seq, deliverySeq);
        changed.add(row.alert_seq);
        count.resent += 1;
        count.made += resends.filter(({ isNew }) => isNew).length;
      }
      return count;
    },
  };
}
