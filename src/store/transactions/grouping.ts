import { allCauses, type GroupEvent, type GroupMemory, type GroupRule } from "../../core/group.ts";
import type { NewId } from "../../core/id.ts";
import type { RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { Decision, MessageExtras, PlannedDelivery } from "../../core/rules.ts";
import {
  currentCauses,
  endCauses,
  type Gathered,
  type GroupChange,
  judgeGroups,
  mayChangeCauses,
} from "../../ringing/judge-group.ts";
import { readJson } from "../rows.ts";
import type { Row } from "../tables.ts";
import type { Dialect, Tx } from "../tx.ts";
import { untoldStates } from "./ends.ts";
import { createMemories, keyOf, type Place, type Remembered } from "./memories.ts";
import type { Unrouted } from "./repeats.ts";
import type { Judged } from "./ringing.ts";
import { createMaking } from "./writing.ts";

export type Grouping = ReturnType<typeof createGrouping>;

export interface Groups {
  /** Called for each record, in their order. A record can join a group that an earlier record began. */
  gather(record: RoutingRecord, alert: Unrouted, left: Judged): Judged;
  /** Called after the deliveries are made. Absent: nothing is grouped. */
  save?(tx: Tx): Promise<void>;
}

type CauseRow = Pick<Row<"deliveries">, "alert_seq" | "channel" | "recipient" | "route" | "extras">;

/** Longer than any cause may hold back. */
const keptMs = 14 * 24 * 3_600_000;
const overBefore = "it began and was over while its cause fired";
/** A message that cannot name all that its cause holds back is changed no more often than this. */
const recountMs = 10_000;
/** Deliveries that one step changes: the writing thread takes some 10 ms, and accepting alerts waits for it. */
const mostAtOnce = 400;
/** Deliveries that take several steps are due this much later, so that their messages know how many there are. */
const gatherMs = 3_000;
/** The rest of the steps is remembered by this name. */
const restOfSteps = '["rest"]';
export const ungrouped: Groups = { gather: (_record, _alert, left) => left };

function statementsOf(sql: Dialect) {
  const ofGroup = `d.destination = :destination AND d.group_name = :name AND d.due_at <= :up_to AND d.state = 'held'`;
  const changed = ({ alert_seq }: { alert_seq: number }) => alert_seq;
  const pick = sql.statement(
    { destination: "text", name: "text", up_to: "int8", due_at: "int8", most: "int8" },
    `SELECT d.seq FROM deliveries d ${sql.indexedBy("deliveries_held")} WHERE ${ofGroup} AND d.due_at > :due_at
     ORDER BY d.due_at, d.seq ${sql.limit(":most")}`,
    ({ seq }: { seq: number }) => seq,
  );
  const picked = `d.seq ${sql.isOneOf(":seqs")} AND d.state = 'held'`;
  const isEnd = (alert: string) => `${sql.statusOf(alert)} = 'resolved'`;
  // An alert that ends the key followed. If the delivery is itself of an end, the later end must go to the same chat.
  const isFollowed = `EXISTS (
    SELECT 1 FROM alerts f WHERE f.alert_key = a.alert_key AND f.seq > a.seq AND f.repeat_of IS NULL AND f.routed_at IS NOT NULL
      AND ${isEnd("f")} AND (${sql.statusOf("a")} <> 'resolved' OR EXISTS (
        SELECT 1 FROM deliveries e WHERE e.alert_seq = f.seq AND e.destination = d.destination
          AND e.recipient = d.recipient AND e.state NOT IN ${untoldStates})))`;
  // The status of its key in the last message before, in the same chat.
  const toldBefore = `(
    SELECT ${sql.statusOf("b")} FROM alerts b JOIN deliveries e ON e.alert_seq = b.seq
    WHERE b.alert_key = a.alert_key AND b.seq < a.seq AND e.destination = d.destination AND e.recipient = d.recipient
      AND e.state NOT IN ${untoldStates} AND e.reason <> '${overBefore}'
      AND (e.state <> 'held' OR e.group_name IS NULL OR e.group_name <> d.group_name)
    ORDER BY b.seq DESC LIMIT 1)`;
  const endOver = sql.statement(
    { seqs: "int8[]", at: "int8" },
    `WITH over AS MATERIALIZED (
       SELECT d.seq FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq WHERE ${picked}
         AND (${isFollowed} OR ${isEnd("a")} AND coalesce(${toldBefore}, 'resolved') = 'resolved') ${sql.forUpdate("d.seq")})
     UPDATE deliveries SET state = 'digested', reason = '${overBefore}', due_at = NULL, fallback_at = NULL, finished_at = :at
     WHERE seq ${sql.isIn("SELECT seq FROM over")} AND state = 'held' RETURNING alert_seq`,
    changed,
  );
  const hasten = sql.statement(
    { seqs: "int8[]", due_at: "int8" },
    `WITH later AS MATERIALIZED (
       SELECT d.seq FROM deliveries d WHERE ${picked} AND d.due_at > :due_at ${sql.forUpdate("d.seq")})
     UPDATE deliveries SET fallback_at = fallback_at + :due_at - due_at, due_at = :due_at
     WHERE seq ${sql.isIn("SELECT seq FROM later")} AND state = 'held' AND due_at > :due_at RETURNING alert_seq`,
    changed,
  );
  const move = sql.statement(
    { destination: "text", name: "text", up_to: "int8", due_at: "int8", to: "text", keys: "text[]" },
    `WITH moved AS MATERIALIZED (
       SELECT d.seq FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
       WHERE ${ofGroup} AND a.alert_key ${sql.isOneOf(":keys")} ${sql.forUpdate("d.seq")})
     UPDATE deliveries SET fallback_at = fallback_at + :due_at - due_at, due_at = :due_at, group_name = :to
     WHERE seq ${sql.isIn("SELECT seq FROM moved")} AND state = 'held' RETURNING alert_seq`,
    changed,
  );
  const findUntold = sql.statement(
    { seqs: "int8[]" },
    `SELECT DISTINCT one.destination, a.id FROM deliveries one JOIN alerts a ON a.seq = one.alert_seq
       JOIN group_memories m ON m.destination = one.destination AND m.name = '${allCauses}'
     WHERE one.seq ${sql.isOneOf(":seqs")} AND one.updates NOT IN ('count', 'summary') AND NOT EXISTS (
       SELECT 1 FROM deliveries d WHERE d.alert_seq = one.alert_seq AND d.destination = one.destination
         AND d.updates NOT IN ('count', 'summary') AND d.state IN ('sent', 'digested'))`,
    (row: { destination: string; id: string }) => row,
  );
  const findCause = sql.statement(
    { id: "text", destination: "text" },
    `SELECT d.alert_seq, d.channel, d.recipient, d.route, d.extras FROM alerts a JOIN deliveries d ON d.alert_seq = a.seq
     WHERE a.id = :id AND d.destination = :destination AND d.purpose = 'alert' AND d.state <> 'muted'
       AND d.updates NOT IN ('count', 'summary')`,
    (row: CauseRow) => row,
  );
  const recount = sql.statement(
    { seq: "int8", destination: "text", reason: "text", extras: "text" },
    `UPDATE deliveries SET reason = :reason, extras = :extras
     WHERE alert_seq = :seq AND destination = :destination AND updates = 'count' AND due_at IS NOT NULL RETURNING recipient`,
    ({ recipient }: { recipient: string }) => recipient,
  );
  return { pick, endOver, hasten, move, findUntold, findCause, recount };
}

/**
 * Holds alerts of one group until they go out together, and alerts behind a cause until it is over. The memory of a group or a
 * cause is one row for each destination. Routing an alert reads and advances it, after the rows of what rings.
 *
 *     of a group ──▶ held until the group goes out; with its name, by which the lane sends all that are due as one message
 *     critical ──▶ at once, and what waits in its group with it
 *     behind a cause ──▶ held until that is over, or for as long as it may hold back; the message of the cause counts it in place
 *     the end of the last cause ──▶ what it held back is due, but for what began and was over meanwhile
 *     more of one name than one step may change ──▶ the oldest; the rest is remembered, and done by the next step (`releaseRest`)
 */
export function createGrouping(sql: Dialect, newId: NewId) {
  const memories = createMemories<KeptGroup>(sql, "group_memories", keptMs);
  const make = createMaking(sql);
  const statements = statementsOf(sql);
  const { findUntold, findCause, recount } = statements;
  const apply = createSteps(memories, statements);

  /** Makes the message of a cause count what it holds back. A count that still waits is replaced. */
  async function count(tx: Tx, at: number, { destination, causeId, with: held }: CountedCause): Promise<void> {
    const [rows = []] = await tx.look(findCause, [{ id: causeId, destination }]);
    const [first] = rows;
    if (first === undefined) return;
    const reason = `with it: ${held.count}`;
    const extras = { ...readJson<MessageExtras>(first.extras), with: held };
    const seq = first.alert_seq;
    const counted = await tx.run(recount, { seq, destination, reason, extras: JSON.stringify(extras) });
    if (counted.length > 0) await tx.changed([seq]);
    const dueAt = held.count > held.titles.length ? at + recountMs : at;
    const others = rows.filter(({ recipient }) => !counted.includes(recipient));
    await make(
      tx,
      others.map(({ channel, recipient, route }) => ({
        ...{ id: newId(), alertSeq: seq, purpose: "alert", at },
        planned: {
          ...{ destination, channel, recipient, route, state: "queued", reason },
          ...{ dueAt, updates: "count", extras },
        },
      })),
    );
  }

  return {
    async lookUpGroups(tx: Tx, records: readonly RoutingRecord[]): Promise<Groups> {
      const places = new Map(records.flatMap(placesOf).map((place) => [keyOf(place), place]));
      if (places.size === 0) return ungrouped;
      const ofCauses = sql.isShared ? [...places.values()].filter(({ name }) => name === allCauses) : [];
      const known = await memories.find(tx, ofCauses);
      const changing = new Set(records.flatMap((record) => placesToLock(record, known)));
      const locked = [...places.values()].filter(
        (place) => place.name !== allCauses || !sql.isShared || changing.has(keyOf(place)),
      );
      const desk = new GroupDesk(new Map([...known, ...(await memories.findLocked(tx, locked))]));
      const at = records[0]?.routedAt ?? 0;
      return {
        gather: (record, alert, left) => desk.gather(record, alert, left),
        async save(tx) {
          await memories.save(tx, [...desk.touched.values()]);
          const changed = desk.changes.map(({ destination }) => destination);
          if (changed.length > 0) await apply(tx, at, changed, desk.changes);
          for (const cause of desk.counts.values()) await count(tx, at, cause);
        },
      };
    },

    /** For deliveries that did not arrive in time: a cause that nobody knows of holds nothing back. */
    async forgetUntold(tx: Tx, deliverySeqs: readonly number[], at: number): Promise<void> {
      const untold = deliverySeqs.length === 0 ? [] : await tx.run(findUntold, { seqs: deliverySeqs });
      const destinations = [...new Set(untold.map(({ destination }) => destination))].sort();
      const pairs = destinations.map((destination) => ({ destination, name: allCauses }));
      if (pairs.length === 0) return;
      const found = await memories.findLocked(tx, pairs);
      for (const pair of pairs) {
        const { destination } = pair;
        const ids = new Set(untold.flatMap((one) => (one.destination === destination ? [one.id] : [])));
        const known = currentCauses(found.get(keyOf(pair)), at);
        const { causes, changes } = endCauses(known, at, (_, id) => ids.has(id));
        await memories.save(tx, [{ ...pair, memory: { causes }, at }]);
        const placed = changes.map((change) => ({ ...change, destination }));
        if (placed.length > 0) await apply(tx, at, [destination], placed);
      }
    },

    async releaseRest(tx: Tx, destinations: string[], at: number): Promise<boolean> {
      const asked = destinations.map((destination) => ({ destination, name: restOfSteps }));
      const found = await memories.find(tx, asked);
      const open = asked.flatMap((place) => (found.get(keyOf(place))?.rest?.length ? [place.destination] : []));
      return open.length > 0 && (await apply(tx, at, open, []));
    },

    forgetOldGroups: memories.forgetOld,
  };
}

/** Makes changes in order, after the rest of earlier ones, as many as one step may. True: some are left. */
function createSteps(
  { findLocked, save }: ReturnType<typeof createMemories<KeptGroup>>,
  { pick, endOver, hasten, move }: ReturnType<typeof statementsOf>,
) {
  return async (tx: Tx, at: number, destinations: string[], changes: readonly PlacedChange[]): Promise<boolean> => {
    const places = [...new Set(destinations)].map((destination) => ({ destination, name: restOfSteps }));
    const found = await findLocked(tx, places);
    const former = [...found.values()].flatMap(({ rest = [] }) => rest);
    const rest: PlacedChange[] = [];
    const changed: number[] = [];
    let room = mostAtOnce;
    for (const change of [...former, ...changes]) {
      const { destination, name, kind, upTo } = change;
      const asked = { destination, name, up_to: upTo, due_at: change.dueAt };
      tx.notes.due.add(destination);
      if (kind === "move") {
        changed.push(...(await tx.run(move, { ...asked, to: change.to, keys: change.keys })));
        continue;
      }
      const seqs = await tx.run(pick, { ...asked, most: room });
      const isAll = seqs.length < room;
      room -= seqs.length;
      const dueAt = isAll || kind === "hasten" || change.dueAt > at ? change.dueAt : at + gatherMs;
      if (kind === "release") changed.push(...(await tx.run(endOver, { seqs, at })));
      changed.push(...(await tx.run(hasten, { seqs, due_at: dueAt })));
      if (!isAll) rest.push({ ...change, dueAt });
    }
    const memoryOf = (place: Place) => ({ rest: rest.filter(({ destination }) => destination === place.destination) });
    const left = places.map((place) => ({ ...place, memory: memoryOf(place), at }));
    if (former.length + rest.length > 0) await save(tx, left);
    await tx.changed([...new Set(changed)]);
    return rest.length > 0;
  };
}

type PlacedChange = GroupChange & { destination: string };

/** `rest`: the changes that are left for the destination, under the name `restOfSteps`. */
type KeptGroup = GroupMemory & { rest?: PlacedChange[] };

interface CountedCause extends NonNullable<Gathered["behind"]> {
  destination: string;
}

/** Judges records in order, by what is remembered of their groups and causes. */
class GroupDesk {
  /** The memories after the judged records, by place. */
  readonly touched = new Map<string, Remembered<GroupMemory>>();
  readonly changes: PlacedChange[] = [];
  readonly counts = new Map<string, CountedCause>();

  constructor(readonly memories: Map<string, GroupMemory>) {}

  gather(record: RoutingRecord, { id }: Unrouted, left: Judged): Judged {
    const { facts, routedAt: at, countsIn = [], deliveries } = record;
    const { alertKey, severity, status, title } = facts;
    const event: GroupEvent = { id, at, alertKey, severity, status, title };
    const found = new Map<string, Gathered>();
    for (const [index, { destination, group }] of deliveries.entries()) {
      if (group === undefined || found.has(destination)) continue;
      const kept = left.deliveries[index];
      const isSent = kept?.state === "queued" && kept.updates !== "later_end" && !left.over?.has(destination);
      const judged = judgeGroups((name) => this.memories.get(keyOf({ destination, name })), event, group, isSent);
      for (const [name, memory] of judged.memories) {
        const key = keyOf({ destination, name });
        this.memories.set(key, memory);
        this.touched.set(key, { destination, name, memory, at });
      }
      this.changes.push(...judged.changes.map((change) => ({ ...change, destination })));
      if (judged.behind && countsIn.includes(destination))
        this.counts.set(keyOf({ destination, name: judged.behind.causeId }), { destination, ...judged.behind });
      found.set(destination, judged);
    }
    return withGroups(left, found);
  }
}

function placesOf({ deliveries }: Pick<RoutingRecord, "deliveries">): Place[] {
  return deliveries.flatMap(({ destination, group }) => namesOf(group).map((name) => ({ destination, name })));
}

/** The places that an alert locks. An alert that changes no cause locks none of them, so other relays need not wait for it. */
function placesToLock({ deliveries, facts }: RoutingRecord, memories: ReadonlyMap<string, GroupMemory>): string[] {
  return deliveries.flatMap(({ destination, group = {} }) => {
    const key = keyOf({ destination, name: allCauses });
    return mayChangeCauses(memories.get(key), facts.alertKey, group) ? [key] : [];
  });
}

function namesOf({ group, holds, heldBy }: GroupRule = {}): string[] {
  return [...(group ? [group.name] : []), ...(holds || heldBy ? [allCauses] : [])];
}

/** Applies the judgement to an alert's decisions and deliveries. Pure. */
function withGroups({ decisions, deliveries, counts }: Judged, found: ReadonlyMap<string, Gathered>): Judged {
  const whyAt = (destination = "") => found.get(destination)?.why ?? "";
  return {
    decisions: decisions.map((decision): Decision => {
      const { destination, result, reason } = decision;
      const why = whyAt(destination);
      if (why === "" || result !== "deliver") return decision;
      const isHeld = found.get(destination ?? "")?.held !== undefined;
      return { ...decision, result: isHeld ? "held" : result, reason: `${reason}; ${why}` };
    }),
    deliveries: deliveries.map((planned): PlannedDelivery | undefined => {
      const judged = found.get(planned?.destination ?? "");
      if (planned === undefined || judged === undefined) return planned;
      const { held, why, with: holds } = judged;
      const extras = holds ? { ...planned.extras, with: holds } : planned.extras;
      if (planned.state !== "queued" || held === undefined) return { ...planned, extras };
      const { dueAt, name: groupName } = held;
      const { fallback } = planned;
      return {
        ...{ ...planned, extras, state: "held", dueAt, groupName, reason: `${planned.reason}; ${why}` },
        fallback: fallback && { ...fallback, at: fallback.at + dueAt - planned.dueAt },
      };
    }),
    counts,
  };
}
