import type { Thread } from "../../core/delivery-job.ts";
import type { PaceRecord } from "../../core/destination-status.ts";
import type { NewId } from "../../core/id.ts";
import type { AttemptRecord, Dispatch, Untried } from "../../core/ports/dispatch.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import { rowOf } from "../rows.ts";
import { type Dialect, givenOf, type InTx, type Joint, type StepItem, type Tx, type WhichLanes } from "../tx.ts";
import { type CallFallbacks, createFallbacks } from "./fallbacks.ts";
import type { Grouping } from "./grouping.ts";
import { noteHold } from "./holding.ts";
import { type Fences, underFence } from "./lanes.ts";
import type { Ringing } from "./ringing.ts";

export type RecordCall = [lane: LaneFence, record: AttemptRecord, paces: PaceRecord[]];
type Kept = "recorded" | "late";

const attemptColumns = ["at", "duration_ms", "action", "part", "parts", "outcome", "reason", "detail"] as const;
const threadColumns = [
  ...(["root_ref", "root_alert_seq", "last_ref", "last_alert_seq", "first_at", "last_new_at", "last_at"] as const),
  ...(["count", "severity", "status"] as const),
];
const given = {
  token: "text",
  ...givenOf("attempts", attemptColumns),
  counted: "int8",
  ambiguous: "int8",
  progress: "text",
  next_state: "text",
  next_reason: "text",
  due_at: "int8",
  form: "text",
  finished_at: "int8",
  next_token: "text",
  lease_ms: "int8",
  has_thread: "int8",
  ...givenOf("threads", threadColumns),
} as const;
const asGiven = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `:${name}`]));

type RecordingDeps = { newId: NewId } & Ringing & Grouping & Fences & InTx<Dispatch, "savePaces">;

/** Whether the alert may have reached nobody after this step. */
const isUnheard = (next: AttemptRecord["next"] | Untried): boolean =>
  next !== undefined && ["failed", "expired", "muted"].includes(next.state);

/** T4: attempts and the next steps of deliveries, checked by the claim's token and the lane's fence. Attempts are kept anyway. */
export function createRecording(
  sql: Dialect,
  { newId, isHeld, savePaces, forgetUnheard, forgetUntold }: RecordingDeps,
) {
  const makeFallbacks = createFallbacks(sql, newId);
  const { advance, finish } = prepareSteps(sql);
  const fence = underFence(sql);
  const release = sql.statement(
    { token: "text", due_at: "int8", was_held: "int8", ...fence.given },
    `WITH free AS MATERIALIZED (
       SELECT seq FROM deliveries WHERE state = 'sending' AND claim_token = :token AND ${fence.text} ${sql.forUpdate("seq")})
     UPDATE deliveries SET due_at = :due_at,
       state = CASE WHEN attempts > 0 THEN 'waiting' WHEN :was_held = 1 THEN 'held' ELSE 'queued' END,
       claim_token = NULL, lease_until = NULL
     WHERE seq ${sql.isIn("SELECT seq FROM free")} AND claim_token = :token RETURNING alert_seq`,
    ({ alert_seq }: { alert_seq: number }) => alert_seq,
  );

  const callFallbacks: CallFallbacks = async (tx, calls, at) => {
    await makeFallbacks(tx, calls, at);
    const seqs = calls.map(({ deliverySeq }) => deliverySeq);
    await forgetUntold(tx, seqs, at);
  };

  async function forget(tx: Tx, deliverySeqs: readonly number[], at: number): Promise<void> {
    await forgetUnheard(tx, deliverySeqs, at);
    await forgetUntold(tx, deliverySeqs, at);
  }

  /** Whether each call has changed its deliveries. Undefined for a call that wrote nothing. */
  async function keep(tx: Tx, calls: readonly RecordCall[], which: WhichLanes): Promise<(Kept | undefined)[]> {
    const kept = calls.map((): Kept | undefined => undefined);
    for (const wave of toWaves(calls)) {
      const items = wave.flatMap(({ lane, record }) => toItems(lane, record));
      const stepped = await tx.step(advance, items, which);
      let first = 0;
      for (const { call, record } of wave) {
        const its = stepped.slice(first, first + record.deliverySeqs.length);
        first += its.length;
        if (its.every((one) => one === undefined)) continue;
        kept[call] = its.some((one) => one?.isChanged) ? "recorded" : "late";
        const { deliverySeqs, fallbacks = [] } = record;
        const called = fallbacks.filter(({ deliverySeq }) => its[deliverySeqs.indexOf(deliverySeq)]?.isChanged);
        if (called.length > 0) await callFallbacks(tx, called, record.at);
        if (isUnheard(record.next)) await forget(tx, deliverySeqs, record.at);
      }
    }
    return kept;
  }

  const recordAttempt: Joint<RecordCall, Kept | "lost"> = {
    // In one transaction, paces of several lanes would lock their rows in an order of chance.
    mayShare: ([, , paces]) => paces.length === 0,
    countDeliveries: ([, { deliverySeqs }]) => deliverySeqs.length,
    isOneStatement: (calls) =>
      toWaves(calls).length === 1 &&
      calls.every(
        ([, { fallbacks = [], next }, paces]) => paces.length === 0 && fallbacks.length === 0 && !isUnheard(next),
      ),
    async run(tx, calls, which) {
      const saved = calls.map(([lane, , paces]) => savePaces(tx, lane, paces));
      const [kept] = await Promise.all([keep(tx, calls, which), ...saved]);
      return kept.map((result) => (which === "free" || result === "recorded" ? result : undefined));
    },
    answerOther: async (tx, [lane]) => ((await isHeld(tx, lane)) ? "late" : "lost"),
  };

  return {
    recordAttempt,

    async finishDeliveries(tx, lane, deliverySeqs, next, at, fallbacks) {
      const { state, reason } = next;
      const due_at = "dueAt" in next ? next.dueAt : null;
      const finished_at = next.state === "held" || next.state === "waiting" ? null : at;
      const mute_id = next.state === "muted" ? next.mutedBy : null;
      const items = deliverySeqs.map((seq) => ({ seq, ...lane, state, reason, due_at, finished_at, mute_id }));
      const finished = await tx.step(finish, items);
      if (!finished.some((one) => one?.isChanged) && !(await isHeld(tx, lane))) return "lost";
      await callFallbacks(tx, fallbacks, at);
      if (isUnheard(next)) await forget(tx, deliverySeqs, at);
      return "done";
    },

    async releaseClaim(tx, lane, token, dueAt, wasHeld = false) {
      const released = await tx.run(release, { ...lane, token, due_at: dueAt, was_held: wasHeld ? 1 : 0 });
      await tx.changed([...new Set(released)]);
      return released.length > 0 || (await isHeld(tx, lane)) ? "done" : "lost";
    },

    callFallbacks,
  } satisfies InTx<Dispatch, "finishDeliveries" | "releaseClaim" | "callFallbacks"> & {
    recordAttempt: typeof recordAttempt;
  };
}

