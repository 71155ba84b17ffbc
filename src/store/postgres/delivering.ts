import type { DeliveryPurpose } from "../../core/delivery.ts";
import type { NewId } from "../../core/id.ts";
import type { AttemptRecord, Dispatch, FallbackCall } from "../../core/ports/dispatch.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import type { SharedTransactions } from "../transactions/index.ts";
import { createMaking, type NewDelivery } from "../transactions/making.ts";
import { notedChanges } from "./alert-changes.ts";
import type { Database, Sql, Transaction } from "./database.ts";
import { heldLane, heldLanes, isHeld, toHeldLanes, underFence } from "./fence.ts";
import { createSharing } from "./sharing.ts";
import { toText } from "./texts.ts";
import { postgresDialect, toTx } from "./tx.ts";

const makeDeliveries = createMaking(postgresDialect);

type Methods = "recordAttempt" | "recordAttempts" | "finishDeliveries" | "callFallbacks";

/**
 * T4: attempts and what follows from them. What a claim allows is checked in the statement that writes: its token and the fence
 * of its lane. An attempt is a fact, and is kept in any case.
 */
export function createDelivering(
  database: Database,
  { newId, savePaces }: { newId: NewId } & Pick<SharedTransactions, "savePaces">,
): Pick<Dispatch, Methods> {
  /** Most records are one statement, and need no more. */
  const keepIn = (calls: readonly RecordCall[]): Database["statement"] =>
    isOneStatement(calls) ? database.statement : database.transaction;

  async function keepAlone(tx: Transaction, call: RecordCall): Promise<Kept[] | undefined> {
    const [results = []] = await keep(tx, [call], "all", newId);
    const known = results.map((result) => result ?? "late");
    return known.includes("recorded") ? known : undefined;
  }

  const shareRecords = createSharing<RecordCall, Kept[] | "lost">({
    sizeOf: ({ records }) => records.reduce((sum, { deliverySeqs }) => sum + deliverySeqs.length, 0),
    async together(calls) {
      const kept = await keepIn(calls)((tx) => keep(tx, calls, "free", newId));
      return kept.map((results) =>
        results.every((result) => result === undefined) ? undefined : results.map((result) => result ?? "late"),
      );
    },
    async alone(call) {
      const kept = await keepIn([call])((tx) => keepAlone(tx, call));
      return kept ?? lateOrLost(database.single, call);
    },
  });

  const lateOrLost = async (sql: Sql, { lane, records }: RecordCall): Promise<"late"[] | "lost"> =>
    (await isHeld(sql, lane)) ? records.map(() => "late") : "lost";

  return {
    async recordAttempt(lane, record, paces) {
      const call = { lane, records: [record] };
      const results =
        paces.length === 0
          ? await shareRecords(call)
          : await database.transaction(async (tx) => {
              const [kept] = await Promise.all([keepAlone(tx, call), savePaces(toTx(tx), lane, paces)]);
              return kept ?? lateOrLost(tx, call);
            });
      return results === "lost" ? "lost" : (results[0] as Kept);
    },

    recordAttempts: (lane, records) => shareRecords({ lane, records }),

    finishDeliveries: (lane, deliverySeqs, next, at, fallbacks) =>
      database.transaction(async (tx) => {
        const { rowCount } = await tx.query(
          `WITH ${heldLane},
           ending AS MATERIALIZED (
             SELECT seq FROM deliveries WHERE seq = ANY($3::bigint[]) AND due_at IS NOT NULL AND ${underFence}
             ORDER BY seq FOR NO KEY UPDATE),
           ended AS (
             UPDATE deliveries SET state = $4, reason = $5, due_at = $7, finished_at = $6,
               fallback_at = CASE WHEN $7::bigint IS NOT NULL THEN fallback_at END
             WHERE seq = ANY (ARRAY(SELECT seq FROM ending)) AND due_at IS NOT NULL RETURNING alert_seq),
           ${notedChanges("SELECT alert_seq FROM ended")}
           SELECT FROM ended`,
          [
            lane.group,
            lane.fence,
            deliverySeqs,
            next.state,
            toText(next.reason),
            next.state === "held" || next.state === "waiting" ? null : at,
            next.state === "waiting" ? next.dueAt : null,
          ],
          "finish_deliveries",
        );
        if (rowCount > 0) tx.notes.changed = true;
        if (rowCount === 0 && !(await isHeld(tx, lane))) return "lost";
        await callFallbacks(tx, fallbacks, at, newId);
        return "done";
      }),

    callFallbacks: (fallbacks, at) => database.transaction((tx) => callFallbacks(tx, fallbacks, at, newId)),
  };
}

