import type { AlertFacts, AlertOrigin } from "../../../core/alert.ts";
import { deliveryStates, orphanReason } from "../../../core/delivery.ts";
import type { Thread, ThreadUpdate } from "../../../core/delivery-job.ts";
import type { DestinationCounts, Resending } from "../../../core/ports/dispatch.ts";
import type { LaneFence } from "../../../core/ports/lanes.ts";
import { toThread } from "../../rows.ts";
import type { Row } from "../../tables.ts";
import type { TransactionContext } from "./context.ts";
import { type IsHeld, underFence } from "./lanes.ts";

/** Deliveries of one kind, to know how long the oldest of them waits. */
const mostLookedAt = 500;

/** A message of a vendor that gives no ids. */
const noRef = "";

export type StateKeeping = ReturnType<typeof createStateKeeping>;

/** What delivery has to remember between messages: paces, threads, the health of destinations. */
export function createStateKeeping({ db, changed }: TransactionContext, isHeld: IsHeld) {
  const upsertThread = db.prepare(
    `INSERT OR REPLACE INTO threads (destination, recipient, alert_key, root_ref, root_alert_seq, last_ref, first_at,
       last_new_at, last_at, count, severity, status, last_alert_seq)
     SELECT d.destination, d.recipient, a.alert_key, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
     FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
     WHERE d.seq = ? AND d.claim_token = ? AND ${underFence}`,
  );
  const thread = db.prepare<[string, string, string], Row<"threads">>(
    "SELECT * FROM threads WHERE destination = ? AND recipient = ? AND alert_key = ?",
  );
  const alertFacts = db.prepare<
    [number],
    { id: string; received_at: number; origin: AlertOrigin; facts: string | null }
  >("SELECT id, received_at, origin, facts FROM alerts WHERE seq = ?");
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
  const destinationsWaiting = db
    .prepare<[], string>(
      `SELECT destination FROM deliveries INDEXED BY deliveries_due WHERE due_at IS NOT NULL
       UNION SELECT destination FROM deliveries INDEXED BY deliveries_claimed WHERE claim_token IS NOT NULL`,
    )
    .pluck();
  const failUnfinished = (index: string, condition: string) =>
    db.prepare<[string, number, string, string, number], { alert_seq: number }>(
      `UPDATE deliveries INDEXED BY ${index} SET state = 'failed', reason = ?, due_at = NULL, finished_at = ?,
         claim_token = NULL, lease_until = NULL, fallback_at = NULL
       WHERE destination = ? AND ${condition} AND ${underFence} RETURNING alert_seq`,
    );
  const failWaiting = failUnfinished("deliveries_due", "due_at IS NOT NULL");
  const failClaimed = failUnfinished("deliveries_claimed", "claim_token IS NOT NULL");

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
    /** Under the claim that holds the delivery. */
    saveThread({ group, fence }: LaneFence, token: string, deliverySeq: number, update: ThreadUpdate): void {
      upsertThread.run(
        update.rootRef ?? noRef,
        update.rootAlertSeq,
        update.lastRef ?? noRef,
        update.firstAt,
        update.lastNewAt,
        update.lastAt,
        update.count,
        update.severity,
        update.status,
        update.lastAlertSeq,
        deliverySeq,
        token,
        group,
        fence,
      );
    },

    findThread(destination: string, recipient: string, alertKey: string): Thread | undefined {
      const row = thread.get(destination, recipient, alertKey);
      return row && toThread(row);
    },

    findAlertFacts(alertSeq: number) {
      const row = alertFacts.get(alertSeq);
      if (!row?.facts) return undefined;
      return {
        id: row.id,
        receivedAt: row.received_at,
        origin: row.origin,
        facts: JSON.parse(row.facts) as AlertFacts,
      };
    },

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

    failOrphans(lane: LaneFence, known: string[], at: number): number | "lost" {
      let failed = 0;
      for (const destination of destinationsWaiting.all()) {
        if (known.includes(destination)) continue;
        const rows = [failWaiting, failClaimed].flatMap((fail) =>
          fail.all(orphanReason, at, destination, lane.group, lane.fence),
        );
        for (const row of rows) changed.add(row.alert_seq);
        failed += rows.length;
      }
      return isHeld(lane) ? failed : "lost";
    },
  };
}
