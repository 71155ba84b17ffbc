import { deliveryStates } from "../../core/delivery.ts";
import type { DestinationCounts, Dispatch } from "../../core/ports/dispatch.ts";
import type { Sql } from "./database.ts";

type Methods = "countByDestination" | "countNotices";

/** Deliveries of one kind, to know how long the oldest of them waits: those that are due first, or are of the oldest alerts. */
const mostLookedAt = 500;
const waiting = [
  "due_at IS NOT NULL AND purpose <> 'bulk_resend' ORDER BY due_at, seq",
  "due_at IS NOT NULL AND purpose = 'bulk_resend' ORDER BY due_at, seq",
  "state = 'held' AND due_at IS NOT NULL ORDER BY due_at, seq",
  "state = 'queued' ORDER BY alert_seq",
  "state = 'waiting' ORDER BY alert_seq",
].map(
  (kind) => `(SELECT created_at FROM deliveries WHERE destination = one.destination AND ${kind} LIMIT ${mostLookedAt})`,
);

const newestUnsent = (state: string) => `(
  SELECT coalesce(finished_at, created_at) FROM deliveries
  WHERE destination = one.destination AND state = '${state}' AND resent_by IS NULL ORDER BY alert_seq DESC, seq DESC LIMIT 1)`;

const resent = "destination = one.destination AND purpose = 'bulk_resend' AND resent_by IS NULL";
const states = deliveryStates.map((state) => `'${state}'`).join();

interface CountRow {
  destination: string;
  counts: DestinationCounts["counts"];
  oldest: number | null;
  held: number;
  held_until: number | null;
  failed_at: number | null;
  resent_since: number | null;
  resent_made: number;
  resent_arrived: number;
}

/** What waits at each destination, and how its messages went. */
export function createStateKeeping(read: Sql): Pick<Dispatch, Methods> {
  return {
    async countByDestination() {
      const { rows } = await read.query<CountRow>(
        `WITH counted AS (
           SELECT name AS destination, part AS state, sum(count) AS count FROM tallies WHERE kind = 'delivery'
           GROUP BY name, part HAVING sum(count) > 0),
         one AS (SELECT destination, json_object_agg(state, count) AS counts FROM counted GROUP BY destination)
         SELECT one.destination, one.counts,
           (SELECT min(created_at) FROM (${waiting.join(" UNION ALL ")}) AS waiting) AS oldest,
           held.count AS held, held.until AS held_until,
           greatest(${newestUnsent("failed")}, ${newestUnsent("expired")}) AS failed_at,
           resending.since AS resent_since, resends.made AS resent_made, resends.arrived AS resent_arrived
         FROM one CROSS JOIN LATERAL (
           SELECT count(*) AS count, min(due_at) AS until FROM deliveries
           WHERE destination = one.destination AND state = 'held' AND due_at IS NOT NULL) AS held
         CROSS JOIN LATERAL (
           SELECT min(created_at) AS since FROM deliveries
           WHERE ${resent} AND state IN ('queued', 'waiting', 'sending')) AS resending
         CROSS JOIN LATERAL (
           SELECT count(*) AS made, count(*) FILTER (WHERE state IN ('sent', 'digested')) AS arrived FROM deliveries
           WHERE ${resent} AND state IN (${states}) AND created_at >= resending.since) AS resends`,
        [],
        "count_by_destination",
      );
      return rows.map(({ destination, counts, oldest, held, held_until: until, failed_at: lastFailedAt, ...row }) => ({
        destination,
        counts,
        ...(oldest !== null && { oldestWaitingAt: oldest }),
        ...(until !== null && { heldByQuietHours: { count: held, until } }),
        ...(lastFailedAt !== null && { lastFailedAt }),
        ...(row.resent_since !== null && {
          resending: { made: row.resent_made, arrived: row.resent_arrived, since: row.resent_since },
        }),
      }));
    },

    async countNotices(destination) {
      const { rows } = await read.query<{ waiting: number; failed: number }>(
        `SELECT
           (SELECT count(*) FROM deliveries WHERE destination = $1 AND due_at IS NOT NULL
              AND purpose IN ('resend', 'test', 'notice') AND purpose = 'notice') AS waiting,
           (SELECT count(*) FROM deliveries WHERE destination = $1 AND state IN ('failed', 'expired')
              AND resent_by IS NULL AND purpose = 'notice') AS failed`,
        [destination],
        "count_notices",
      );
      return rows[0] ?? { waiting: 0, failed: 0 };
    },
  };
}