interface RecordCall {
  lane: LaneFence;
  records: readonly AttemptRecord[];
}

type Kept = "recorded" | "late";

/**
 * Of each record of each call, in their order; undefined for one whose deliveries are gone. `free`: also for all of a lane that is
 * not held, or is about to be another's, of which nothing is written.
 */
async function keep(
  tx: Transaction,
  calls: readonly RecordCall[],
  which: "all" | "free",
  newId: NewId,
): Promise<(Kept | undefined)[][]> {
  const kept = calls.map(({ records }) => records.map((): Kept | undefined => undefined));
  for (const wave of toWaves(calls)) {
    const known = await advance(tx, wave, which);
    for (const [index, { call, place, record }] of wave.entries()) {
      const seqs = known.get(index);
      if (seqs === undefined) continue;
      (kept[call] as Kept[])[place] = seqs.size > 0 ? "recorded" : "late";
      const fallbacks = record.fallbacks?.filter(({ deliverySeq }) => seqs.has(deliverySeq)) ?? [];
      await callFallbacks(tx, fallbacks, record.at, newId);
    }
  }
  return kept;
}

interface Placed {
  call: number;
  place: number;
  lane: LaneFence;
  record: AttemptRecord;
}

/** No delivery twice, and no fallback that is called. */
function isOneStatement(calls: readonly RecordCall[]): boolean {
  const records = calls.flatMap((call) => call.records);
  return toWaves(calls).length === 1 && records.every(({ fallbacks = [] }) => fallbacks.length === 0);
}

/** Two attempts of one delivery cannot be in one statement. */
function toWaves(calls: readonly RecordCall[]): Placed[][] {
  const waves: { seqs: Set<number>; records: Placed[] }[] = [];
  calls.forEach(({ lane, records }, call) => {
    records.forEach((record, place) => {
      let wave = waves.at(-1);
      if (wave === undefined || record.deliverySeqs.some((seq) => wave?.seqs.has(seq))) {
        wave = { seqs: new Set(), records: [] };
        waves.push(wave);
      }
      wave.records.push({ call, place, lane, record });
      for (const seq of record.deliverySeqs) wave.seqs.add(seq);
    });
  });
  return waves.map((wave) => wave.records);
}

/** A record as the statement is given it: `null` for what it does not change. */
const recordColumns: [name: string, type: string, of: (record: AttemptRecord, lane: LaneFence) => unknown][] = [
  ["fence", "bigint", (_, { fence }) => fence],
  ["token", "text", ({ token }) => token],
  ["at", "bigint", ({ at }) => at],
  ["duration_ms", "bigint", ({ durationMs }) => durationMs],
  ["action", "text", ({ action }) => action],
  ["part", "int", ({ part }) => part],
  ["parts", "int", ({ parts }) => parts],
  ["outcome", "text", ({ outcome }) => outcome],
  ["reason", "text", ({ reason }) => reason],
  ["detail", "text", ({ detail }) => detail && toText(detail)],
  ["counted", "int", ({ countsAsAttempt, outcome, next }) => (countsAsAttempt && (next || outcome !== "sent") ? 1 : 0)],
  ["ambiguous", "int", ({ outcome }) => (outcome === "ambiguous" ? 1 : 0)],
  ["progress", "text", ({ progress }) => JSON.stringify(progress)],
  ["next_state", "text", ({ next }) => next?.state],
  ["next_reason", "text", ({ next }) => next && toText(next.reason)],
  ["due_at", "bigint", ({ next }) => (next?.state === "waiting" ? next.dueAt : null)],
  ["form", "text", ({ next }) => (next?.state === "waiting" ? next.form : null)],
  ["is_final", "bool", ({ next }) => next !== undefined && next.state !== "waiting" && next.state !== "held"],
  ["lease_ms", "bigint", ({ leaseMs }) => leaseMs],
  ["has_thread", "bool", ({ thread }) => thread !== undefined],
  ["root_ref", "text", ({ thread }) => thread?.rootRef],
  ["root_alert_seq", "bigint", ({ thread }) => thread?.rootAlertSeq],
  ["last_ref", "text", ({ thread }) => thread?.lastRef],
  ["last_alert_seq", "bigint", ({ thread }) => thread?.lastAlertSeq],
  ["first_at", "bigint", ({ thread }) => thread?.firstAt],
  ["last_new_at", "bigint", ({ thread }) => thread?.lastNewAt],
  ["last_at", "bigint", ({ thread }) => thread?.lastAt],
  ["count", "int", ({ thread }) => thread?.count],
  ["severity", "text", ({ thread }) => thread?.severity],
  ["status", "text", ({ thread }) => thread?.status],
];
const threadColumns = recordColumns
  .map(([name]) => name)
  .slice(recordColumns.findIndex(([name]) => name === "root_ref"));

