import type { DeliveryState } from "../../core/delivery.ts";
import type { NewId } from "../../core/id.ts";
import type { Dispatch, ResendCall, ResentCount } from "../../core/ports/dispatch.ts";
import type { PlannedDelivery } from "../../core/rules.ts";
import { toDeliverySummary } from "../rows.ts";
import type { Row } from "../tables.ts";
import type { Dialect, InTx, Tx } from "../tx.ts";
import { createMaking, type NewDelivery, toDeliveryRow } from "./writing.ts";

type KnownRow = Pick<
  Row<"deliveries">,
  "seq" | "alert_seq" | "destination" | "recipient" | "purpose" | "state" | "resent_by"
>;

/** The states that a bulk resend takes up. */
const resendable: readonly DeliveryState[] = ["failed", "expired", "muted"];
const underWayOrArrived: readonly DeliveryState[] = ["queued", "waiting", "sending", "sent", "digested"];

/** A resend replaces the deliveries that did not get through. It holds the alert's row, so nothing is resent twice. */
export function createResending(sql: Dialect, newId: NewId) {
  const make = createMaking(sql);
  const lockAlert = sql.statement(
    { id: "text" },
    `SELECT seq FROM alerts WHERE id = :id ${sql.forUpdate("seq")}`,
    ({ seq }: { seq: number }) => seq,
  );
  const listUnsent = sql.statement(
    { alert_seq: "int8" },
    `SELECT seq, destination, recipient FROM deliveries
     WHERE alert_seq = :alert_seq AND resent_by IS NULL AND state IN ('failed', 'expired', 'held', 'muted') AND due_at IS NULL`,
    (row: Pick<KnownRow, "seq" | "destination" | "recipient">) => row,
  );
  const alertsOf = `SELECT alert_seq FROM deliveries WHERE seq ${sql.isOneOf(":seqs")}`;
  const lockAlerts = sql.statement(
    { seqs: "int8[]" },
    `SELECT seq FROM alerts WHERE seq ${sql.isIn(alertsOf)} ${sql.forUpdate("seq")}`,
  );
  const listKnown = sql.statement(
    { seqs: "int8[]" },
    `SELECT seq, alert_seq, destination, recipient, purpose, state, resent_by FROM deliveries WHERE alert_seq ${sql.isIn(alertsOf)}`,
    (row: KnownRow) => row,
  );
  const markResent = sql.change("deliveries", { by: "int8" }, "resent_by = coalesce(resent_by, :by)");

  /** Marks each unsent delivery as resent: by its own mailbox's resend, or the first one where the mailbox is gone. */
  async function standFor(tx: Tx, alertSeq: number, resends: (NewDelivery & { seq: number })[]): Promise<void> {
    const unsent = await tx.run(listUnsent, { alert_seq: alertSeq });
    const standing = unsent.flatMap(({ seq, destination, recipient }) => {
      const its = resends.filter(({ planned }) => planned.destination === destination);
      const [first] = its;
      if (first === undefined || seq >= first.seq) return [];
      return { seq, by: (its.find(({ planned }) => planned.recipient === recipient) ?? first).seq };
    });
    await tx.change(markResent, standing);
  }

  return {
    async addDeliveries(tx, alertId, planned, purpose, at) {
      const [alertSeq] = await tx.run(lockAlert, { id: alertId });
      if (alertSeq === undefined) throw new Error(`there is no alert ${alertId}`);
      const deliveries = planned.map((one): NewDelivery => ({ id: newId(), alertSeq, planned: one, purpose, at }));
      const made = await make(tx, deliveries);
      const withSeq = deliveries.map((delivery, index) => ({ ...delivery, seq: made[index]?.seq as number }));
      if (purpose === "resend") await standFor(tx, alertSeq, withSeq);
      return deliveries.map((delivery) => toDeliverySummary(toDeliveryRow(delivery)));
    },

    async resendFailed(tx, calls, at) {
      const seqs = calls.map(({ deliverySeq }) => deliverySeq);
      // Locking is a statement of its own: the next one sees all that was committed before the locks were given.
      const [, known] = await Promise.all([tx.run(lockAlerts, { seqs }), tx.run(listKnown, { seqs })]);
      const rows = known.sort((one, other) => one.seq - other.seq);
      const { count, made, resent } = decide(calls, rows, at, newId);
      const seqOf = new Map((await make(tx, made)).map(({ id, seq }) => [id, seq]));
      const marks = resent.map(({ failed, by }) => ({
        seq: failed.seq,
        by: typeof by === "number" ? by : (seqOf.get(by) as number),
      }));
      await Promise.all([
        tx.change(markResent, marks),
        tx.changed([...new Set(resent.map(({ failed }) => failed.alert_seq))]),
      ]);
      return count;
    },
  } satisfies InTx<Dispatch, "addDeliveries" | "resendFailed">;
}

/** One call after another: a resend of one may serve the next. */
function decide(calls: ResendCall[], rows: KnownRow[], at: number, newId: NewId) {
  const count: ResentCount = { made: 0, resent: 0, noRecipient: 0 };
  const made: NewDelivery[] = [];
  /** `by`: the position of the delivery that replaces the failed one, or the id of a new one. */
  const resent: { failed: KnownRow; by: number | string }[] = [];
  const isOpen = ({ state, resent_by }: KnownRow) => resent_by === null && resendable.includes(state);
  const open = new Map(rows.filter(isOpen).map((row) => [row.seq, row]));
  for (const { deliverySeq, planned, onlyNew, toldBy } of calls) {
    const failed = open.get(deliverySeq);
    if (failed === undefined) continue;
    if (toldBy !== undefined) {
      resent.push({ failed, by: toldBy });
      continue;
    }
    const { alert_seq: alertSeq } = failed;
    const stands = planned.flatMap((one): (number | string)[] => {
      const isSame = (seq: number, { destination, recipient }: Pick<PlannedDelivery, "destination" | "recipient">) =>
        seq === alertSeq && destination === one.destination && recipient === one.recipient;
      const before = rows.filter((row) => isSame(row.alert_seq, row));
      const known = before.find(
        ({ seq, purpose, state }) =>
          seq > deliverySeq && (purpose === "resend" || purpose === "bulk_resend") && underWayOrArrived.includes(state),
      );
      if (known !== undefined) return [known.seq];
      const beside = made.find((other) => isSame(other.alertSeq, other.planned));
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
