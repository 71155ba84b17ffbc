import type { AlertFacts } from "../../core/alert.ts";
import type { ClaimedDelivery } from "../../core/delivery-job.ts";
import type { ClaimedTogether, ClaimInput, Dispatch } from "../../core/ports/dispatch.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import { claimedColumns, type DeliveryRow, toClaimedDelivery, toThread } from "../rows.ts";
import { columnNames, type Row } from "../tables.ts";
import type { Dialect, InTx, Joint, StepItem, Tx, WhichLanes } from "../tx.ts";
import { noteHold } from "./holding.ts";
import type { Fences } from "./lanes.ts";

interface ClaimedRow extends Omit<DeliveryRow, "status"> {
  facts: string;
  /** The row of its thread as JSON. Null when nothing was sent there of its alert key. */
  thread: string | null;
}

type Claimed = Pick<ClaimedTogether, "thread"> & { delivery: ClaimedDelivery };

export type ClaimCall = [lane: LaneFence, claims: readonly ClaimInput[]];

const threadColumns = Object.fromEntries(columnNames("threads").map((name) => [name, `t.${name}`]));
const sameKey = "t.destination = d.destination AND t.recipient = d.recipient AND t.alert_key = a.alert_key";

/** T3: the first claim of a delivery gets it. `due_at` is set exactly while a delivery may be claimed. */
export function createClaiming(sql: Dialect, { isHeld, savePaces }: Fences & InTx<Dispatch, "savePaces">) {
  const take = sql.step({
    given: { token: "text", lease_ms: "int8", digest_id: "text" },
    set: `state = 'sending', claim_token = :token, claim_fence = :fence, due_at = NULL, lease_until = ${sql.inMs(":lease_ms")},
      digest_id = :digest_id, ${noteHold()}`,
    where: "due_at IS NOT NULL",
    find: {
      columns: `${claimedColumns}, CASE WHEN t.alert_key IS NOT NULL THEN ${sql.jsonOf(threadColumns)} END AS thread`,
      joins: {
        sqlite: `JOIN alerts a ON a.seq = d.alert_seq LEFT JOIN threads t ON ${sameKey}`,
        // Each alert is looked up by itself: a plan from the time of empty tables would read them from end to end.
        postgres: `JOIN alerts a ON a.seq = d.alert_seq AND a.seq = ANY(ARRAY(SELECT alert_seq FROM changed))
          LEFT JOIN LATERAL (SELECT * FROM threads t WHERE ${sameKey} LIMIT 1) AS t ON true`,
      },
      read: (row: ClaimedRow): Claimed => ({
        delivery: toClaimedDelivery(row, JSON.parse(row.facts) as AlertFacts),
        thread: row.thread === null ? undefined : toThread(JSON.parse(row.thread) as Row<"threads">),
      }),
    },
  });

  /** Claims in the order asked. A delivery that several claims name belongs to the first. */
  async function claim(tx: Tx, calls: readonly ClaimCall[], which: WhichLanes): Promise<ClaimedTogether[][]> {
    const asked = new Map<number, StepItem<(typeof take)["given"]>>();
    for (const [{ group, fence }, claims] of calls) {
      for (const { token, deliverySeqs, leaseMs, digestId = null } of claims) {
        for (const seq of deliverySeqs) {
          if (!asked.has(seq)) asked.set(seq, { seq, group, fence, token, lease_ms: leaseMs, digest_id: digestId });
        }
      }
    }
    const items = [...asked.values()];
    const stepped = await tx.step(take, items, which);
    const together = new Map<string | null, ClaimedTogether>();
    items.forEach(({ token }, index) => {
      const found = stepped[index]?.found;
      if (found === undefined || token === null) return;
      const known = together.get(token);
      if (known === undefined) together.set(token, { token, deliveries: [found.delivery], thread: found.thread });
      else known.deliveries.push(found.delivery);
    });
    return calls.map(([, claims]) => claims.flatMap(({ token }) => together.get(token) ?? []));
  }

  const claimRun: Joint<ClaimCall, ClaimedTogether[] | "lost"> = {
    mayShare: () => true,
    countDeliveries: ([, claims]) => claims.reduce((sum, { deliverySeqs }) => sum + deliverySeqs.length, 0),
    isOneStatement: () => true,
    async run(tx, calls, which) {
      const runs = await claim(tx, calls, which);
      return runs.map((run) => (run.length > 0 ? run : undefined));
    },
    answerOther: async (tx, [lane]) => ((await isHeld(tx, lane)) ? [] : "lost"),
  };

  return {
    claimRun,
    async claimDeliveries(tx, lane, input, paces) {
      const [runs] = await Promise.all([claim(tx, [[lane, [input]]], "all"), savePaces(tx, lane, paces)]);
      const [taken] = runs.flat();
      if (taken !== undefined) return taken.deliveries;
      return (await isHeld(tx, lane)) ? [] : "lost";
    },
  } satisfies InTx<Dispatch, "claimDeliveries"> & { claimRun: typeof claimRun };
}