/** A thread is saved under the claim of the first of a record's deliveries; of several records of one thread the last counts. */
const advanceStatement = (which: "all" | "free") => `
  WITH ${heldLanes(which)},
  record AS MATERIALIZED (
    SELECT * FROM unnest(${recordColumns.map(([, type], index) => `$${index + 5}::${type}[]`).join(", ")}) WITH ORDINALITY
      AS r (${recordColumns.map(([name]) => name).join(", ")}, record)${which === "free" ? " WHERE fence IN (SELECT fence FROM held)" : ""}),
  given AS MATERIALIZED (
    SELECT d.seq, d.alert_seq, g.place, r.* FROM unnest($3::bigint[], $4::int[]) WITH ORDINALITY AS g (seq, record, place)
    JOIN record r USING (record) JOIN deliveries d ON d.seq = g.seq AND d.seq = ANY($3::bigint[])),
  logged AS (
    INSERT INTO attempts (delivery_seq, at, duration_ms, action, part, parts, outcome, reason, detail)
    SELECT seq, at, duration_ms, action, part, parts, outcome, reason, detail FROM given ORDER BY place),
  mine AS MATERIALIZED (
    SELECT seq FROM deliveries WHERE seq = ANY (ARRAY(SELECT seq FROM given JOIN held USING (fence)))
    ORDER BY seq FOR NO KEY UPDATE),
  advanced AS (
    UPDATE deliveries d SET
      state = coalesce(g.next_state, d.state),
      reason = coalesce(g.next_reason, d.reason),
      due_at = g.due_at,
      finished_at = CASE WHEN g.is_final THEN g.at + g.duration_ms END,
      progress = g.progress,
      form = coalesce(g.form, d.form),
      attempts = d.attempts + g.counted,
      ambiguous = d.ambiguous + g.ambiguous,
      last_detail = coalesce(g.detail, d.last_detail),
      last_reason = coalesce(g.reason, d.last_reason),
      fallback_at = CASE WHEN NOT g.is_final THEN d.fallback_at END,
      claim_token = CASE WHEN g.next_state IS NULL THEN d.claim_token END,
      lease_until = CASE WHEN g.next_state IS NULL THEN clock_timestamp() + g.lease_ms * interval '1 millisecond' END
    FROM given g WHERE d.seq = g.seq AND d.seq = ANY (ARRAY(SELECT seq FROM mine)) AND d.claim_token IS NOT DISTINCT FROM g.token
    RETURNING d.seq, d.destination, d.recipient, g.record, g.place, g.alert_seq, g.has_thread,
      ${threadColumns.map((name) => `g.${name}`).join(", ")}),
  ${notedChanges("SELECT alert_seq FROM given")},
  saved AS (
    INSERT INTO threads (destination, recipient, alert_key, ${threadColumns.join(", ")})
    SELECT DISTINCT ON (destination, recipient, alert_key) destination, recipient, alert_key, ${threadColumns.join(", ")}
    FROM (
      SELECT DISTINCT ON (advanced.record) advanced.record, advanced.destination, advanced.recipient, alerts.alert_key,
        ${threadColumns.map((name) => `advanced.${name}`).join(", ")}
      FROM advanced
      JOIN alerts ON alerts.seq = advanced.alert_seq AND alerts.seq = ANY (ARRAY(SELECT alert_seq FROM given))
      WHERE advanced.has_thread ORDER BY advanced.record, advanced.place) AS one
    ORDER BY destination, recipient, alert_key, record DESC
    ON CONFLICT (destination, recipient, alert_key) DO UPDATE SET
      ${threadColumns.map((name) => `${name} = excluded.${name}`).join(", ")}, over_at = NULL)
  SELECT record, seq, seq = ANY (ARRAY(SELECT seq FROM advanced)) AS is_mine FROM given`;

