import type { NewId } from "../../core/id.ts";
import type { FallbackCall } from "../../core/ports/dispatch.ts";
import type { Row } from "../tables.ts";
import type { Dialect, Tx } from "../tx.ts";
import { createMaking, type NewDelivery } from "./writing.ts";

type CallingRow = Pick<Row<"deliveries">, "seq" | "alert_seq" | "destination" | "purpose">;
type MadeRow = Pick<Row<"deliveries">, "alert_seq" | "destination" | "recipient" | "instead_of">;

export type CallFallbacks = (tx: Tx, fallbacks: readonly FallbackCall[], at: number) => Promise<void>;

/** Makes fallbacks, once for each delivery. The mailboxes of one destination together make one for an alert. */
export function createFallbacks(sql: Dialect, newId: NewId): CallFallbacks {
  const make = createMaking(sql);
  const lockCalling = sql.statement(
    { seqs: "int8[]" },
    `SELECT seq, alert_seq, destination, purpose FROM deliveries
     WHERE seq ${sql.isOneOf(":seqs")} AND fallback_to IS NOT NULL ${sql.forUpdate("seq")}`,
    (row: CallingRow) => row,
  );
  const lockAlerts = sql.statement(
    { seqs: "int8[]" },
    `SELECT seq FROM alerts WHERE seq ${sql.isOneOf(":seqs")} ${sql.forUpdate("seq")}`,
  );
  const listMade = sql.statement(
    { seqs: "int8[]" },
    `SELECT alert_seq, destination, recipient, instead_of FROM deliveries
     WHERE alert_seq ${sql.isOneOf(":seqs")} AND instead_of IS NOT NULL`,
    (row: MadeRow) => row,
  );
  const noteCalled = sql.change(
    "deliveries",
    { again_at: "int8" },
    "fallback_to = CASE WHEN :again_at IS NOT NULL THEN fallback_to END, fallback_at = :again_at",
  );

  return async (tx, fallbacks, at) => {
    if (fallbacks.length === 0) return;
    const calls = [...new Map(fallbacks.toReversed().map((call) => [call.deliverySeq, call])).values()].toReversed();
    const calling = await tx.run(lockCalling, { seqs: calls.map(({ deliverySeq }) => deliverySeq) });
    if (calling.length === 0) return;
    const rowOf = new Map(calling.map((row) => [row.seq, row]));
    const called = calls.flatMap((call) => {
      const row = rowOf.get(call.deliverySeq);
      return row === undefined ? [] : { call, row };
    });
    const seqs = [...new Set(calling.map(({ alert_seq }) => alert_seq))];
    const again = called.map(({ call, row }) => ({ seq: row.seq, again_at: call.againAt ?? null }));
    // Last, so it sees the deliveries that the other statements have made for these alerts.
    const [, , made] = await Promise.all([
      tx.change(noteCalled, again),
      tx.run(lockAlerts, { seqs }),
      tx.run(listMade, { seqs }),
    ]);
    await make(tx, toMake(called, made, at, newId));
  };
}

function toMake(
  called: readonly { call: FallbackCall; row: CallingRow }[],
  made: readonly MadeRow[],
  at: number,
  newId: NewId,
): NewDelivery[] {
  const keyOf = (row: MadeRow) => JSON.stringify([row.alert_seq, row.destination, row.recipient, row.instead_of]);
  const known = new Set(made.map(keyOf));
  return called.flatMap(({ call, row: { alert_seq: alertSeq, destination: insteadOf, purpose } }) =>
    call.planned.flatMap((planned): NewDelivery[] => {
      const { destination, recipient } = planned;
      const key = keyOf({ alert_seq: alertSeq, destination, recipient, instead_of: insteadOf });
      if (known.has(key)) return [];
      known.add(key);
      return [{ id: newId(), alertSeq, planned, purpose: purpose === "notice" ? "notice" : "fallback", at, insteadOf }];
    }),
  );
}
