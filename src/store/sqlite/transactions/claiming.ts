import type { ClaimedDelivery } from "../../../core/delivery-job.ts";
import type { ClaimedTogether, ClaimInput } from "../../../core/ports/dispatch.ts";
import type { LaneFence } from "../../../core/ports/lanes.ts";
import { claimedColumns, type DeliveryRow, toClaimedDelivery } from "../../rows.ts";
import type { TransactionContext } from "./context.ts";
import { underFence } from "./lanes.ts";
import type { StateKeeping } from "./state-keeping.ts";

export type Claiming = ReturnType<typeof createClaiming>;

/** T3, for a lane that looks for what is due, and for routing that claims what it has just made. */
export function createClaiming(
  { db, changed, now }: TransactionContext,
  { findThread }: Pick<StateKeeping, "findThread">,
) {
  const claim = db.prepare(
    `UPDATE deliveries SET state = 'sending', claim_token = ?, claim_fence = ?, lease_until = ?, due_at = NULL,
       digest_id = ?
     WHERE seq = ? AND due_at IS NOT NULL AND ${underFence}`,
  );
  const claimed = db.prepare<[number], Omit<DeliveryRow, "status"> & { facts: string }>(
    `SELECT ${claimedColumns} FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq WHERE d.seq = ?`,
  );
  function take(
    { group, fence }: LaneFence,
    { token, deliverySeqs, leaseMs, digestId }: ClaimInput,
  ): ClaimedDelivery[] {
    const leaseUntil = now() + leaseMs;
    const taken: ClaimedDelivery[] = [];
    for (const seq of deliverySeqs) {
      if (claim.run(token, fence, leaseUntil, digestId ?? null, seq, group, fence).changes === 0) continue;
      const row = claimed.get(seq);
      if (row === undefined) continue;
      taken.push(toClaimedDelivery(row));
      changed.add(row.alert_seq);
    }
    return taken;
  }

  function takeTogether(lane: LaneFence, input: ClaimInput): ClaimedTogether | undefined {
    const deliveries = take(lane, input);
    const [first] = deliveries;
    if (first === undefined) return undefined;
    const thread = findThread(first.destination, first.recipient, first.alertKey);
    return { token: input.token, deliveries, thread };
  }

  return { take, takeTogether };
}