const advanceStatements = { all: advanceStatement("all"), free: advanceStatement("free") };

/** Which deliveries of which record were still held by its claim, by the record's place in the wave. */
async function advance(tx: Transaction, wave: Placed[], which: "all" | "free"): Promise<Map<number, Set<number>>> {
  const rows = wave.flatMap(({ record }, index) => record.deliverySeqs.map((seq) => [seq, index + 1] as const));
  const { rows: known } = await tx.query<{ record: number; seq: number; is_mine: boolean }>(
    advanceStatements[which],
    [
      ...toHeldLanes(wave.map(({ lane }) => lane)),
      rows.map(([seq]) => seq),
      rows.map(([, record]) => record),
      ...recordColumns.map(([, , of]) => wave.map(({ record, lane }) => of(record, lane) ?? null)),
    ],
    `record_attempts_${which}`,
  );
  if (known.length > 0) tx.notes.changed = true;
  const held = new Map<number, Set<number>>();
  for (const { record, seq, is_mine } of known) {
    const seqs = held.get(record - 1) ?? new Set();
    held.set(record - 1, is_mine ? seqs.add(seq) : seqs);
  }
  return held;
}

/** Each delivery calls its fallback once, and all mailboxes of one destination together call it once for an alert. */
async function callFallbacks(
  tx: Transaction,
  fallbacks: readonly FallbackCall[],
  at: number,
  newId: NewId,
): Promise<void> {
  if (fallbacks.length === 0) return;
  // Behind whoever else makes deliveries of these alerts.
  const { rows: taken } = await tx.query<{
    seq: number;
    alert_seq: number;
    destination: string;
    purpose: DeliveryPurpose;
  }>(
    `WITH calling AS MATERIALIZED (
       SELECT seq FROM deliveries WHERE seq = ANY($1::bigint[]) AND fallback_to IS NOT NULL ORDER BY seq FOR NO KEY UPDATE),
     taken AS (
       UPDATE deliveries d SET fallback_to = CASE WHEN c.again_at IS NOT NULL THEN fallback_to END, fallback_at = c.again_at
       FROM unnest($1::bigint[], $2::bigint[]) AS c (seq, again_at)
       WHERE d.seq = c.seq AND d.seq = ANY (ARRAY(SELECT seq FROM calling)) AND fallback_to IS NOT NULL
       RETURNING d.seq, alert_seq, destination, purpose),
     locked AS MATERIALIZED (
       SELECT seq FROM alerts WHERE seq = ANY (ARRAY(SELECT alert_seq FROM taken)) ORDER BY seq FOR NO KEY UPDATE)
     SELECT taken.* FROM taken JOIN locked ON locked.seq = taken.alert_seq`,
    [fallbacks.map(({ deliverySeq }) => deliverySeq), fallbacks.map(({ againAt }) => againAt ?? null)],
    "take_fallbacks",
  );
  if (taken.length === 0) return;
  const { rows: made } = await tx.query<{
    alert_seq: number;
    destination: string;
    recipient: string;
    instead_of: string;
  }>(
    `SELECT alert_seq, destination, recipient, instead_of FROM deliveries
     WHERE alert_seq = ANY($1::bigint[]) AND instead_of IS NOT NULL`,
    [taken.map((row) => row.alert_seq)],
    "list_fallbacks",
  );
  const known = new Set(
    made.map((row) => JSON.stringify([row.alert_seq, row.destination, row.recipient, row.instead_of])),
  );
  const takenOf = new Map(taken.map((row) => [row.seq, row]));
  const deliveries: NewDelivery[] = [];
  for (const { deliverySeq, planned: all } of fallbacks) {
    const row = takenOf.get(deliverySeq);
    if (row === undefined) continue;
    takenOf.delete(deliverySeq);
    const { alert_seq: alertSeq, destination: insteadOf } = row;
    for (const planned of all) {
      const key = JSON.stringify([alertSeq, planned.destination, planned.recipient, insteadOf]);
      if (known.has(key)) continue;
      known.add(key);
      const purpose = row.purpose === "notice" ? "notice" : "fallback";
      deliveries.push({ id: newId(), alertSeq, planned, purpose, at, insteadOf });
    }
  }
  await makeDeliveries(toTx(tx, tx.notes), deliveries);
}
