import type { AlertFacts } from "../../core/alert.ts";
import type { RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { Decision, PlannedDelivery } from "../../core/rules.ts";
import { readTime } from "../../ground/time/read-time.ts";
import type { Dialect, Tx } from "../tx.ts";
import { createLockedLook } from "./name-lock.ts";

/** Another end of the same key since the key last fired. It was routed before, and mostly accepted before. */
interface EarlierEnd {
  id: string;
  facts: AlertFacts;
  /** Where that end was sent, or is about to be sent. */
  told: readonly Pick<PlannedDelivery, "destination" | "recipient">[];
}

/** Ends of a key that are looked at. */
const mostEnds = 20;
/** Nobody has read the message of a delivery in one of these states. */
export const untoldStates = "('failed', 'expired', 'muted')";

type Earlier = EarlierEnd & { seq: number };

type LeftToSend = (record: RoutingRecord, id: string) => ReturnType<typeof withoutToldEnd>;

interface Row {
  /** The last alert of the key that fired before; null in all rows but one. */
  fired: number | null;
  /** An end since then; null in that row. */
  seq: number | null;
  id: string;
  facts: string;
  told: string;
}

/** Finds earlier ends of keys, in the order of the records. Another relay that routes the key waits for this transaction. */
export function createEnds(sql: Dialect) {
  const lookLocked = createLockedLook(sql, "endedKey");
  const fired = `(
    SELECT f.seq FROM alerts f
    WHERE f.alert_key = :key AND f.seq < :seq AND f.repeat_of IS NULL AND ${sql.statusOf("f")} <> 'resolved'
    ORDER BY f.seq DESC LIMIT 1)`;
  const find = sql.statement(
    { key: "text", seq: "int8" },
    `SELECT ${fired} AS fired, NULL AS seq, NULL AS id, NULL AS facts, NULL AS told
     UNION ALL
     SELECT NULL, e.* FROM (
       SELECT a.seq, a.id, a.facts, (
         SELECT ${sql.jsonRowsOf({ destination: "d.destination", recipient: "d.recipient" })} FROM deliveries d
         WHERE d.alert_seq = a.seq AND d.purpose <> 'test' AND d.state NOT IN ${untoldStates}) AS told
       FROM alerts a
       WHERE a.alert_key = :key AND a.seq <> :seq AND a.seq > coalesce(${fired}, 0) AND a.repeat_of IS NULL
         AND ${sql.statusOf("a")} = 'resolved'
       ORDER BY a.seq DESC LIMIT ${mostEnds}) AS e`,
    (row: Row) => row,
  );

  return async (tx: Tx, records: readonly RoutingRecord[]): Promise<LeftToSend> => {
    const ended = records.filter(({ endEdits }) => endEdits !== undefined);
    if (ended.length === 0) return (record) => record;
    const asked = ended.map(({ alertSeq: seq, facts }) => ({ key: facts.alertKey, seq }));
    const found = await lookLocked(tx, find, asked, ({ key }) => key);
    const rowsOf = new Map(ended.map(({ alertSeq }, index) => [alertSeq, found[index] ?? []]));
    const written: (Earlier & { isEnd: boolean })[] = [];
    return (record, id) => {
      const { alertSeq, facts } = record;
      const rows = rowsOf.get(alertSeq) ?? [];
      const beside = written.filter((one) => one.facts.alertKey === facts.alertKey);
      const firings = beside.filter(({ isEnd, seq }) => !isEnd && seq < alertSeq);
      const fired = Math.max(0, ...rows.map((row) => row.fired ?? 0), ...firings.map(({ seq }) => seq));
      const ends = [...beside.filter(({ isEnd }) => isEnd), ...rows.flatMap(toEarlier)]
        .filter(({ seq }) => seq > fired)
        .sort((one, other) => other.seq - one.seq);
      const left = record.endEdits === undefined ? record : withoutToldEnd(record, ends);
      const told = left.deliveries.flatMap((planned) => (planned && planned.state !== "muted" ? [planned] : []));
      written.push({ seq: alertSeq, id, facts, told, isEnd: facts.status === "resolved" });
      return left;
    };
  };
}

function toEarlier({ seq, id, facts, told }: Row): Earlier[] {
  if (seq === null) return [];
  return [{ seq, id, facts: JSON.parse(facts) as AlertFacts, told: JSON.parse(told) as EarlierEnd["told"] }];
}

/**
 * The deliveries of an end that still have to be sent. Pure. Senders repeat their ends: Prometheus for a quarter of an hour,
 * Alertmanager with each notification of the group. A destination that got the end of this occurrence does not get it again. A
 * later end changes the message where the channel can do so.
 * @param earlier newest first
 * @returns the deliveries at the places that they have in the record
 */
export function withoutToldEnd(
  { decisions, deliveries, facts, endEdits = [] }: RoutingRecord,
  earlier: readonly EarlierEnd[],
): { decisions: Decision[]; deliveries: (PlannedDelivery | undefined)[] } {
  const other = earlier.findIndex((one) => !isSameOccurrence(one.facts, facts));
  const same = other === -1 ? earlier : earlier.slice(0, other);
  const isLater = same.every((one) => (facts.occurredAt ?? 0) > (one.facts.occurredAt ?? 0));
  const toldBy = ({ destination, recipient }: PlannedDelivery) =>
    same.find(({ told }) => told.some((one) => one.destination === destination && one.recipient === recipient));
  const left = deliveries.map((planned): PlannedDelivery | undefined => {
    if (planned.state === "muted" || toldBy(planned) === undefined) return planned;
    if (!isLater || !endEdits.includes(planned.destination)) return undefined;
    return { ...planned, updates: "later_end", fallback: undefined };
  });
  return {
    decisions: decisions.map((decision) => {
      const its = deliveries.filter(({ destination }) => destination === decision.destination);
      const by = its.map(toldBy).find((one) => one !== undefined);
      const isLeft = left.some((planned) => planned?.destination === decision.destination);
      if (by === undefined || isLeft || (decision.result !== "deliver" && decision.result !== "held")) return decision;
      return {
        ...decision,
        result: "contained",
        reason: `${decision.reason}; not sent, as the message of alert ${by.id} says already that it is over`,
      };
    }),
    deliveries: left,
  };
}

function isSameOccurrence(one: AlertFacts, other: AlertFacts): boolean {
  const start = startOf(one);
  if (start !== undefined || startOf(other) !== undefined) return start === startOf(other);
  return one.occurredAt !== undefined && one.occurredAt === other.occurredAt;
}

/** When the occurrence began, by a field of the alert itself, but not of something inside it (`window.startTime`). */
function startOf({ fields }: AlertFacts): number | undefined {
  return fields
    .filter(({ name }) => /^start(?:s|ed)?_?(?:at|time)$/i.test(name))
    .map(({ value }) => readTime(value)?.at)
    .find((at) => at !== undefined);
}
