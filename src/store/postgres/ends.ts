import type { AlertFacts } from "../../core/alert.ts";
import type { RoutingRecord } from "../../core/ports/routing-desk.ts";
import { type EarlierEnd, mostEnds, untoldStates, withoutToldEnd } from "../told-ends.ts";
import type { Transaction } from "./database.ts";
import { toText } from "./texts.ts";

/** Of a key, an alert that came before the one that is asked about. */
type Earlier = EarlierEnd & { seq: number };

interface Ends {
  /** In the order of the records: what one of them sends counts for the next. */
  leftToSend(record: RoutingRecord, id: string): ReturnType<typeof withoutToldEnd>;
}

interface Row {
  place: number;
  fired: number | null;
  seq: number | null;
  id: string;
  facts: string;
  told: EarlierEnd["told"];
}

/**
 * What was told before of the keys that are over. Another relay that routes an end of the same key waits until this transaction
 * has ended.
 */
export async function lookUpEnds(tx: Transaction, records: readonly RoutingRecord[]): Promise<Ends> {
  const ended = records.filter(({ endEdits }) => endEdits !== undefined);
  if (ended.length === 0) return { leftToSend: (record) => record };
  const keys = ended.map(({ facts }) => toText(facts.alertKey));
  const locked = tx.query(
    `SELECT pg_advisory_xact_lock(hash) FROM (
       SELECT DISTINCT hashtextextended(key, 2) AS hash FROM unnest($1::text[]) AS key ORDER BY 1) AS hashes`,
    [keys],
    "lock_ended_keys",
  );
  // A statement of its own: it sees what was committed until the locks were given.
  const found = tx.query<Row>(
    `SELECT asked.place, fired.seq AS fired, a.seq, a.id, a.facts, coalesce((
       SELECT json_agg(json_build_object('destination', d.destination, 'recipient', d.recipient)) FROM deliveries d
       WHERE d.alert_seq = a.seq AND d.purpose <> 'test' AND d.state NOT IN ${untoldStates}), '[]') AS told
     FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS asked (key, seq, place)
     LEFT JOIN LATERAL (
       SELECT seq FROM alerts WHERE alert_key = asked.key AND seq < asked.seq AND repeat_of IS NULL AND status <> 'resolved'
       ORDER BY seq DESC LIMIT 1) AS fired ON true
     LEFT JOIN LATERAL (
       SELECT seq, id, facts FROM alerts
       WHERE alert_key = asked.key AND seq <> asked.seq AND seq > coalesce(fired.seq, 0) AND repeat_of IS NULL
         AND status = 'resolved'
       ORDER BY seq DESC LIMIT ${mostEnds}) AS a ON true
     ORDER BY asked.place, a.seq DESC`,
    [keys, ended.map(({ alertSeq }) => alertSeq)],
    "find_ends",
  );
  const [, { rows }] = await Promise.all([locked, found]);
  const byAlert = new Map<number, { fired: number; ends: Earlier[] }>();
  for (const { place, fired, seq, id, facts, told } of rows) {
    const alertSeq = ended[place - 1]?.alertSeq as number;
    const known = byAlert.get(alertSeq) ?? { fired: fired ?? 0, ends: [] };
    byAlert.set(alertSeq, known);
    if (seq !== null) known.ends.push({ seq, id, facts: JSON.parse(facts) as AlertFacts, told });
  }
  const written: (Earlier & { isEnd: boolean })[] = [];
  return {
    leftToSend(record, id) {
      const { alertSeq, facts } = record;
      const stored = byAlert.get(alertSeq);
      const beside = written.filter((one) => one.facts.alertKey === facts.alertKey);
      const firings = beside.filter(({ isEnd, seq }) => !isEnd && seq < alertSeq);
      const fired = Math.max(stored?.fired ?? 0, ...firings.map(({ seq }) => seq));
      const ends = [...beside.filter(({ isEnd }) => isEnd), ...(stored?.ends ?? [])]
        .filter(({ seq }) => seq > fired)
        .sort((one, other) => other.seq - one.seq);
      const left = record.endEdits === undefined ? record : withoutToldEnd(record, ends);
      const told = left.deliveries.flatMap((planned) => (planned && planned.state !== "muted" ? [planned] : []));
      written.push({ seq: alertSeq, id, facts, told, isEnd: facts.status === "resolved" });
      return left;
    },
  };
}