function prepareSteps(sql: Dialect) {
  const advance = sql.step({
    given,
    set: `state = coalesce(:next_state, state), reason = coalesce(:next_reason, reason), due_at = :due_at,
      finished_at = :finished_at, progress = :progress, form = coalesce(:form, form),
      attempts = attempts + :counted, ambiguous = ambiguous + :ambiguous,
      last_detail = coalesce(:detail, last_detail), last_reason = coalesce(:reason, last_reason),
      fallback_at = CASE WHEN :finished_at IS NULL THEN fallback_at END, claim_token = :next_token,
      lease_until = CASE WHEN :lease_ms IS NOT NULL THEN ${sql.inMs(":lease_ms")} END`,
    where: "claim_token = :token",
    // The delivery of a late attempt may have been removed since.
    log: { table: "attempts", values: { delivery_seq: ":seq", ...asGiven(attemptColumns) } },
    memory: {
      table: "threads",
      values: {
        ...{ destination: "d.destination", recipient: "d.recipient", alert_key: "a.alert_key" },
        ...asGiven(threadColumns),
        over_at: "CAST(NULL AS bigint)",
      },
      when: "has_thread",
    },
  });
  const finish = sql.step({
    given: { state: "text", reason: "text", due_at: "int8", finished_at: "int8", mute_id: "text" },
    set: `state = :state, reason = :reason, due_at = :due_at, finished_at = :finished_at, mute_id = coalesce(:mute_id, mute_id),
      ${noteHold("AND :state <> 'held'")},
      group_name = CASE WHEN :state <> 'held' THEN group_name END,
      fallback_at = CASE WHEN :state = 'held' THEN fallback_at + :due_at - due_at WHEN :due_at IS NOT NULL THEN fallback_at END`,
    where: "due_at IS NOT NULL",
  });
  return { advance, finish };
}

interface Placed {
  call: number;
  lane: LaneFence;
  record: AttemptRecord;
}

/** Splits calls into waves: two attempts of one delivery cannot be in one statement. */
function toWaves(calls: readonly RecordCall[]): Placed[][] {
  const waves: { seqs: Set<number>; records: Placed[] }[] = [];
  for (const [call, [lane, record]] of calls.entries()) {
    let wave = waves.at(-1);
    if (wave === undefined || record.deliverySeqs.some((seq) => wave?.seqs.has(seq))) {
      wave = { seqs: new Set(), records: [] };
      waves.push(wave);
    }
    wave.records.push({ call, lane, record });
    for (const seq of record.deliverySeqs) wave.seqs.add(seq);
  }
  return waves.map((wave) => wave.records);
}

/** Columns that do not change are null. The first delivery saves the thread, in a digest each one that was shown. */
function toItems({ group, fence }: LaneFence, record: AttemptRecord): StepItem<typeof given>[] {
  const { next, outcome, countsAsAttempt, thread, threads } = record;
  const isFinal = next !== undefined && next.state !== "waiting" && next.state !== "held";
  const waits = next?.state === "waiting" ? next : undefined;
  const ofAll = {
    ...{ group, fence, token: record.token, ...rowOf(record, attemptColumns) },
    counted: countsAsAttempt && (next !== undefined || outcome !== "sent") ? 1 : 0,
    ambiguous: outcome === "ambiguous" ? 1 : 0,
    progress: JSON.stringify(record.progress),
    next_state: next?.state ?? null,
    next_reason: next?.reason ?? null,
    due_at: waits?.dueAt ?? null,
    form: waits?.form ?? null,
    finished_at: isFinal ? record.at + record.durationMs : null,
    next_token: next === undefined ? record.token : null,
    lease_ms: next === undefined ? (record.leaseMs ?? null) : null,
  };
  return record.deliverySeqs.map((seq, index) => {
    const told = threads?.[seq] ?? (index === 0 ? thread : undefined);
    return {
      ...ofAll,
      ...rowOf<Partial<Thread>, (typeof threadColumns)[number]>(told ?? {}, threadColumns),
      // Empty where a vendor gives no id.
      ...{ root_ref: told?.rootRef ?? "", last_ref: told?.lastRef ?? "" },
      ...{ seq, has_thread: told === undefined ? 0 : 1 },
    };
  });
}
