import { deliveryStates } from "../../../core/delivery.ts";
import type { DestinationCounts, Resending } from "../../../core/ports/dispatch.ts";
import type { TransactionContext } from "./context.ts";

/** Deliveries of one kind, to know how long the oldest of them waits. */
const mostLookedAt = 500;

/** What waits at each destination, and how its messages went. */
export function createStateKeeping({ db }: Pick<TransactionContext, "db">) {
  const counts = db.prepare<[], { destination: string; state: string; count: number }>(
    "SELECT destination, state, count FROM delivery_counts WHERE count > 0",
  );
  // The indexes are named where SQLite, which has no statistics here, might take one that holds finished deliveries too.
  const firstWaiting = [
    "deliveries_due WHERE destination = ? AND (purpose = 'bulk_resend') = 0 AND due_at IS NOT NULL ORDER BY due_at, seq",
    "deliveries_due WHERE destination = ? AND (purpose = 'bulk_resend') = 1 AND due_at IS NOT NULL ORDER BY due_at, seq",
    "deliveries_held WHERE destination = ? AND state = 'held' AND due_at IS NOT NULL ORDER BY due_at, seq",
    "deliveries_by_destination_state WHERE destination = ? AND state = 'queued' ORDER BY alert_seq",
    "deliveries_by_destination_state WHERE destination = ? AND state = 'waiting' ORDER BY alert_seq",
  ].map((rows) =>
    db
      .prepare<[string], number | null>(
        `SELECT min(created_at) FROM (SELECT created_at FROM deliveries INDEXED BY ${rows} LIMIT ${mostLookedAt})`,
      )
      .pluck(),
  );
  const heldByQuietHours = db.prepare<[string], { count: number; until: number | null }>(
    `SELECT count(*) AS count, min(due_at) AS until FROM deliveries INDEXED BY deliveries_held
     WHERE destination = ? AND state = 'held' AND due_at IS NOT NULL`,
  );
  const underWay = "('queued', 'waiting', 'sending')";
  const firstResent = db
    .prepare<[string], number | null>(
      `SELECT min(created_at) FROM deliveries INDEXED BY deliveries_resends
       WHERE destination = ? AND state IN ${underWay} AND purpose = 'bulk_resend' AND resent_by IS NULL`,
    )
    .pluck();
  const resent = db.prepare<[string, number], { made: number; arrived: number }>(
    `SELECT count(*) AS made, coalesce(sum(state IN ('sent', 'digested')), 0) AS arrived
     FROM deliveries INDEXED BY deliveries_resends
     WHERE destination = ? AND state IN (${deliveryStates.map((state) => `'${state}'`)}) AND created_at >= ?
       AND purpose = 'bulk_resend' AND resent_by IS NULL`,
  );
  const newestUnsent = db
    .prepare<[string, string], number>(
      `SELECT coalesce(finished_at, created_at) FROM deliveries INDEXED BY deliveries_unsent_by_destination
       WHERE destination = ? AND state = ? AND resent_by IS NULL AND state IN ('failed', 'expired', 'held')
       ORDER BY alert_seq DESC LIMIT 1`,
    )
    .pluck();
  const waitingNotices = db
    .prepare<[string], number>(
      `SELECT count(*) FROM deliveries INDEXED BY deliveries_urgent
       WHERE destination = ? AND due_at IS NOT NULL AND purpose IN ('resend', 'test', 'notice') AND purpose = 'notice'`,
    )
    .pluck();
  const failedNotices = db
    .prepare<[string], number>(
      `SELECT count(*) FROM deliveries INDEXED BY deliveries_unsent_by_destination
       WHERE destination = ? AND resent_by IS NULL AND state IN ('failed', 'expired', 'held') AND state <> 'held'
         AND purpose = 'notice'`,
    )
    .pluck();
  /** Of those that are due first, or are of the oldest alerts: to look at 100,000 for each page takes a tenth of a second. */
  function oldestWaitingAt(destination: string): number | undefined {
    const times = firstWaiting.flatMap((first) => first.get(destination) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  function resendingTo(destination: string): Resending | undefined {
    const since = firstResent.get(destination) ?? undefined;
    const counted = since === undefined ? undefined : resent.get(destination, since);
    return since === undefined || counted === undefined ? undefined : { ...counted, since };
  }

  return {
    countByDestination(): DestinationCounts[] {
      const found = new Map<string, DestinationCounts>();
      for (const { destination, state, count } of counts.all()) {
        let entry = found.get(destination);
        if (!entry) {
          entry = { destination, counts: {}, oldestWaitingAt: oldestWaitingAt(destination) };
          const resending = resendingTo(destination);
          if (resending !== undefined) entry.resending = resending;
          found.set(destination, entry);
        }
        entry.counts[state as keyof DestinationCounts["counts"]] = count;
        const held = state === "held" ? heldByQuietHours.get(destination) : undefined;
        if (held?.until) entry.heldByQuietHours = { count: held.count, until: held.until };
        const failedAt = state === "failed" || state === "expired" ? newestUnsent.get(destination, state) : undefined;
        if (failedAt !== undefined) entry.lastFailedAt = Math.max(entry.lastFailedAt ?? 0, failedAt);
      }
      return [...found.values()];
    },

    countNotices: (destination: string) => ({
      waiting: waitingNotices.get(destination) ?? 0,
      failed: failedNotices.get(destination) ?? 0,
    }),
  };
}
