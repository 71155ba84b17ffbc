import type { ClaimedDelivery } from "../../core/delivery-job.ts";
import type { ClaimedTogether, ClaimInput, Dispatch } from "../../core/ports/dispatch.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import { claimedColumns, type DeliveryRow, type ThreadRow, toClaimedDelivery, toThread } from "../rows.ts";
import { changedAlerts } from "./alert-changes.ts";
import type { Database, Transaction } from "./database.ts";
import { heldLane, isHeld, underFence } from "./fence.ts";
import { savePaces } from "./paces.ts";
import { threadColumns } from "./threads.ts";

type ClaimedRow = Omit<DeliveryRow, "status" | "claim_token"> & { facts: string; claim_token: string };

const alertColumns = "seq, id, origin, received_at, alert_key, severity, facts";

/** T3: whoever claims a delivery first has it. */
export function createClaiming(database: Database): Pick<Dispatch, "claimDeliveries" | "claimRun" | "releaseClaim"> {
  return {
    claimDeliveries: (lane, input, paces) =>
      database.transaction(async (tx) => {
        const [rows] = await Promise.all([take(tx, lane, [input]), savePaces(tx, lane, paces)]);
        return rows.length > 0 || (await isHeld(tx, lane)) ? rows.map(toClaimed) : "lost";
      }),

    claimRun: (lane, claims) =>
      database.transaction(async (tx) => {
        const [rows, threads] = await Promise.all([take(tx, lane, claims), findThreadsOf(tx, claims)]);
        if (rows.length === 0 && !(await isHeld(tx, lane))) return "lost";
        const taken = new Map<string, ClaimedRow[]>();
        for (const row of rows) taken.set(row.claim_token, [...(taken.get(row.claim_token) ?? []), row]);
        return [...taken].map(([token, [first, ...others]]): ClaimedTogether => {
          const deliveries = [first as ClaimedRow, ...others].map(toClaimed);
          return { token, deliveries, thread: threads.get((first as ClaimedRow).seq) };
        });
      }),

    releaseClaim: ({ group, fence }, token, dueAt) =>
      database.transaction(async (tx) => {
        const { rowCount } = await tx.query(
          `WITH ${heldLane},
           free AS MATERIALIZED (
             SELECT seq FROM deliveries WHERE claim_token = $3 AND ${underFence} ORDER BY seq FOR NO KEY UPDATE),
           released AS (
             UPDATE deliveries SET state = CASE WHEN attempts > 0 THEN 'waiting' ELSE 'queued' END, due_at = $4,
               claim_token = NULL, lease_until = NULL
             WHERE seq = ANY (ARRAY(SELECT seq FROM free)) AND claim_token = $3 RETURNING alert_seq),
           ${changedAlerts("SELECT alert_seq FROM released")}
           SELECT FROM changed`,
          [group, fence, token, dueAt],
          "release_claim",
        );
        if (rowCount > 0) tx.notes.changed = true;
        return rowCount > 0 || (await isHeld(tx, { group, fence })) ? "done" : "lost";
      }),
  };
}

const toClaimed = (row: ClaimedRow): ClaimedDelivery => toClaimedDelivery(row);

/** In the order asked. What stands in several claims belongs to the first. */
async function take(tx: Transaction, { group, fence }: LaneFence, claims: ClaimInput[]): Promise<ClaimedRow[]> {
  const asked = new Map<number, ClaimInput>();
  for (const claim of claims) {
    for (const seq of claim.deliverySeqs) if (!asked.has(seq)) asked.set(seq, claim);
  }
  if (asked.size === 0) return [];
  const given = [...asked.values()];
  const { rows } = await tx.query<ClaimedRow>(
    `WITH ${heldLane},
     free AS MATERIALIZED (
       SELECT seq FROM deliveries WHERE seq = ANY($3::bigint[]) AND due_at IS NOT NULL AND ${underFence}
       ORDER BY seq FOR NO KEY UPDATE),
     taken AS (
       UPDATE deliveries d SET state = 'sending', claim_token = asked.token, claim_fence = $2, due_at = NULL,
         lease_until = clock_timestamp() + asked.lease_ms * interval '1 millisecond', digest_id = asked.digest_id
       FROM unnest($3::bigint[], $4::text[], $5::bigint[], $6::text[]) WITH ORDINALITY
         AS asked (seq, token, lease_ms, digest_id, place)
       WHERE d.seq = asked.seq AND d.seq = ANY($3::bigint[]) AND d.due_at IS NOT NULL AND (SELECT count(*) FROM free) > 0
       RETURNING d.*, asked.place),
     ${changedAlerts("SELECT alert_seq FROM taken", alertColumns)}
     SELECT ${claimedColumns} FROM taken d JOIN changed a ON a.seq = d.alert_seq ORDER BY d.place`,
    [
      group,
      fence,
      [...asked.keys()],
      given.map(({ token }) => token),
      given.map(({ leaseMs }) => leaseMs),
      given.map(({ digestId }) => digestId ?? null),
    ],
    "claim_deliveries",
  );
  if (rows.length > 0) tx.notes.changed = true;
  return rows;
}

/** What was sent before of the alert key of each delivery. */
async function findThreadsOf(tx: Transaction, claims: ClaimInput[]) {
  const { rows } = await tx.query<ThreadRow & { delivery_seq: number }>(
    `WITH asked AS MATERIALIZED (
       SELECT seq, destination, recipient, (SELECT alert_key FROM alerts a WHERE a.seq = d.alert_seq) AS alert_key
       FROM deliveries d WHERE seq = ANY($1::bigint[]))
     SELECT asked.seq AS delivery_seq, ${threadColumns} FROM asked CROSS JOIN LATERAL (
       SELECT * FROM threads t
       WHERE t.destination = asked.destination AND t.recipient = asked.recipient AND t.alert_key = asked.alert_key
       LIMIT 1) AS t`,
    [claims.flatMap(({ deliverySeqs }) => deliverySeqs)],
    "find_threads_of_deliveries",
  );
  return new Map(rows.map((row) => [row.delivery_seq, toThread(row)]));
}
