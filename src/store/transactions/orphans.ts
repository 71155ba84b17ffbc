import { orphanReason } from "../../core/delivery.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import { deliveryColumnsWith, toDueDelivery } from "../rows.ts";
import type { Dialect, InTx, Tx } from "../tx.ts";
import { type Fences, type Self, underFence } from "./lanes.ts";

const claimed = "state = 'sending' AND claim_token IS NOT NULL";

/** The destinations of one kind of deliveries, each found by one step in an index that begins with the destination. */
const destinationsOf = (name: string, kind: string) => `
  ${name} AS (
    (SELECT destination FROM deliveries WHERE ${kind} ORDER BY destination LIMIT 1)
    UNION ALL
    SELECT next.destination FROM ${name} CROSS JOIN LATERAL (
      SELECT destination FROM deliveries WHERE ${kind} AND deliveries.destination > ${name}.destination
      ORDER BY destination LIMIT 1) AS next)`;

/** Deliveries that wait for destinations that no configuration has. */
export function createOrphans(sql: Dialect, { isHeld, relayName }: Self & Fences) {
  const dueOf = (isBulk: boolean) => `due_at IS NOT NULL AND ${sql.isBulk(isBulk)}`;
  const [usual, bulk] = [dueOf(false), dueOf(true)];
  /** Another relay may have a newer configuration that has the destination. */
  const isNotElsewhere = sql.isShared
    ? `destination NOT IN (
         SELECT unnest(destinations) FROM lanes WHERE lease_until > clock_timestamp() AND relay IS DISTINCT FROM :relay)`
    : "true";
  const listBusy = sql.statement(
    { relay: "text" },
    {
      // Few rows are unfinished, and SQLite has no other way to the distinct names of an index.
      sqlite: `SELECT destination FROM deliveries INDEXED BY deliveries_due WHERE due_at IS NOT NULL
        UNION SELECT destination FROM deliveries INDEXED BY deliveries_by_state WHERE ${claimed}`,
      postgres: `WITH RECURSIVE ${destinationsOf("usual", usual)}, ${destinationsOf("bulk", bulk)}
        SELECT destination FROM (
          SELECT destination FROM usual UNION SELECT destination FROM bulk
          UNION SELECT destination FROM deliveries WHERE ${claimed}) AS busy
        WHERE ${isNotElsewhere} ORDER BY destination`,
    },
    ({ destination }: { destination: string }) => destination,
  );
  const firstOf = (kind: string) =>
    sql.statement(
      { destination: "text", limit: "int8" },
      `SELECT ${deliveryColumnsWith(sql.statusOf("a"))} FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
       WHERE d.destination = :destination AND ${kind} ORDER BY d.due_at, d.seq ${sql.limit(":limit")}`,
      toDueDelivery,
    );
  const firstUsual = firstOf(usual);
  const firstBulk = firstOf(bulk);
  const fence = underFence(sql);
  const unfinished = (index: string, kind: string) =>
    `SELECT seq FROM deliveries ${sql.indexedBy(index)} WHERE destination ${sql.isOneOf(":destinations")} AND ${kind}`;
  const fail = sql.statement(
    { destinations: "text[]", reason: "text", at: "int8", relay: "text", ...fence.given },
    `WITH orphans AS MATERIALIZED (
       SELECT seq FROM deliveries
       WHERE seq ${sql.isIn(
         [
           unfinished("deliveries_due", usual),
           unfinished("deliveries_due", bulk),
           unfinished("deliveries_by_state", claimed),
         ].join(" UNION ALL "),
       )} AND ${isNotElsewhere} AND ${fence.text} ${sql.forUpdate("seq")})
     UPDATE deliveries SET state = 'failed', reason = :reason, due_at = NULL, finished_at = :at, claim_token = NULL,
       lease_until = NULL, fallback_at = NULL
     WHERE seq ${sql.isIn("SELECT seq FROM orphans")} RETURNING alert_seq`,
    ({ alert_seq }: { alert_seq: number }) => alert_seq,
  );

  async function listUnknown(tx: Tx, known: readonly string[]): Promise<string[]> {
    const busy = await tx.run(listBusy, { relay: relayName });
    return busy.filter((destination) => !known.includes(destination));
  }

  return {
    async listOrphans(tx, known, limit) {
      const asked = (await listUnknown(tx, known)).map((destination) => ({ destination, limit }));
      const [first, resent] = await Promise.all([tx.look(firstUsual, asked), tx.look(firstBulk, asked)]);
      return asked.flatMap((_, index) => [...(first[index] ?? []), ...(resent[index] ?? [])]).slice(0, limit);
    },

    async failOrphans(tx, lane, known, at) {
      const destinations = await listUnknown(tx, known);
      const given = { destinations, reason: orphanReason, at, relay: relayName, ...lane };
      const failed = destinations.length === 0 ? [] : await tx.run(fail, given);
      await tx.changed([...new Set(failed)]);
      return failed.length > 0 || (await isHeld(tx, lane)) ? failed.length : "lost";
    },
  } satisfies InTx<Dispatch, "listOrphans" | "failOrphans">;
}
