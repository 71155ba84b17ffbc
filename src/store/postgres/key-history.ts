import type { AlertOrigin } from "../../core/alert.ts";
import type { AlertLog, KeyValues } from "../../core/ports/alert-log.ts";
import { type EventRow, mostUnitsOfPage, readSome, sharesOf, toKeyHistory } from "../key-events.ts";
import type { Sql } from "./database.ts";

/**
 * Rows of the key of `own`, along the index of keys: compared as one value, so that no plan walks the whole log backwards.
 * `facts IS NOT NULL` holds for each alert that has a key.
 */
const rowsOfKey = (name: string, condition: string, order: "" | "DESC", limit: string) =>
  `(SELECT '${name}' AS part, e.* FROM own CROSS JOIN LATERAL (
     SELECT k.seq, k.id, k.origin, k.received_at, k.severity, k.repeat_of, k.facts_bytes AS size, k.status, k.facts FROM alerts k
     WHERE k.alert_key IS NOT NULL AND ${condition} AND k.facts IS NOT NULL
     ORDER BY k.alert_key ${order}, k.seq ${order} LIMIT ${limit}) e)`;

const farthest = 9_000_000_000_000_000;

const history = `WITH own AS (SELECT seq, origin, alert_key FROM alerts WHERE id = $1 AND alert_key IS NOT NULL),
  read AS (
    ${rowsOfKey("following", `(k.alert_key, k.seq) > (own.alert_key, own.seq) AND (k.alert_key, k.seq) < (own.alert_key, ${farthest})`, "", "$2")}
    UNION ALL
    ${rowsOfKey("latest", `(k.alert_key, k.seq) > (own.alert_key, 0) AND (k.alert_key, k.seq) < (own.alert_key, ${farthest})`, "DESC", "$2")}
    UNION ALL
    ${rowsOfKey("before", "(k.alert_key, k.seq) > (own.alert_key, 0) AND (k.alert_key, k.seq) <= (own.alert_key, own.seq)", "DESC", "$3")})
  SELECT own.seq AS own_seq, own.origin AS own_origin, read.part, read.seq, read.id, read.origin, read.received_at, read.severity,
    read.repeat_of, read.size, read.status, f.value, f.threshold, f.unit, f.metric, f.token, f.chain
  FROM read CROSS JOIN own CROSS JOIN LATERAL json_to_record(readable_json(read.facts)) f (value text, threshold text, unit text, metric text,
    token text, chain text)`;

/** What came with the key of one alert: so much of it, however long the log is. */
export function createKeyHistory(read: Sql): Pick<AlertLog, "keyHistory" | "keyValues"> {
  return {
    async keyHistory(id, most) {
      const shares = sharesOf(most);
      const { rows } = await read.query<
        EventRow & { own_seq: number; own_origin: AlertOrigin; part: "following" | "latest" | "before" }
      >(history, [id, shares.beside, shares.before], "key_history");
      const [first] = rows;
      if (first === undefined) return { events: [], hasOlder: false, hasGap: false };
      const partOf = (wanted: "following" | "latest" | "before") => {
        const found = rows.filter(({ part }) => part === wanted).sort((a, b) => b.seq - a.seq);
        return readSome(wanted === "following" ? found.reverse() : found);
      };
      const parts = { following: partOf("following"), latest: partOf("latest"), before: partOf("before") };
      return toKeyHistory({ seq: first.own_seq, origin: first.own_origin }, parts, most);
    },

    async keyValues(ids, most) {
      const { rows } = await read.query<{ id: string; size: number; at: number[]; sent: string[] }>(
        `SELECT o.id, v.size, v.at, v.sent FROM unnest($1::text[]) WITH ORDINALITY asked (id, place)
           CROSS JOIN LATERAL (SELECT id, seq, origin, alert_key FROM alerts WHERE id = asked.id OFFSET 0) o
           CROSS JOIN LATERAL (
             SELECT sum(k.facts_bytes) AS size,
               coalesce(array_agg(k.received_at ORDER BY k.seq) FILTER (WHERE k.value IS NOT NULL AND k.origin = o.origin), '{}') AS at,
               coalesce(array_agg(k.value ORDER BY k.seq) FILTER (WHERE k.value IS NOT NULL AND k.origin = o.origin), '{}') AS sent
             FROM (SELECT received_at, origin, value, facts_bytes, seq FROM alerts k
               WHERE k.alert_key IS NOT NULL AND (k.alert_key, k.seq) <= (o.alert_key, o.seq) AND (k.alert_key, k.seq) > (o.alert_key, 0)
                 AND k.repeat_of IS NULL
               ORDER BY k.alert_key DESC, k.seq DESC LIMIT $2) k) v
         WHERE v.size IS NOT NULL ORDER BY asked.place`,
        [ids, most],
        "key_values",
      );
      const found: KeyValues[] = [];
      let units = 0;
      for (const { id, size, at, sent } of rows) {
        units += size;
        // The values stand in the index: what is left out is what another driver would have to read for them.
        if (units > mostUnitsOfPage) break;
        found.push({ id, values: at.map((one, index) => ({ at: one, sent: sent[index] ?? "" })) });
      }
      return found;
    },
  };
}
