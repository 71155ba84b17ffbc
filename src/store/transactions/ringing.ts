import type { RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { Damped, RingMemory } from "../../core/ring.ts";
import type { Decision, PlannedDelivery } from "../../core/rules.ts";
import { forgetRing, judgeRing, missRing } from "../../ringing/judge-ring.ts";
import { ringEventOf } from "../../ringing/ring-event.ts";
import type { Dialect, Tx } from "../tx.ts";
import type { withoutToldEnd } from "./ends.ts";
import { createMemories, keyOf, type Place, type Remembered } from "./memories.ts";
import type { Unrouted } from "./repeats.ts";

export type Ringing = ReturnType<typeof createRinging>;

/**
 * The decisions and deliveries of an alert, and its counts: deliveries that only change a message. `over`: destinations where its
 * key has ended since.
 */
export type Judged = ReturnType<typeof withoutToldEnd> & { counts?: PlannedDelivery[]; over?: ReadonlySet<string> };

export interface Rings {
  /** Called in the order of the records: a ring of one counts for the next. */
  judge(record: RoutingRecord, alert: Unrouted, left: Judged): Judged;
  /** Called after the deliveries are made. Absent: nothing is judged. */
  save?(tx: Tx): Promise<void>;
}

/** A key without an alert for so long is forgotten. The rule looks back over hours only. */
const keptMs = 7 * 24 * 3_600_000;
const countedElsewhere = "counted: the next message about its key tells it";
export const unjudged: Rings = { judge: (_record, _alert, left) => left };

function statementsOf(sql: Dialect) {
  // A claimed delivery is not ended: its message may have left.
  const mayEnd = "due_at IS NOT NULL AND (updates = 'count' OR updates = 'summary' AND state = 'held')";
  const endFormer = sql.statement(
    { ids: "text[]", destinations: "text[]", at: "int8" },
    `WITH former AS MATERIALIZED (
       SELECT d.seq FROM ${sql.rowsOf({ id: "ids", destination: "destinations" })} AS asked
         JOIN alerts a ON a.id = asked.id AND a.id ${sql.isOneOf(":ids")}
         JOIN deliveries d ON d.alert_seq = a.seq AND d.destination = asked.destination
           AND d.alert_seq ${sql.isIn(`SELECT seq FROM alerts WHERE id ${sql.isOneOf(":ids")}`)}
       WHERE ${mayEnd.replaceAll(/due_at|updates|state/g, "d.$&")} ${sql.forUpdate("d.seq")})
     UPDATE deliveries SET state = 'digested', reason = '${countedElsewhere}', due_at = NULL, finished_at = :at
     WHERE seq ${sql.isIn("SELECT seq FROM former")} AND ${mayEnd} RETURNING alert_seq`,
    ({ alert_seq }: { alert_seq: number }) => alert_seq,
  );
  const findUnheard = sql.statement(
    { seqs: "int8[]" },
    `SELECT one.destination, a.alert_key AS name, a.id, one.recipient, one.purpose, EXISTS (
       SELECT 1 FROM deliveries d WHERE d.alert_seq = one.alert_seq AND d.destination = one.destination
         AND d.updates <> 'count' AND d.state NOT IN ('failed', 'expired', 'muted')) AS others
     FROM deliveries one JOIN alerts a ON a.seq = one.alert_seq
       JOIN rings ON rings.destination = one.destination AND rings.alert_key = a.alert_key
     WHERE one.seq ${sql.isOneOf(":seqs")} AND one.updates NOT IN ('count', 'summary')`,
    (row: Place & { id: string; recipient: string; purpose: string; others: boolean | number }) => row,
  );
  const waiting = "d.due_at IS NOT NULL AND d.updates = 'summary' AND d.state = 'held'";
  const count = sql.statement(
    { ids: "text[]", destinations: "text[]", counts: "text[]" },
    `WITH asked AS MATERIALIZED (
       SELECT a.seq AS alert_seq, given.destination, given.damped
       FROM ${sql.rowsOf({ id: "ids", destination: "destinations", damped: "counts" })} AS given JOIN alerts a ON a.id = given.id),
     summaries AS MATERIALIZED (
       SELECT d.seq FROM deliveries d WHERE (d.alert_seq, d.destination) IN (SELECT alert_seq, destination FROM asked)
         AND ${waiting} ${sql.forUpdate("d.seq")})
     UPDATE deliveries AS d SET damped = (
       SELECT damped FROM asked WHERE asked.alert_seq = d.alert_seq AND asked.destination = d.destination)
     WHERE seq ${sql.isIn("SELECT seq FROM summaries")} AND ${waiting} RETURNING alert_seq`,
    ({ alert_seq }: { alert_seq: number }) => alert_seq,
  );
  return { endFormer, findUnheard, count };
}

/**
 * Decides whether an alert rings. The last rings of a key are one row for each destination. Routing an alert reads and advances
 * it. Another relay that routes an alert of the same key waits until this transaction has ended.
 *
 *     rings ──▶ delivery as planned; it says what did not ring since the last one
 *     does not ring ──▶ `summary`, held until the key is calm, and where a message can be changed a `count`, at once
 *     muted ──▶ as planned; it is only remembered, and ends nothing but a summary that is not so any more
 *     the next alert of the key, whether it rings or not ──▶ ends the summary and the count of the one before, unless they are under way
 *
 * At most one summary of a key waits at a destination, and at most one count. A ring that reached nobody is forgotten. Recipients
 * that a ring did not reach get the next firing alert.
 */
export function createRinging(sql: Dialect) {
  const rings = createMemories<RingMemory>(sql, "rings", keptMs);
  const { endFormer, findUnheard, count } = statementsOf(sql);

  return {
    async lookUpRings(tx: Tx, records: readonly RoutingRecord[]): Promise<Rings> {
      const pairs = new Map(records.flatMap(pairsOf).map((pair) => [keyOf(pair), pair]));
      if (pairs.size === 0) return unjudged;
      const desk = new RingDesk(await rings.findLocked(tx, [...pairs.values()]));
      return {
        judge: (record, alert, left) => desk.judge(record, alert, left),
        async save(tx) {
          const end = (those: typeof desk.former) =>
            those.length === 0
              ? []
              : tx.run(endFormer, {
                  ids: those.map(({ id }) => id),
                  destinations: those.map(({ destination }) => destination),
                  at: records[0]?.routedAt ?? 0,
                });
          const grow = (those: readonly Counted[]) =>
            those.length === 0
              ? []
              : tx.run(count, {
                  ids: those.map(({ id }) => id),
                  destinations: those.map(({ destination }) => destination),
                  counts: those.map(({ damped }) => JSON.stringify(damped)),
                });
          const counted = [...desk.counted.values()];
          const isForeign = (one: { id: string }) => !desk.isOwn(one);
          const [grown, ended] = await Promise.all([
            grow(counted.filter(isForeign)),
            end(desk.former.filter(isForeign)),
            // Alerts that this transaction has judged change in any case.
            grow(counted.filter(desk.isOwn)),
            end(desk.former.filter(desk.isOwn)),
            rings.save(tx, [...desk.judged.values()]),
          ]);
          await tx.changed([...new Set([...grown, ...ended])]);
        },
      };
    },

    /** Called when deliveries failed or expired: a ring holds nothing back from recipients that it did not reach. */
    async forgetUnheard(tx: Tx, deliverySeqs: readonly number[], at: number): Promise<void> {
      const unheard = deliverySeqs.length === 0 ? [] : await tx.run(findUnheard, { seqs: deliverySeqs });
      if (unheard.length === 0) return;
      const memories = await rings.findLocked(tx, [...new Map(unheard.map((pair) => [keyOf(pair), pair])).values()]);
      const changed = new Map<string, Remembered<RingMemory>>();
      for (const pair of unheard) {
        const memory = memories.get(keyOf(pair));
        if (memory === undefined) continue;
        const { id, recipient, purpose, others } = pair;
        if (others && purpose !== "alert") continue;
        const left = others ? missRing(memory, id, recipient) : forgetRing(memory, id);
        memories.set(keyOf(pair), left);
        changed.set(keyOf(pair), { ...pair, memory: left, at });
      }
      await rings.save(tx, [...changed.values()]);
    },

    forgetOldRings: rings.forgetOld,
  };
}

/** The alert `id` waits for a summary, which counts what did not ring. */
interface Counted {
  destination: string;
  id: string;
  damped: Damped;
}

/** Judges records in order, by what is remembered of their keys. */
class RingDesk {
  readonly #ids = new Set<string>();
  /** The memories after the judged records. */
  readonly judged = new Map<string, Remembered<RingMemory>>();
  /** Alerts that did not ring and were followed by another alert of their key. */
  readonly former: { destination: string; id: string }[] = [];
  /** Summaries that count an older alert too, which was judged later, by their places. */
  readonly counted = new Map<string, Counted>();

  constructor(readonly memories: Map<string, RingMemory>) {}

  /** Whether the alert was judged here: its deliveries then change in any case. */
  readonly isOwn = ({ id }: { id: string }): boolean => this.#ids.has(id);

  judge(record: RoutingRecord, { id, receivedAt }: Unrouted, left: Judged): Judged {
    const held = new Map<string, Held>();
    const rung = new Map<string, Rung>();
    const past = new Map<string, string>();
    const over = new Set<string>();
    for (const pair of pairsOf({ ...record, deliveries: left.deliveries.filter((one) => one !== undefined) })) {
      const { destination, rule, isQuiet, isMuted } = pair;
      const before = this.memories.get(keyOf(pair));
      const event = { ...ringEventOf({ id, receivedAt, facts: record.facts }), isQuiet, isMuted };
      const { rings, isPast, why, asNew, damped, summaryDueAt, ringsFor = [], memory } = judgeRing(before, event, rule);
      if (isPast && rings) over.add(destination);
      else if (isPast && damped === undefined) past.set(destination, why);
      else if (!rings)
        held.set(destination, { ...(damped as Damped), dueAt: summaryDueAt ?? record.routedAt, ringsFor });
      else rung.set(destination, { damped, isAgain: asNew && before !== undefined });
      this.#ids.add(id);
      this.memories.set(keyOf(pair), memory);
      this.judged.set(keyOf(pair), { ...pair, memory, at: record.routedAt });
      if (before?.summaryDueAt !== undefined && before.latest.id !== memory.latest.id)
        this.former.push({ destination, id: before.latest.id });
      if (isPast && !rings && damped !== undefined) {
        this.former.push({ destination, id });
        this.counted.set(keyOf(pair), { destination, id: memory.latest.id, damped });
      }
    }
    return { ...withJudgement(withoutPast(left, past), record, held, rung), over };
  }
}

/** The places where the alert is judged, each destination once: it rings there for all recipients or for none. */
function pairsOf({ deliveries, facts }: Pick<RoutingRecord, "deliveries" | "facts">) {
  const pairs = deliveries.flatMap(({ destination, ring: rule, state, updates }) =>
    rule === undefined || updates === "later_end"
      ? []
      : { destination, rule, name: facts.alertKey, isQuiet: state === "held", isMuted: state === "muted" },
  );
  return [...new Map(pairs.map((pair) => [pair.destination, pair])).values()];
}

/** @param past why the alert is not sent, by destination */
function withoutPast(left: Judged, past: ReadonlyMap<string, string>): Judged {
  if (past.size === 0) return left;
  const { decisions, deliveries } = left;
  return {
    ...left,
    decisions: decisions.map((decision): Decision => {
      const why = past.get(decision.destination ?? "");
      if (why === undefined || (decision.result !== "deliver" && decision.result !== "held")) return decision;
      return { ...decision, result: "contained", reason: `${decision.reason}; not sent, as ${why}` };
    }),
    deliveries: deliveries.map((planned) => (planned && past.has(planned.destination) ? undefined : planned)),
  };
}

type Held = Damped & { dueAt: number; ringsFor: readonly string[] };

interface Rung {
  /** Alerts that did not ring since the last ring. */
  damped?: Damped;
  /** The key rang before, and this is a ring of its own. */
  isAgain: boolean;
}

/** Applies the judgement to an alert's decisions and deliveries. Pure. */
function withJudgement(
  { decisions, deliveries }: Judged,
  { countsIn = [] }: RoutingRecord,
  held: ReadonlyMap<string, Held>,
  rung: ReadonlyMap<string, Rung>,
): Judged {
  const counts: PlannedDelivery[] = [];
  return {
    decisions: decisions.map((decision): Decision => {
      const by = held.get(decision.destination ?? "");
      if (by === undefined || (decision.result !== "deliver" && decision.result !== "held")) return decision;
      const why = `${decision.reason}; does not ring: ${by.why}`;
      if (by.ringsFor.length > 0)
        return { ...decision, reason: `${why}; but it goes to those that the last ring missed` };
      return { ...decision, result: "damped", reason: why };
    }),
    deliveries: deliveries.map((planned): PlannedDelivery | undefined => {
      if (planned === undefined || planned.state === "muted" || planned.updates === "later_end") return planned;
      const by = held.get(planned.destination);
      if (by === undefined) return ring(planned, rung.get(planned.destination));
      const { dueAt, ringsFor, ...damped } = by;
      if (ringsFor.includes(planned.recipient)) {
        const again = ring(planned, { isAgain: true });
        return { ...again, reason: `${planned.reason}; the last ring did not reach it` };
      }
      const quiet = { ...planned, damped, fallback: undefined, freshnessMs: undefined };
      if (planned.state === "queued" && countsIn.includes(planned.destination))
        counts.push({ ...quiet, updates: "count", reason: `does not ring: ${damped.why}` });
      return {
        ...quiet,
        ...{ updates: "summary", state: "held", dueAt: Math.max(planned.dueAt, dueAt) },
        reason: `does not ring: ${damped.why}; told when it is calm`,
      };
    }),
    counts,
  };
}

/** A ring of a key that rang before gets a message of its own. */
function ring(planned: PlannedDelivery, rung: Rung | undefined): PlannedDelivery {
  if (rung === undefined) return planned;
  const { updates } = planned;
  const isEdit = rung.isAgain && (updates === "auto" || updates === "edit");
  return { ...planned, damped: rung.damped, updates: isEdit ? "reply" : updates };
}
