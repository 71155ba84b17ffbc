import { orphanReason } from "../../core/delivery.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import { type DeliveryRow, deliveryColumnsWith, toDueDelivery } from "../rows.ts";
import { notedChanges } from "./alert-changes.ts";
import type { Database } from "./database.ts";
import { heldLane, isHeld, underFence } from "./fence.ts";

/** The destinations of one kind of deliveries, each found by one look into an index that begins with them. */
const destinationsOf = (name: string, kind: string) => `
  ${name} AS (
    (SELECT destination FROM deliveries WHERE ${kind} ORDER BY destination LIMIT 1)
    UNION ALL
    SELECT next.destination FROM ${name} CROSS JOIN LATERAL (
      SELECT destination FROM deliveries WHERE ${kind} AND deliveries.destination > ${name}.destination
      ORDER BY destination LIMIT 1) AS next)`;

const usual = "due_at IS NOT NULL AND purpose <> 'bulk_resend'";
const bulk = "due_at IS NOT NULL AND purpose = 'bulk_resend'";
const claimed = "claim_token IS NOT NULL";

/**
 * Destinations that something waits for, or is being sent to, that are not among `known`, and that no other relay sends to,
 * whose configuration may be newer. Parts of a WITH RECURSIVE; both parameters are SQL.
 */
const orphaned = (known: string, relay: string) => `
  ${destinationsOf("usual", usual)}, ${destinationsOf("bulk", bulk)},
  orphaned AS MATERIALIZED (
    SELECT destination FROM (
      SELECT destination FROM usual UNION SELECT destination FROM bulk
      UNION SELECT destination FROM deliveries WHERE ${claimed}) AS busy
    WHERE destination <> ALL (${known}::text[]) AND NOT EXISTS (
      SELECT FROM lanes WHERE busy.destination = ANY (destinations) AND lease_until > clock_timestamp()
        AND relay IS DISTINCT FROM ${relay}))`;

/** What waits for destinations that no configuration has. */
export function createOrphans(
  database: Database,
  { relayName }: { relayName: string },
): Pick<Dispatch, "listOrphans" | "failOrphans"> {
  return {
    async listOrphans(known, limit) {
      const first = (kind: string) => `
        SELECT seq, destination, purpose, due_at FROM orphaned CROSS JOIN LATERAL (
          SELECT d.seq, d.purpose, d.due_at FROM deliveries d WHERE d.destination = orphaned.destination AND ${kind}
          ORDER BY due_at, seq LIMIT $2) AS one`;
      const { rows } = await database.single.query<DeliveryRow>(
        `WITH RECURSIVE ${orphaned("$1", "$3")},
         picked AS MATERIALIZED (
           SELECT * FROM (${first(usual)} UNION ALL ${first(bulk)}) AS kinds
           ORDER BY destination, purpose = 'bulk_resend', due_at, seq LIMIT $2)
         SELECT ${deliveryColumnsWith("a.status")} FROM picked p JOIN deliveries d ON d.seq = p.seq
         JOIN alerts a ON a.seq = d.alert_seq ORDER BY d.destination, p.purpose = 'bulk_resend', d.due_at, d.seq`,
        [known, limit, relayName],
        "list_orphans",
      );
      return rows.map(toDueDelivery);
    },

    failOrphans: (lane, known, at) =>
      database.transaction(async (tx) => {
        const all = (kind: string) =>
          `SELECT d.seq FROM orphaned JOIN deliveries d ON d.destination = orphaned.destination WHERE ${kind}`;
        const { rowCount } = await tx.query(
          `WITH RECURSIVE ${heldLane}, ${orphaned("$3", "$6")},
           orphans AS MATERIALIZED (
             SELECT seq FROM deliveries WHERE ${underFence}
               AND seq = ANY (ARRAY(${all(usual)} UNION ALL ${all(bulk)} UNION ALL ${all(claimed)}))
             ORDER BY seq FOR NO KEY UPDATE),
           failed AS (
             UPDATE deliveries SET state = 'failed', reason = $4, due_at = NULL, finished_at = $5, claim_token = NULL,
               lease_until = NULL, fallback_at = NULL
             WHERE seq = ANY (ARRAY(SELECT seq FROM orphans)) RETURNING seq, alert_seq),
           ${notedChanges("SELECT alert_seq FROM failed")}
           SELECT FROM failed`,
          [lane.group, lane.fence, known, orphanReason, at, relayName],
          "fail_orphans",
        );
        if (rowCount > 0) tx.notes.changed = true;
        return rowCount > 0 || (await isHeld(tx, lane)) ? rowCount : "lost";
      }),
  };
}
