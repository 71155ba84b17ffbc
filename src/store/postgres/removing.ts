import type { Removal, Retention } from "../../core/ports/retention.ts";
import type { RemoveOld } from "../transactions/index.ts";
import type { Database, Transaction } from "./database.ts";
import { toTx } from "./tx.ts";

/** The number of the remover's advisory lock: alerts of one request must not go in two transactions at once. */
const lock = 8_072_401_174;

/** What an alert, a delivery and an attempt take next to the body of the request, with their indexes. Bytes, measured. */
const alertBytes = 2_600;
const deliveryBytes = 1_400;

/** Has one relay at a time remove what is old; the database uses the room again by itself. */
export function createRemoving(
  database: Database,
  removeOld: RemoveOld,
): Pick<Retention, "removeAlerts" | "removesBesideOthers"> {
  return {
    removesBesideOthers: true,
    async removeAlerts(step): Promise<Removal> {
      const startedAt = performance.now();
      const done = await database.transaction(async (tx) => {
        const { rows } = await tx.query<{ is_mine: boolean }>(`SELECT pg_try_advisory_xact_lock(${lock}) AS is_mine`);
        const { removed, next } =
          rows[0]?.is_mine === true ? await removeOld(toTx(tx, tx.notes), step) : { removed: 0 };
        return { removed, ...(next !== undefined && { next }), ...(await measure(tx)) };
      });
      return { ...done, tookMs: performance.now() - startedAt };
    },
  };
}

async function measure(tx: Transaction): Promise<Pick<Removal, "accepted" | "usedBytes">> {
  const { rows } = await tx.query<{ accepted: number; used: number }>(
    `SELECT coalesce((SELECT max(seq) FROM alerts), 0) AS accepted,
       coalesce(sum(CASE kind WHEN 'bytes' THEN count WHEN 'delivery' THEN count * ${deliveryBytes}
         WHEN 'accepted' THEN count * ${alertBytes} WHEN 'removed' THEN -count * ${alertBytes} END), 0) AS used
     FROM tallies WHERE kind IN ('bytes', 'delivery', 'accepted', 'removed')`,
  );
  const { accepted = 0, used: usedBytes = 0 } = rows[0] ?? {};
  return { accepted, usedBytes };
}
