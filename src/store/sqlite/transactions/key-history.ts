import type { AlertOrigin, AlertStatus, Severity } from "../../../core/alert.ts";
import type { KeyEvent, KeyHistory, KeyValues } from "../../../core/ports/alert-log.ts";
import { boundLimit, type TransactionContext } from "./context.ts";

interface EventRow {
  seq: number;
  id: string;
  origin: AlertOrigin;
  received_at: number;
  severity: Severity;
  repeat_of: string | null;
  size: number;
  status: AlertStatus;
  value: string | null;
  threshold: string | null;
  unit: string | null;
  metric: string | null;
  token: string | null;
  chain: string | null;
}

/** Facts with long texts take long to look into: a millisecond or two for so many characters. */
const mostUnits = 192 * 1024;

/** The same of a page of keys. */
const mostUnitsOfPage = 2 * 1024 * 1024;

const columns = `seq, id, origin, received_at, severity, repeat_of, length(facts) AS size, facts ->> '$.status' AS status,
  facts ->> '$.value' AS value, facts ->> '$.threshold' AS threshold, facts ->> '$.unit' AS unit, facts ->> '$.metric' AS metric,
  facts ->> '$.token' AS token, facts ->> '$.chain' AS chain`;

/** What came with the key of one alert, read along the index of keys: so much of it, however long the log is. */
export function createKeyHistory({ db }: Pick<TransactionContext, "db">) {
  const own = db.prepare<[string], { seq: number; origin: AlertOrigin; alert_key: string | null }>(
    "SELECT seq, origin, alert_key FROM alerts WHERE id = ?",
  );
  const upTo = db.prepare<[string, number, number], EventRow>(
    `SELECT ${columns} FROM alerts WHERE alert_key = ? AND seq <= ? AND facts IS NOT NULL ORDER BY seq DESC ${boundLimit}`,
  );
  const after = db.prepare<[string, number, number], EventRow>(
    `SELECT ${columns} FROM alerts WHERE alert_key = ? AND seq > ? AND facts IS NOT NULL ORDER BY seq ${boundLimit}`,
  );

  const values = db.prepare<
    [string, number],
    { id: string; at: number; sent: string | null; isOwn: 0 | 1; size: number }
  >(
    `SELECT o.id, a.received_at AS at, substr(a.facts ->> '$.value', 1, 100) AS sent, a.origin = o.origin AS isOwn,
       length(a.facts) AS size
     FROM json_each(?) asked CROSS JOIN alerts o ON o.id = asked.value
     CROSS JOIN alerts a ON a.seq IN (
       SELECT seq FROM alerts WHERE alert_key = o.alert_key AND seq <= o.seq AND repeat_of IS NULL ORDER BY seq DESC ${boundLimit})`,
  );

  return {
    keyValues(ids: readonly string[], most: number): KeyValues[] {
      const found = new Map<string, KeyValues>();
      let units = 0;
      for (const { id, at, sent, isOwn, size } of values.iterate(JSON.stringify(ids), most)) {
        units += size;
        if (units > mostUnitsOfPage) {
          // Of this one the latest are missing.
          found.delete(id);
          break;
        }
        const known = found.get(id) ?? { id, values: [] };
        if (sent !== null && isOwn === 1) known.values.push({ at, sent });
        found.set(id, known);
      }
      return [...found.values()];
    },

    keyHistory(id: string, most: number): KeyHistory {
      const alert = own.get(id);
      if (alert === undefined || alert.alert_key === null) return { events: [], hasOlder: false, hasGap: false };
      const { seq, alert_key: key } = alert;
      const beside = Math.max(1, Math.floor(most / 4));
      const following = readSome(after.iterate(key, seq, beside));
      const latest = readSome(upTo.iterate(key, Number.MAX_SAFE_INTEGER, beside));
      const before = readSome(upTo.iterate(key, seq, most - 2 * beside));
      const oldestSeq = before.rows.at(-1)?.seq ?? seq;
      const rows = new Map([...latest.rows, ...following.rows, ...before.rows].map((row) => [row.seq, row]));
      const newestFirst = [...rows.values()].filter((row) => row.seq >= oldestSeq).sort((a, b) => b.seq - a.seq);
      const lastFollowing = following.rows.at(-1)?.seq ?? seq;
      return {
        events: newestFirst.filter(({ origin }) => origin === alert.origin).map(toEvent),
        hasOlder: before.isCut || before.rows.length === most - 2 * beside,
        hasGap:
          (latest.rows.at(-1)?.seq ?? seq) > lastFollowing && (following.isCut || following.rows.length === beside),
      };
    },
  };
}

/** At least one row, and as many more as their texts allow. */
function readSome(rows: IterableIterator<EventRow>): { rows: EventRow[]; isCut: boolean } {
  const found: EventRow[] = [];
  let units = 0;
  for (const row of rows) {
    units += row.size;
    if (found.length > 0 && units > mostUnits) return { rows: found, isCut: true };
    found.push(row);
  }
  return { rows: found, isCut: false };
}

function toEvent(row: EventRow): KeyEvent {
  return {
    id: row.id,
    receivedAt: row.received_at,
    severity: row.severity,
    status: row.status,
    value: row.value ?? undefined,
    threshold: row.threshold ?? undefined,
    unit: row.unit ?? undefined,
    metric: row.metric ?? undefined,
    token: row.token ?? undefined,
    chain: row.chain ?? undefined,
    isRepeat: row.repeat_of !== null,
  };
}
