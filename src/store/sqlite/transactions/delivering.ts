import type { ClaimedDelivery, DueDelivery, NextStep } from "../../../core/delivery-job.ts";
import type { DeliveryPurpose } from "../../../core/delivery.ts";
import type { PaceRecord } from "../../../core/destination-status.ts";
import type {
  AbandonedDelivery,
  AlertRequest,
  AttemptRecord,
  ClaimedTogether,
  ClaimInput,
  FallbackCall,
  Untried,
} from "../../../core/ports/dispatch.ts";
import type { LaneFence } from "../../../core/ports/lanes.ts";
import { type DeliveryRow, toDueDelivery } from "../../rows.ts";
import type { SharedMethods } from "../../transactions/index.ts";
import type { Claiming } from "./claiming.ts";
import { boundLimit, deliveryColumns, type TransactionContext } from "./context.ts";
import { type IsHeld, underFence } from "./lanes.ts";
import type { InsertDelivery } from "./routing.ts";
import type { StateKeeping } from "./state-keeping.ts";

/**
 * T3 and T4: claims, attempts and what follows from them. `due_at` is set exactly while a delivery may be claimed.
 * What a claim allows is checked in the statement that writes: its token and the fence of its lane.
 */
export function createDelivering(
  { db, changed, now }: TransactionContext,
  insertDelivery: InsertDelivery,
  {
    savePaces,
    saveThread,
    take,
    takeTogether,
    isHeld,
  }: Pick<StateKeeping, "saveThread"> & Pick<SharedMethods, "savePaces"> & Claiming & { isHeld: IsHeld },
) {
  const join = "FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq";
  const dueWhere = (kind: string) =>
    `SELECT ${deliveryColumns} ${join} WHERE d.destination = ? AND ${kind} AND d.due_at <= ?
       ORDER BY d.due_at, d.seq ${boundLimit}`;
  const due = db.prepare<[string, number, number], DeliveryRow>(dueWhere("(d.purpose = 'bulk_resend') = 0"));
  const bulkDue = db.prepare<[string, number, number], DeliveryRow>(dueWhere("(d.purpose = 'bulk_resend') = 1"));
  const urgentlyDue = db.prepare<[string, number, number], DeliveryRow>(
    `SELECT ${deliveryColumns} ${join} WHERE d.destination = ? AND d.due_at <= ?
       AND d.due_at IS NOT NULL AND d.purpose IN ('resend', 'test', 'notice') ORDER BY d.due_at, d.seq ${boundLimit}`,
  );
  // Another index has the order, and every delivery that there ever was.
  const ofKeys = db.prepare<[string, string, number], DeliveryRow>(
    `SELECT ${deliveryColumns} ${join} WHERE d.seq IN (
       SELECT d.seq FROM deliveries d INDEXED BY deliveries_due JOIN alerts a ON a.seq = d.alert_seq
       WHERE d.destination = ? AND d.due_at IS NOT NULL AND a.alert_key IN (SELECT value FROM json_each(?))
       ORDER BY d.alert_seq, d.seq ${boundLimit})
     ORDER BY d.alert_seq, d.seq`,
  );
  const nextDue = db
    .prepare<[string, number], number | null>(
      `SELECT min(due_at) FROM deliveries WHERE destination = ? AND (purpose = 'bulk_resend') = ?
         AND due_at IS NOT NULL`,
    )
    .pluck();
  const insertAttempt = db.prepare(
    `INSERT INTO attempts (delivery_seq, at, duration_ms, action, part, parts, outcome, reason, detail)
     SELECT seq, ?, ?, ?, ?, ?, ?, ?, ? FROM deliveries WHERE seq = ?`,
  );
  const keepGoing = db.prepare(
    `UPDATE deliveries SET progress = ?, lease_until = ?, attempts = attempts + ?, ambiguous = ambiguous + ?,
       last_detail = coalesce(?, last_detail), last_reason = coalesce(?, last_reason)
     WHERE seq = ? AND claim_token = ? AND ${underFence}`,
  );
  const step = db.prepare(
    `UPDATE deliveries SET state = ?, reason = ?, due_at = ?, finished_at = ?, progress = ?, form = coalesce(?, form),
       attempts = attempts + ?, ambiguous = ambiguous + ?,
       last_detail = coalesce(?, last_detail), last_reason = coalesce(?, last_reason),
       fallback_at = CASE WHEN ? THEN NULL ELSE fallback_at END,
       claim_token = NULL, lease_until = NULL
     WHERE seq = ? AND claim_token = ? AND ${underFence}`,
  );
  const finish = db.prepare<unknown[], { alert_seq: number }>(
    `UPDATE deliveries SET state = ?, reason = ?, due_at = ?, finished_at = ?, fallback_at = iif(?, fallback_at, NULL)
     WHERE seq = ? AND due_at IS NOT NULL AND ${underFence} RETURNING alert_seq`,
  );
  const release = db.prepare<unknown[], { alert_seq: number }>(
    `UPDATE deliveries SET state = CASE WHEN attempts > 0 THEN 'waiting' ELSE 'queued' END, due_at = ?,
       claim_token = NULL, lease_until = NULL WHERE claim_token = ? AND ${underFence} RETURNING alert_seq`,
  );
  // Two indexes hold the destination too, and every delivery it ever had.
  const abandoned = db.prepare<[string, number, number], DeliveryRow>(
    `WITH held (destination, fence) AS MATERIALIZED (SELECT key, value FROM json_each(?))
     SELECT ${deliveryColumns} FROM deliveries d INDEXED BY deliveries_claimed
       CROSS JOIN held ON held.destination = d.destination CROSS JOIN alerts a ON a.seq = d.alert_seq
     WHERE d.claim_token IS NOT NULL AND (d.claim_fence < held.fence OR d.lease_until <= ?)
     ORDER BY d.lease_until ${boundLimit}`,
  );
  const fallbacksDue = db.prepare<[number], DeliveryRow>(
    `SELECT ${deliveryColumns} ${join} WHERE d.fallback_at <= ? ORDER BY d.fallback_at LIMIT 500`,
  );
  const orphans = db.prepare<[string, number], DeliveryRow>(
    `SELECT ${deliveryColumns} ${join} WHERE d.due_at IS NOT NULL
       AND d.destination NOT IN (SELECT value FROM json_each(?))
       ORDER BY d.destination, (d.purpose = 'bulk_resend'), d.due_at, d.seq ${boundLimit}`,
  );
  const requestOf = db.prepare<[number], { request_seq: number; item: number }>(
    "SELECT request_seq, item FROM alerts WHERE seq = ? AND request_seq IS NOT NULL",
  );
  const requestBody = db.prepare<[number], { content_type: string | null; body: Uint8Array }>(
    "SELECT content_type, body FROM requests WHERE seq = ?",
  );
  const takeFallback = db.prepare<
    [number | null, number | null, number],
    { alert_seq: number; destination: string; purpose: DeliveryPurpose }
  >(
    `UPDATE deliveries SET fallback_to = iif(? IS NULL, NULL, fallback_to), fallback_at = ?
     WHERE seq = ? AND fallback_to IS NOT NULL RETURNING alert_seq, destination, purpose`,
  );
  const hasFallback = db
    .prepare<[number, string, string, string], number>(
      "SELECT 1 FROM deliveries WHERE alert_seq = ? AND destination = ? AND recipient = ? AND instead_of = ?",
    )
    .pluck();
  const alertSeqOf = db.prepare<[number], number>("SELECT alert_seq FROM deliveries WHERE seq = ?").pluck();

  /** What an attempt changes at a delivery that its claim still holds; false when it holds it no longer. */
  function advance({ group, fence }: LaneFence, seq: number, record: AttemptRecord): boolean {
    const { next, leaseMs } = record;
    if (next !== undefined) return apply({ group, fence }, seq, next, record);
    const { changes } = keepGoing.run(
      JSON.stringify(record.progress),
      leaseMs === undefined ? null : now() + leaseMs,
      record.countsAsAttempt && record.outcome !== "sent" ? 1 : 0,
      record.outcome === "ambiguous" ? 1 : 0,
      record.detail ?? null,
      record.reason ?? null,
      seq,
      record.token,
      group,
      fence,
    );
    return changes > 0;
  }

  function apply({ group, fence }: LaneFence, seq: number, next: NextStep, record: AttemptRecord): boolean {
    const final = next.state !== "waiting" && next.state !== "held";
    const { changes } = step.run(
      next.state,
      next.reason,
      next.state === "waiting" ? next.dueAt : null,
      final ? record.at + record.durationMs : null,
      JSON.stringify(record.progress),
      next.state === "waiting" ? (next.form ?? null) : null,
      record.countsAsAttempt ? 1 : 0,
      record.outcome === "ambiguous" ? 1 : 0,
      record.detail ?? null,
      record.reason ?? null,
      final ? 1 : 0,
      seq,
      record.token,
      group,
      fence,
    );
    return changes > 0;
  }

  function keep(lane: LaneFence, record: AttemptRecord): "recorded" | "late" {
    const held = new Set<number>();
    for (const seq of record.deliverySeqs) {
      // A late one may be of a delivery that was removed since.
      insertAttempt.run(
        record.at,
        record.durationMs,
        record.action,
        record.part,
        record.parts,
        record.outcome,
        record.reason ?? null,
        record.detail ?? null,
        seq,
      );
      const alertSeq = alertSeqOf.get(seq);
      if (alertSeq !== undefined) changed.add(alertSeq);
      // Before the step, which ends the claim that it is saved under.
      if (record.thread && held.size === 0) saveThread(lane, record.token, seq, record.thread);
      if (advance(lane, seq, record)) held.add(seq);
    }
    callFallbacks(record.fallbacks?.filter(({ deliverySeq }) => held.has(deliverySeq)) ?? [], record.at);
    return held.size > 0 ? "recorded" : "late";
  }

  function callFallbacks(fallbacks: FallbackCall[], at: number): void {
    for (const { deliverySeq, planned, againAt = null } of fallbacks) {
      const row = takeFallback.get(againAt, againAt, deliverySeq);
      if (row === undefined) continue;
      const purpose = row.purpose === "notice" ? "notice" : "fallback";
      for (const delivery of planned) {
        const { destination, recipient } = delivery;
        if (hasFallback.get(row.alert_seq, destination, recipient, row.destination) !== undefined) continue;
        insertDelivery(row.alert_seq, delivery, purpose, at, row.destination);
      }
    }
  }

  return {
    listDue(destination: string, now: number, limit: number, resentFirst = false): DueDelivery[] {
      const usual = due.all(destination, now, limit);
      const resent = bulkDue.all(destination, now, resentFirst ? limit : limit - usual.length);
      const rows = resentFirst ? [...resent, ...usual] : [...usual, ...resent];
      // With fewer all are listed already, and planning finds the urgent ones among them.
      if (rows.length < limit) return rows.map(toDueDelivery);
      const urgent = urgentlyDue.all(destination, now, limit);
      const seqs = new Set(urgent.map((row) => row.seq));
      const others = rows.filter((row) => !seqs.has(row.seq));
      return [...urgent, ...others].slice(0, limit).map(toDueDelivery);
    },

    listByKeys: (destination: string, alertKeys: string[], limit: number): DueDelivery[] =>
      ofKeys.all(destination, JSON.stringify(alertKeys), limit).map(toDueDelivery),

    nextDueAt(destination: string): number | undefined {
      const times = [nextDue.get(destination, 0), nextDue.get(destination, 1)];
      const known = times.filter((at) => typeof at === "number");
      return known.length === 0 ? undefined : Math.min(...known);
    },

    async claimDeliveries(
      lane: LaneFence,
      input: ClaimInput,
      paces: PaceRecord[],
    ): Promise<ClaimedDelivery[] | "lost"> {
      const taken = take(lane, input);
      await savePaces(lane, paces);
      return taken.length > 0 || isHeld(lane) ? taken : "lost";
    },

    claimRun(lane: LaneFence, claims: ClaimInput[]): ClaimedTogether[] | "lost" {
      const run = claims.flatMap((input) => takeTogether(lane, input) ?? []);
      return run.length > 0 || isHeld(lane) ? run : "lost";
    },

    async recordAttempt(
      lane: LaneFence,
      record: AttemptRecord,
      paces: PaceRecord[],
    ): Promise<"recorded" | "late" | "lost"> {
      const result = keep(lane, record);
      await savePaces(lane, paces);
      return result === "recorded" || isHeld(lane) ? result : "lost";
    },

    recordAttempts(lane: LaneFence, records: AttemptRecord[]): ("recorded" | "late")[] | "lost" {
      const results = records.map((record) => keep(lane, record));
      return results.includes("recorded") || isHeld(lane) ? results : "lost";
    },

    finishDeliveries(
      lane: LaneFence,
      deliverySeqs: number[],
      next: Untried,
      at: number,
      fallbacks: FallbackCall[],
    ): "done" | "lost" {
      const { group, fence } = lane;
      const dueAt = next.state === "waiting" ? next.dueAt : null;
      const finishedAt = next.state === "held" || next.state === "waiting" ? null : at;
      for (const seq of deliverySeqs) {
        const row = finish.get(next.state, next.reason, dueAt, finishedAt, dueAt === null ? 0 : 1, seq, group, fence);
        if (row !== undefined) changed.add(row.alert_seq);
      }
      if (!isHeld(lane)) return "lost";
      callFallbacks(fallbacks, at);
      return "done";
    },

    releaseClaim(lane: LaneFence, token: string, dueAt: number): "done" | "lost" {
      for (const row of release.all(dueAt, token, lane.group, lane.fence)) changed.add(row.alert_seq);
      return isHeld(lane) ? "done" : "lost";
    },

    listAbandoned: (held: Record<string, number>, limit: number): AbandonedDelivery[] =>
      abandoned
        .all(JSON.stringify(held), now(), limit)
        .map((row) => ({ ...toDueDelivery(row), token: row.claim_token ?? "" })),

    listFallbacksDue: (at: number): DueDelivery[] => fallbacksDue.all(at).map(toDueDelivery),

    callFallbacks,

    listOrphans: (known: string[], limit: number): DueDelivery[] =>
      orphans.all(JSON.stringify(known), limit).map(toDueDelivery),

    findRequests(alertSeqs: number[], maxBytes: number): AlertRequest[] {
      const requests = new Map<number, AlertRequest>();
      let bytes = 0;
      for (const seq of alertSeqs) {
        const alert = requestOf.get(seq);
        if (alert === undefined) continue;
        let request = requests.get(alert.request_seq);
        if (request === undefined) {
          const row = requestBody.get(alert.request_seq);
          if (row === undefined) continue;
          bytes += row.body.length;
          if (bytes > maxBytes && requests.size > 0) break;
          request = { contentType: row.content_type ?? undefined, body: row.body, alerts: [] };
          requests.set(alert.request_seq, request);
        }
        request.alerts.push({ seq, item: alert.item });
      }
      return [...requests.values()];
    },
  };
}
