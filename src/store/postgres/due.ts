import type { AbandonedDelivery, AlertRequest, Dispatch } from "../../core/ports/dispatch.ts";
import { type DeliveryRow, deliveryColumnsWith, toDueDelivery } from "../rows.ts";
import type { Database } from "./database.ts";
import { toText } from "./texts.ts";

const columns = deliveryColumnsWith("a.status");
const rowsOf = (from: string) => `SELECT ${columns} FROM ${from} JOIN alerts a ON a.seq = d.alert_seq`;
/** One kind of what is due at a destination, and has an index of its own. */
const dueOf = (kind: string) => `(
  SELECT seq, due_at FROM deliveries WHERE destination = $1 AND due_at IS NOT NULL AND due_at <= $2 AND ${kind}
  ORDER BY due_at, seq LIMIT $3)`;

const mostFallbacks = 500;

interface RequestRow {
  seq: number;
  item: number;
  request_seq: number;
  content_type: string | null;
  /** With the first alert of its request. */
  body: Uint8Array | null;
}

/**
 * Each row is looked up by itself: a plan that was made while the tables were empty would else read them from end to end for as
 * long as the connection has it.
 */
const findRequestsSql = `
  WITH asked AS MATERIALIZED (
    SELECT given.place, a.seq, a.item, a.request_seq FROM unnest($1::bigint[]) WITH ORDINALITY AS given (seq, place)
    CROSS JOIN LATERAL (
      SELECT seq, item, request_seq FROM alerts one WHERE one.seq = given.seq AND one.seq = ANY($1::bigint[]) OFFSET 0) a),
  sized AS (
    SELECT of.request_seq, of.first, r.content_type, r.body, sum(octet_length(r.body)) OVER before_it AS bytes,
      row_number() OVER before_it AS place
    FROM (SELECT request_seq, min(place) AS first FROM asked GROUP BY request_seq) AS of
    CROSS JOIN LATERAL (
      SELECT content_type, body FROM requests one
      WHERE one.seq = of.request_seq AND one.seq = ANY(ARRAY(SELECT request_seq FROM asked)) OFFSET 0) r
    WINDOW before_it AS (ORDER BY of.first))
  SELECT asked.seq, asked.item, asked.request_seq, s.content_type, CASE WHEN asked.place = s.first THEN s.body END AS body
  FROM sized s JOIN asked USING (request_seq) WHERE s.bytes <= $2 OR s.place = 1 ORDER BY s.first, asked.place`;

type Lists = "listDue" | "listByKeys" | "nextDueAt" | "listAbandoned" | "listFallbacksDue" | "findRequests";

/** What delivery looks for. `due_at` is set exactly while a delivery may be claimed. */
export function createDueLists(database: Database): Pick<Dispatch, Lists> {
  const { single } = database;

  return {
    async listDue(destination, now, limit, resentFirst = false) {
      // With fewer than the limit all are listed, and planning finds the urgent ones among them.
      const { rows } = await single.query<DeliveryRow>(
        `WITH usual AS MATERIALIZED ${dueOf("purpose <> 'bulk_resend'")},
         resent AS MATERIALIZED (
           SELECT * FROM ${dueOf("purpose = 'bulk_resend'")} AS b WHERE $4 OR (SELECT count(*) FROM usual) < $3),
         urgent AS MATERIALIZED (
           SELECT * FROM ${dueOf("purpose IN ('resend', 'test', 'notice')")} AS u
           WHERE (SELECT count(*) FROM usual) + (SELECT count(*) FROM resent) >= $3),
         picked AS MATERIALIZED (
           SELECT 0 AS rank, seq, due_at FROM urgent
           UNION ALL SELECT 2, seq, due_at FROM usual WHERE seq NOT IN (SELECT seq FROM urgent)
           UNION ALL SELECT CASE WHEN $4 THEN 1 ELSE 3 END, seq, due_at FROM resent
           ORDER BY rank, due_at, seq LIMIT $3)
         ${rowsOf("picked p JOIN deliveries d ON d.seq = p.seq")} ORDER BY p.rank, p.due_at, p.seq`,
        [destination, now, limit, resentFirst],
        "list_due",
      );
      return rows.map(toDueDelivery);
    },

    async listByKeys(destination, alertKeys, limit) {
      const { rows } = await single.query<DeliveryRow>(
        `${rowsOf("deliveries d")}
         WHERE d.destination = $1 AND d.due_at IS NOT NULL AND a.alert_key = ANY($2::text[])
         ORDER BY d.alert_seq, d.seq LIMIT $3`,
        [destination, alertKeys.map(toText), limit],
        "list_by_keys",
      );
      return rows.map(toDueDelivery);
    },

    async nextDueAt(destination) {
      const next = (kind: string) =>
        `SELECT min(due_at) AS at FROM deliveries WHERE destination = $1 AND due_at IS NOT NULL AND ${kind}`;
      const { rows } = await single.query<{ at: number | null }>(
        `SELECT min(at) AS at FROM (${next("purpose <> 'bulk_resend'")} UNION ALL ${next("purpose = 'bulk_resend'")}) AS kinds`,
        [destination],
        "next_due_at",
      );
      return rows[0]?.at ?? undefined;
    },

    async listAbandoned(held, limit) {
      const { rows } = await single.query<DeliveryRow>(
        `${rowsOf(`deliveries d
           JOIN unnest($1::text[], $2::bigint[]) AS held (destination, fence) ON held.destination = d.destination`)}
         WHERE d.claim_token IS NOT NULL AND (d.claim_fence < held.fence OR d.lease_until <= clock_timestamp())
         ORDER BY d.lease_until, d.seq LIMIT $3`,
        [Object.keys(held), Object.values(held), limit],
        "list_abandoned",
      );
      return rows.map((row): AbandonedDelivery => ({ ...toDueDelivery(row), token: row.claim_token ?? "" }));
    },

    async listFallbacksDue(now) {
      const { rows } = await single.query<DeliveryRow>(
        `${rowsOf("deliveries d")} WHERE d.fallback_at <= $1 ORDER BY d.fallback_at, d.seq LIMIT ${mostFallbacks}`,
        [now],
        "list_fallbacks_due",
      );
      return rows.map(toDueDelivery);
    },

    async findRequests(alertSeqs, maxBytes) {
      const { rows } = await single.query<RequestRow>(findRequestsSql, [alertSeqs, maxBytes], "find_requests");
      const found = new Map<number, AlertRequest>();
      for (const { seq, item, request_seq, content_type, body } of rows) {
        const known = found.get(request_seq);
        if (known !== undefined) known.alerts.push({ seq, item });
        else if (body !== null)
          found.set(request_seq, { contentType: content_type ?? undefined, body, alerts: [{ seq, item }] });
      }
      return [...found.values()];
    },
  };
}
