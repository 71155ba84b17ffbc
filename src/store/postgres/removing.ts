import type { Removal, RemovalStep, Retention } from "../../core/ports/retention.ts";
import { fromPosition, toPosition } from "../positions.ts";
import { lastChanged } from "./changes.ts";
import type { Database, Transaction } from "./database.ts";

interface OldAlert {
  seq: number;
  received_at: number;
  /** Behind the first of these nothing is old. */
  is_young: boolean;
  /** Nobody else is at it. */
  is_free: boolean;
}

type ThreadPlace = [destination: string, recipient: string, alertKey: string];

/** In front of every key of `threads`. */
const fromFirst: ThreadPlace = ["", "", ""];
/** There are at most about as many threads as deliveries, so all are gone through while a part of the log is removed. */
const threadsPerAlert = 2;
/** Of the advisory lock of whoever removes: alerts of one request must not go in two transactions at once. */
const lock = 8_072_401_174;

/** What an alert, a delivery and an attempt take beside the body of the request, with their indexes. Bytes, measured. */
const alertBytes = 2_600;
const deliveryBytes = 1_400;

/** Of one of these something may still become. */
const unfinished = `(d.due_at IS NOT NULL OR d.claim_token IS NOT NULL OR d.fallback_at IS NOT NULL
  OR NOT (d.state IN ('sent', 'failed', 'muted', 'expired', 'digested') OR (d.state = 'held' AND d.resent_by IS NOT NULL)))`;

/**
 * Removes what is old, oldest first, a small step at a time; the database uses the room again by itself. The newest alert and
 * the one that changed last stay, so that who follows the log knows where he was.
 */
export function createRemoving(
  database: Database,
  nowMs: () => number = () => performance.now(),
): Pick<Retention, "removeAlerts" | "removesBesideOthers"> {
  let threadsAfter = fromFirst;
  /** Behind it there are no gaps. */
  let walkedTo = 0;

  /** Messages of keys whose last alert is gone, some at each step, and so round and round through all. */
  async function removeThreads(
    tx: Transaction,
    limit: number,
    upTo: number,
    receivedBefore: number,
  ): Promise<ThreadPlace> {
    walkedTo = Math.max(walkedTo, upTo);
    const { rows } = await tx.query<{ destination: string; recipient: string; alert_key: string; count: number }>(
      `WITH listed AS MATERIALIZED (
         SELECT destination, recipient, alert_key, last_at, last_alert_seq,
           coalesce(nullif(last_alert_seq, 0), root_alert_seq) AS alert_seq
         FROM threads WHERE (destination, recipient, alert_key) > ($1, $2, $3)
         ORDER BY destination, recipient, alert_key LIMIT $4),
       removed AS (
         DELETE FROM threads t USING listed
         WHERE t.destination = listed.destination AND t.recipient = listed.recipient AND t.alert_key = listed.alert_key
           AND coalesce(nullif(t.last_alert_seq, 0), t.root_alert_seq) = listed.alert_seq
           AND listed.alert_seq <= $5 AND (listed.last_alert_seq > 0 OR listed.last_at < $6)
           AND NOT EXISTS (SELECT FROM alerts a WHERE a.seq = listed.alert_seq))
       SELECT destination, recipient, alert_key, (SELECT count(*) FROM listed) AS count FROM listed
       ORDER BY destination DESC, recipient DESC, alert_key DESC LIMIT 1`,
      [...threadsAfter, limit, walkedTo, receivedBefore],
      "remove_threads",
    );
    const [last] = rows;
    return last === undefined || last.count < limit ? fromFirst : [last.destination, last.recipient, last.alert_key];
  }

  async function removeOld(tx: Transaction, step: RemovalStep) {
    const { after, receivedBefore, limit } = step;
    const from = after === undefined ? 0 : (fromPosition(after)[0] as number);
    const listed = await list(tx, from, step);
    const firstYoung = listed.findIndex((alert) => alert.is_young);
    const rows = firstYoung === -1 ? listed : listed.slice(0, firstYoung);
    const last = rows.at(-1);
    const old = rows.filter((row) => row.is_free && row.received_at < receivedBefore).map(({ seq }) => seq);
    const removed = old.length === 0 ? 0 : await remove(tx, old);
    const upTo = last?.seq ?? (listed[0]?.seq ?? from + 1) - 1;
    const nextThreads = await removeThreads(tx, limit * threadsPerAlert, upTo, receivedBefore);
    const hasMore = last !== undefined && rows.length === limit;
    return { removed, nextThreads, ...(hasMore && { next: toPosition(last.seq) }) };
  }

  return {
    removesBesideOthers: true,
    async removeAlerts(step): Promise<Removal> {
      const startedAt = nowMs();
      const { removed, next, nextThreads, sizes } = await database.transaction(async (tx) => {
        const { rows } = await tx.query<{ is_mine: boolean }>("SELECT pg_try_advisory_xact_lock($1) AS is_mine", [
          lock,
        ]);
        const isMine = rows[0]?.is_mine === true;
        if (isMine && step.after === undefined)
          await tx.query(
            "DELETE FROM refused_requests WHERE received_at < $1",
            [step.receivedBefore],
            "remove_refused",
          );
        const done = isMine ? await removeOld(tx, step) : { removed: 0, nextThreads: threadsAfter, next: undefined };
        return { ...done, sizes: await measure(tx) };
      });
      threadsAfter = nextThreads;
      return { removed, ...(next !== undefined && { next }), ...sizes, tookMs: nowMs() - startedAt };
    },
  };
}

