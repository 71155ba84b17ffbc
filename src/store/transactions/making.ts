import type { DeliveryPurpose } from "../../core/delivery.ts";
import type { MadeDelivery } from "../../core/ports/routing-desk.ts";
import type { PlannedDelivery } from "../../core/rules.ts";
import { rowOf } from "../rows.ts";
import type { InsertedRow, Row } from "../tables.ts";
import type { Dialect, Tx } from "../tx.ts";

export interface NewDelivery {
  id: string;
  alertSeq: number;
  planned: PlannedDelivery;
  purpose: DeliveryPurpose;
  at: number;
  insteadOf?: string;
}

/** Columns that take the planned values unchanged. */
const plannedColumns = [
  ...(["destination", "channel", "recipient", "route", "instead_because"] as const),
  ...(["state", "reason", "updates", "freshness_ms"] as const),
];

export function toDeliveryRow({ id, alertSeq, planned, purpose, at, insteadOf }: NewDelivery) {
  const isMuted = planned.state === "muted";
  return {
    id,
    alert_seq: alertSeq,
    purpose,
    ...rowOf(planned, plannedColumns),
    instead_of: insteadOf ?? null,
    created_at: at,
    due_at: isMuted ? null : planned.dueAt,
    finished_at: isMuted ? at : null,
    attempts: 0,
    ambiguous: 0,
    form: "rich",
    progress: '{"refs":[]}',
    digest_id: null,
    damped: planned.damped === undefined ? null : JSON.stringify(planned.damped),
    extras: planned.extras === undefined ? null : JSON.stringify(planned.extras),
    group_name: planned.groupName ?? null,
    fallback_to: planned.fallback?.to ?? null,
    fallback_at: isMuted ? null : (planned.fallback?.at ?? null),
    claim_fence: 0,
    mute_id: planned.mutedBy ?? null,
  } satisfies InsertedRow<"deliveries">;
}

/** Makes deliveries, and gives their positions in the same order. */
export function createMaking(sql: Dialect) {
  const insert = sql.insertion("deliveries");
  const find = sql.statement(
    { ids: "text[]" },
    `SELECT seq, id FROM deliveries WHERE id ${sql.isOneOf(":ids")}`,
    (row: Pick<Row<"deliveries">, "seq" | "id">) => row,
  );
  return async (tx: Tx, deliveries: readonly NewDelivery[]): Promise<MadeDelivery[]> => {
    if (deliveries.length === 0) return [];
    for (const { planned } of deliveries) tx.notes.due.add(planned.destination);
    const ids = deliveries.map(({ id }) => id);
    const [, , made] = await Promise.all([
      tx.insert(insert, deliveries.map(toDeliveryRow), {}),
      tx.changed([...new Set(deliveries.map(({ alertSeq }) => alertSeq))]),
      tx.run(find, { ids }),
    ]);
    const seqOf = new Map(made.map(({ id, seq }) => [id, seq]));
    return ids.map((id) => ({ id, seq: seqOf.get(id) as number }));
  };
}
