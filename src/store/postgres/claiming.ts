import type { ClaimedDelivery, Thread } from "../../core/delivery-job.ts";
import type { ClaimedTogether, ClaimInput, Dispatch } from "../../core/ports/dispatch.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import { claimedColumns, type DeliveryRow, toClaimedDelivery, toThread } from "../rows.ts";
import type { Row } from "../tables.ts";
import type { SharedTransactions } from "../transactions/index.ts";
import { notedChanges } from "./alert-changes.ts";
import type { Database, Transaction } from "./database.ts";
import { heldLane, heldLanes, isHeld, toHeldLanes, underFence } from "./fence.ts";
import { createSharing } from "./sharing.ts";
import { threadColumns } from "./threads.ts";
import { toTx } from "./tx.ts";

/** With what was sent before of its alert key, under names of its own; null in a chat that has had none. */
type ClaimedRow = Omit<DeliveryRow, "status" | "claim_token"> & { facts: string; claim_token: string } & {
  [Name in keyof Row<"threads"> as `thread_${Name}`]: Row<"threads">[Name] | null;
};
const threadNames = threadColumns.map((name) => `t.${name} AS thread_${name}`).join(", ");

interface RunCall {
  lane: LaneFence;
  claims: ClaimInput[];
}

/** T3: whoever claims a delivery first has it. */
export function createClaiming(
  database: Database,
  { savePaces }: Pick<SharedTransactions, "savePaces">,
): Pick<Dispatch, "claimDeliveries" | "claimRun" | "releaseClaim"> {
  const shareRun = createSharing<RunCall, ClaimedTogether[] | "lost">({
    sizeOf: ({ claims }) => claims.reduce((sum, { deliverySeqs }) => sum + deliverySeqs.length, 0),
    async together(calls) {
      const taken = await database.statement((tx) => takeRuns(tx, calls, "free"));
      return taken.map((run) => (run.length > 0 ? run : undefined));
    },
    async alone(call) {
      const [run = []] = await database.statement((tx) => takeRuns(tx, [call], "all"));
      return run.length > 0 || (await isHeld(database.single, call.lane)) ? run : "lost";
    },
  });

  return {
    claimDeliveries: (lane, input, paces) =>
      database.transaction(async (tx) => {
        const [rows] = await Promise.all([
          take(tx, [{ lane, claims: [input] }], "all"),
          savePaces(toTx(tx), lane, paces),
        ]);
        return rows.length > 0 || (await isHeld(tx, lane)) ? rows.map(toClaimed) : "lost";
      }),

    claimRun: (lane, claims) => shareRun({ lane, claims }),

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
           ${notedChanges("SELECT alert_seq FROM released")}
           SELECT FROM released`,
          [group, fence, token, dueAt],
          "release_claim",
        );
        if (rowCount > 0) tx.notes.changed = true;
        return rowCount > 0 || (await isHeld(tx, { group, fence })) ? "done" : "lost";
      }),
  };
}

const toClaimed = (row: ClaimedRow): ClaimedDelivery => toClaimedDelivery(row);

function toThreadOf(row: ClaimedRow): Thread | undefined {
  if (row.thread_alert_key === null) return undefined;
  return toThread(
    Object.fromEntries(threadColumns.map((name) => [name, row[`thread_${name}`]])) as unknown as Row<"threads">,
  );
}

/** What each call has taken, in the order asked. */
async function takeRuns(
  tx: Transaction,
  calls: readonly RunCall[],
  which: "all" | "free",
): Promise<ClaimedTogether[][]> {
  const rows = await take(tx, calls, which);
  const taken = new Map<string, ClaimedRow[]>();
  for (const row of rows) {
    const known = taken.get(row.claim_token);
    if (known === undefined) taken.set(row.claim_token, [row]);
    else known.push(row);
  }
  return calls.map(({ claims }) =>
    claims.flatMap(({ token }): ClaimedTogether[] => {
      const [first, ...others] = taken.get(token) ?? [];
      if (first === undefined) return [];
      return [{ token, deliveries: [first, ...others].map(toClaimed), thread: toThreadOf(first) }];
    }),
  );
}

/**
 * In the order asked. What stands in several claims belongs to the first. `free`: calls whose lane is not held, or is about to
 * be another's, take nothing.
 */
async function take(tx: Transaction, calls: readonly RunCall[], which: "all" | "free"): Promise<ClaimedRow[]> {
  const asked = new Map<number, { claim: ClaimInput; fence: number }>();
  for (const { lane, claims } of calls) {
    for (const claim of claims) {
      for (const seq of claim.deliverySeqs) if (!asked.has(seq)) asked.set(seq, { claim, fence: lane.fence });
    }
  }
  if (asked.size === 0) return [];
  const given = [...asked.values()];
  const { rows } = await tx.query<ClaimedRow>(
    `WITH ${heldLanes(which)},
     asked AS MATERIALIZED (
       SELECT * FROM unnest($3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[]) WITH ORDINALITY
         AS given (seq, token, lease_ms, digest_id, fence, place)
       WHERE fence IN (SELECT fence FROM held)),
     free AS MATERIALIZED (
       SELECT seq FROM deliveries WHERE seq = ANY (ARRAY(SELECT seq FROM asked)) AND due_at IS NOT NULL
       ORDER BY seq FOR NO KEY UPDATE),
     taken AS (
       UPDATE deliveries d SET state = 'sending', claim_token = asked.token, claim_fence = asked.fence, due_at = NULL,
         lease_until = clock_timestamp() + asked.lease_ms * interval '1 millisecond', digest_id = asked.digest_id
       FROM asked WHERE d.seq = asked.seq AND d.seq = ANY (ARRAY(SELECT seq FROM free)) AND d.due_at IS NOT NULL
       RETURNING d.*, asked.place),
     ${notedChanges("SELECT alert_seq FROM taken")}
     SELECT ${claimedColumns}, ${threadNames} FROM taken d
     JOIN alerts a ON a.seq = d.alert_seq AND a.seq = ANY (ARRAY(SELECT alert_seq FROM taken))
     LEFT JOIN LATERAL (
       SELECT * FROM threads t WHERE t.destination = d.destination AND t.recipient = d.recipient AND t.alert_key = a.alert_key
       LIMIT 1) AS t ON true
     ORDER BY d.place`,
    [
      ...toHeldLanes(calls.map(({ lane }) => lane)),
      [...asked.keys()],
      given.map(({ claim: { token } }) => token),
      given.map(({ claim: { leaseMs } }) => leaseMs),
      given.map(({ claim: { digestId } }) => digestId ?? null),
      given.map(({ fence }) => fence),
    ],
    `claim_deliveries_${which}`,
  );
  if (rows.length > 0) tx.notes.changed = true;
  return rows;
}