/** What is old is locked, so that nothing is added to it; what somebody is at is passed by. */
async function list(tx: Transaction, from: number, { receivedBefore, limit }: RemovalStep): Promise<OldAlert[]> {
  const { rows } = await tx.query<OldAlert>(
    `WITH listed AS MATERIALIZED (
       SELECT seq, received_at, routed_at,
         received_at >= $3 AND received_at <= extract(epoch FROM clock_timestamp()) * 1000 AS is_young
       FROM alerts WHERE seq > $1 ORDER BY seq LIMIT $2),
     free AS MATERIALIZED (
       SELECT seq FROM alerts WHERE routed_at IS NOT NULL
         AND seq = ANY (ARRAY(
           SELECT seq FROM listed WHERE received_at < $3
             AND seq < coalesce((SELECT min(seq) FROM listed WHERE is_young), 9223372036854775807)))
         AND seq <> (SELECT max(seq) FROM alerts)
         AND seq <> ALL (ARRAY(${lastChanged}))
       ORDER BY seq FOR UPDATE SKIP LOCKED)
     SELECT l.seq, l.received_at, l.is_young, free.seq IS NOT NULL AS is_free
     FROM listed l LEFT JOIN free USING (seq) ORDER BY l.seq`,
    [from, limit, receivedBefore],
    "list_old",
  );
  return rows;
}

/** Of these alerts those that are finished, each with all that belongs to it. */
async function remove(tx: Transaction, seqs: number[]): Promise<number> {
  const { rows } = await tx.query<{ removed: number }>(
    `WITH gone AS MATERIALIZED (
       SELECT a.seq, a.request_seq, a.repeat_of FROM alerts a
       WHERE a.seq = ANY($1::bigint[]) AND NOT EXISTS (SELECT FROM deliveries d WHERE d.alert_seq = a.seq AND ${unfinished})),
     their_deliveries AS (DELETE FROM deliveries WHERE alert_seq = ANY (ARRAY(SELECT seq FROM gone)) RETURNING seq),
     their_attempts AS (DELETE FROM attempts WHERE delivery_seq = ANY (ARRAY(SELECT seq FROM their_deliveries))),
     their_rows AS (DELETE FROM alerts WHERE seq = ANY (ARRAY(SELECT seq FROM gone))),
     their_requests AS (
       DELETE FROM requests r WHERE r.seq = ANY (ARRAY(SELECT request_seq FROM gone)) AND NOT EXISTS (
         SELECT FROM alerts a WHERE a.request_seq = r.seq AND a.seq <> ALL (ARRAY(SELECT seq FROM gone)))
       RETURNING duplicates),
     counted AS (
       INSERT INTO tallies (kind, count)
       SELECT 'removed', count(*) FROM gone HAVING count(*) > 0
       UNION ALL
       SELECT 'duplicate', -sum(count) FROM (
         SELECT count(*) AS count FROM gone WHERE repeat_of IS NOT NULL
         UNION ALL SELECT coalesce(sum(duplicates), 0) FROM their_requests) AS duplicates HAVING sum(count) > 0)
     SELECT count(*) AS removed FROM gone`,
    [seqs],
    "remove_alerts",
  );
  const removed = rows[0]?.removed ?? 0;
  return removed;
}

async function measure(tx: Transaction): Promise<Pick<Removal, "accepted" | "usedBytes">> {
  const { rows } = await tx.query<{ accepted: number; used: number }>(
    `SELECT coalesce((SELECT max(seq) FROM alerts), 0) AS accepted,
       coalesce(sum(CASE kind WHEN 'bytes' THEN count WHEN 'delivery' THEN count * ${deliveryBytes}
         WHEN 'accepted' THEN count * ${alertBytes} WHEN 'removed' THEN -count * ${alertBytes} END), 0) AS used
     FROM tallies WHERE kind IN ('bytes', 'delivery', 'accepted', 'removed')`,
    [],
    "measure_log",
  );
  const { accepted = 0, used: usedBytes = 0 } = rows[0] ?? {};
  return { accepted, usedBytes };
}
