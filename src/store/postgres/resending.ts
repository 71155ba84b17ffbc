import type { DeliveryPurpose, DeliveryState } from "../../core/delivery.ts";
import type { NewId } from "../../core/id.ts";
import type { Dispatch, ResendCall, ResentCount } from "../../core/ports/dispatch.ts";
import { type DeliverySummaryRow, deliverySummaryColumns, toDeliverySummary } from "../rows.ts";
import { noteChanges } from "./alert-changes.ts";
import type { Database, Transaction } from "./database.ts";
import { makeDeliveries, type NewDelivery } from "./making.ts";

interface KnownRow {
  seq: number;
  alert_seq: number;
  destination: string;
  recipient: string;
  purpose: DeliveryPurpose;
  state: DeliveryState;
  resent_by: number | null;
}

const underWayOrArrived: readonly DeliveryState[] = ["queued", "waiting", "sending", "sent", "digested"];

/**
 * A resend stands from the moment at which it is made for what did not get through, so nothing is resent twice: whoever resends
 * holds the alert's row meanwhile.
 */
export function createResending(
  database: Database,
  { newId }: { newId: NewId },
): Pick<Dispatch, "addDeliveries" | "resendFailed"> {
  return {
    addDeliveries: (alertId, planned, purpose, at) =>
      database.transaction(async (tx) => {
        const { rows } = await tx.query<{ seq: number }>(
          "SELECT seq FROM alerts WHERE id = $1 FOR NO KEY UPDATE",
          [alertId],
          "lock_alert",
        );
        const alertSeq = rows[0]?.seq;
        if (alertSeq === undefined) throw new Error(`there is no alert ${alertId}`);
        const deliveries = planned.map((one): NewDelivery => ({ id: newId(), alertSeq, planned: one, purpose, at }));
        const ids = deliveries.map(({ id }) => id);
        const [, , , made] = await Promise.all([
          makeDeliveries(tx, deliveries),
          noteChanges(tx, [alertSeq]),
          purpose === "resend" && standFor(tx, alertSeq, ids),
          tx.query<DeliverySummaryRow>(
            `SELECT ${deliverySummaryColumns} FROM unnest($1::text[]) WITH ORDINALITY AS asked (id, place)
             JOIN deliveries d ON d.id = asked.id LEFT JOIN deliveries r ON r.seq = d.resent_by ORDER BY asked.place`,
            [ids],
            "read_made",
          ),
        ]);
        return made.rows.map(toDeliverySummary);
      }),

    resendFailed: (calls, at) => database.transaction((tx) => resend(tx, calls, at, newId)),
  };
}

/** Of a mailbox its own resend; of an address that the destination no longer has, the first of the others. */
async function standFor(tx: Transaction, alertSeq: number, ids: string[]): Promise<void> {
  await tx.query(
    `UPDATE deliveries d SET resent_by = coalesce(
       (SELECT min(own.seq) FROM deliveries own
        WHERE own.id = ANY($2::text[]) AND own.destination = d.destination AND own.recipient = d.recipient), first.seq)
     FROM (SELECT destination, min(seq) AS seq FROM deliveries WHERE id = ANY($2::text[]) GROUP BY destination) AS first
     WHERE d.alert_seq = $1 AND d.destination = first.destination AND d.seq < first.seq AND d.resent_by IS NULL
       AND d.state IN ('failed', 'expired', 'held') AND d.due_at IS NULL`,
    [alertSeq, ids],
    "stand_for",
  );
}

async function resend(tx: Transaction, calls: ResendCall[], at: number, newId: NewId): Promise<ResentCount> {
  const alerts = "SELECT alert_seq FROM deliveries WHERE seq = ANY($1::bigint[])";
  const asked = [calls.map(({ deliverySeq }) => deliverySeq)];
  // A statement of its own first: the other one sees what was committed until the locks were given.
  const [, { rows }] = await Promise.all([
    tx.query(
      `SELECT FROM alerts WHERE seq = ANY (ARRAY(${alerts})) ORDER BY seq FOR NO KEY UPDATE`,
      asked,
      "lock_resent_alerts",
    ),
    tx.query<KnownRow>(
      `SELECT seq, alert_seq, destination, recipient, purpose, state, resent_by FROM deliveries
       WHERE alert_seq = ANY (ARRAY(${alerts})) ORDER BY seq`,
      asked,
      "list_resendable",
    ),
  ]);
  const { count, made, resent } = decide(calls, rows, at, newId);
  const seqOf = new Map((await makeDeliveries(tx, made)).map(({ id, seq }) => [id, seq]));
  if (resent.length === 0) return count;
  const bySeq = resent.sort((one, other) => one.failed.seq - other.failed.seq);
  await Promise.all([
    tx.query(
      `UPDATE deliveries d SET resent_by = g.resent_by FROM unnest($1::bigint[], $2::bigint[]) AS g (seq, resent_by)
       WHERE d.seq = g.seq AND d.seq = ANY($1::bigint[]) AND d.resent_by IS NULL`,
      [bySeq.map(({ failed }) => failed.seq), bySeq.map(({ by }) => (typeof by === "number" ? by : seqOf.get(by)))],
      "mark_resent",
    ),
    noteChanges(tx, [...new Set(bySeq.map(({ failed }) => failed.alert_seq))]),
  ]);
  tx.notes.changed = true;
  return count;
}

interface Resent {
  failed: KnownRow;
  /** The position of what stands for it, or the id of one that is to be made. */
  by: number | string;
}

/** One call after another: what is made for one may stand for the next. */
function decide(calls: ResendCall[], rows: KnownRow[], at: number, newId: NewId) {
  const count: ResentCount = { made: 0, resent: 0, noRecipient: 0 };
  const made: NewDelivery[] = [];
  const resent: Resent[] = [];
  const open = new Map(
    rows
      .filter(({ state, resent_by }) => resent_by === null && (state === "failed" || state === "expired"))
      .map((row) => [row.seq, row]),
  );
  for (const { deliverySeq, planned, onlyNew } of calls) {
    const failed = open.get(deliverySeq);
    if (failed === undefined) continue;
    const { alert_seq: alertSeq } = failed;
    const stands = planned.flatMap((one): (number | string)[] => {
      const isSame = (row: Pick<KnownRow, "alert_seq" | "destination" | "recipient">) =>
        row.alert_seq === alertSeq && row.destination === one.destination && row.recipient === one.recipient;
      const before = rows.filter(isSame);
      const known = before.find(
        ({ seq, purpose, state }) =>
          seq > deliverySeq && (purpose === "resend" || purpose === "bulk_resend") && underWayOrArrived.includes(state),
      );
      if (known !== undefined) return [known.seq];
      const beside = made.find((other) =>
        isSame({
          alert_seq: other.alertSeq,
          destination: other.planned.destination,
          recipient: other.planned.recipient,
        }),
      );
      if (beside !== undefined) return [beside.id];
      if (onlyNew && before.length > 0) return [];
      const id = newId();
      made.push({ id, alertSeq, planned: one, purpose: "bulk_resend", at });
      count.made += 1;
      return [id];
    });
    const [by] = stands;
    if (by === undefined) {
      count.noRecipient += 1;
      continue;
    }
    open.delete(deliverySeq);
    resent.push({ failed, by });
    count.resent += 1;
  }
  return { count, made, resent };
}
