import type { AlertOrigin } from "../../../core/alert.ts";
import type { KeyHistory, KeyValues } from "../../../core/ports/alert-log.ts";
import { type EventRow, mostUnitsOfPage, readSome, sharesOf, toKeyHistory } from "../../key-events.ts";
import { boundLimit, type TransactionContext } from "./context.ts";

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
      const shares = sharesOf(most);
      const following = readSome(after.iterate(key, seq, shares.beside));
      const latest = readSome(upTo.iterate(key, Number.MAX_SAFE_INTEGER, shares.beside));
      const before = readSome(upTo.iterate(key, seq, shares.before));
      return toKeyHistory(alert, { following, latest, before }, most);
    },
  };
}
