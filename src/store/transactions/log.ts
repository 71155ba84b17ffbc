import type { AlertFacts, AlertOrigin } from "../../core/alert.ts";
import type { Decision } from "../../core/rules.ts";
import type { AlertCounts, AlertDetail, AlertQuery, AlertSummary, AttemptEntry } from "../../core/store.ts";
import { type DeliveryRow, deliveryColumns, toDeliverySummary } from "../rows.ts";
import { toSearchExpression } from "../search-words.ts";
import type { TransactionContext } from "./context.ts";

interface AlertRow {
  seq: number;
  id: string;
  version: number | null;
  origin: AlertOrigin;
  received_at: number;
  routed_at: number | null;
  routing_error: string | null;
  unmatched: 0 | 1;
  facts: string | null;
  decisions: string | null;
  request_seq: number | null;
  item: number;
}

interface RequestRow {
  received_at: number;
  content_type: string | null;
  headers: string;
  body: Uint8Array;
  items: number;
  dedupe_key: string | null;
  conflict: 0 | 1;
  duplicates: number;
}

/** Reading the log: keyset pages, newest first; every filter has an index that ends in the alert's position. */
export function createLog({ db }: Pick<TransactionContext, "db">) {
  const byId = db.prepare<[string], AlertRow>("SELECT * FROM alerts WHERE id = ?");
  const request = db.prepare<[number], RequestRow>("SELECT * FROM requests WHERE seq = ?");
  const deliveriesOf = db.prepare<[number], DeliveryRow>(
    `SELECT ${deliveryColumns} FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq WHERE d.alert_seq = ? ORDER BY d.seq`,
  );
  const attemptsOf = db.prepare<
    [string],
    {
      at: number;
      duration_ms: number;
      action: AttemptEntry["action"];
      part: number;
      parts: number;
      outcome: AttemptEntry["outcome"];
      reason: string | null;
      detail: string | null;
    }
  >(`SELECT t.* FROM attempts t JOIN deliveries d ON d.seq = t.delivery_seq WHERE d.id = ? ORDER BY t.seq`);
  const changes = db.prepare<[number, number], AlertRow>(
    "SELECT * FROM alerts WHERE version > ? ORDER BY version LIMIT ?",
  );
  const version = db.prepare<[], number | null>("SELECT max(version) FROM alerts").pluck();
  const total = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM alerts").pluck();
  const last = db
    .prepare<[], number | null>("SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1")
    .pluck();
  const duplicates = db
    .prepare<[], number>("SELECT coalesce(sum(duplicates), 0) FROM requests WHERE duplicates > 0")
    .pluck();

  function toSummary(row: AlertRow): AlertSummary {
    return {
      seq: row.seq,
      id: row.id,
      version: row.version ?? 0,
      origin: row.origin,
      receivedAt: row.received_at,
      routedAt: row.routed_at ?? undefined,
      facts: row.facts === null ? undefined : (JSON.parse(row.facts) as AlertFacts),
      routingError: row.routing_error ?? undefined,
      unmatched: row.unmatched === 1,
      deliveries: deliveriesOf.all(row.seq).map(toDeliverySummary),
    };
  }

  return {
    listAlerts(query: AlertQuery): AlertSummary[] {
      const { sql, parameters } = toListStatement(query);
      return (db.prepare(sql).all(...parameters) as AlertRow[]).map(toSummary);
    },

    getAlert(id: string): AlertDetail | undefined {
      const row = byId.get(id);
      if (!row) return undefined;
      const summary = toSummary(row);
      const source = row.request_seq === null ? undefined : request.get(row.request_seq);
      return {
        ...summary,
        decisions: row.decisions === null ? [] : (JSON.parse(row.decisions) as Decision[]),
        deliveries: summary.deliveries.map((delivery) => ({
          ...delivery,
          attempts: attemptsOf.all(delivery.id).map((attempt) => ({
            at: attempt.at,
            durationMs: attempt.duration_ms,
            action: attempt.action,
            part: attempt.part,
            parts: attempt.parts,
            outcome: attempt.outcome,
            reason: attempt.reason ?? undefined,
            detail: attempt.detail ?? undefined,
          })),
        })),
        request: source && {
          receivedAt: source.received_at,
          contentType: source.content_type ?? undefined,
          headers: JSON.parse(source.headers) as [string, string][],
          body: source.body,
          item: row.item,
          items: source.items,
          dedupeKey: source.dedupe_key ?? undefined,
          conflict: source.conflict === 1,
          duplicates: source.duplicates,
        },
      };
    },

    listChanges: (after: number, limit: number): AlertSummary[] => changes.all(after, limit).map(toSummary),

    latestVersion: (): number => version.get() ?? 0,

    countAlerts: (): AlertCounts => ({
      total: total.get() ?? 0,
      lastReceivedAt: last.get() ?? undefined,
      duplicates: duplicates.get() ?? 0,
    }),
  };
}

/**
 * The statement for one page. Whatever narrows most drives it in the order of the page (search index, deliveries, or the
 * log itself), so that nothing is sorted and nothing older than the page is read. Exported for the test that asks
 * SQLite for its plan.
 */
export function toListStatement(query: AlertQuery): { sql: string; parameters: unknown[] } {
  const searching = query.q !== undefined && query.q.trim() !== "";
  const byDelivery = deliveryCondition(query);
  const where: string[] = [];
  const parameters: unknown[] = [];
  const add = (condition: string, ...values: unknown[]) => {
    where.push(condition);
    parameters.push(...values);
  };
  let from = "alerts a";
  let position = "a.seq";
  if (searching) {
    from = "alerts_search s CROSS JOIN alerts a ON a.seq = s.rowid";
    position = "s.rowid";
    add("s.words MATCH ?", toSearchExpression(query.q ?? ""));
    if (byDelivery) {
      add(
        `EXISTS (SELECT 1 FROM deliveries d WHERE d.alert_seq = a.seq AND ${byDelivery.sql})`,
        ...byDelivery.values,
      );
    }
  } else if (byDelivery) {
    from = "deliveries d CROSS JOIN alerts a ON a.seq = d.alert_seq";
    position = "d.alert_seq";
    add(byDelivery.sql, ...byDelivery.values);
  }
  if (query.beforeSeq !== undefined) add(`${position} < ?`, query.beforeSeq);
  if (query.fromAt !== undefined) add(`${position} >= (${firstSince})`, query.fromAt);
  if (query.toAt !== undefined) add(`${position} <= (${lastUntil})`, query.toAt);
  if (query.severity !== undefined) add("a.severity = ?", query.severity);
  if (query.state === "unmatched") add("a.unmatched = 1");
  if (query.state === "unrouted") add("a.routed_at IS NULL");
  parameters.push(query.limit);
  const filter = where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`;
  const group = byDelivery && !searching ? "GROUP BY d.alert_seq" : "";
  return { sql: `SELECT a.* FROM ${from} ${filter} ${group} ORDER BY ${position} DESC LIMIT ?`, parameters };
}

const firstSince =
  "SELECT coalesce(min(seq), 9000000000000000) FROM (SELECT seq FROM alerts WHERE received_at >= ? ORDER BY received_at, seq LIMIT 1)";
const lastUntil =
  "SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM alerts WHERE received_at <= ? ORDER BY received_at DESC, seq DESC LIMIT 1)";

function deliveryCondition({
  state,
  destination,
}: AlertQuery): { sql: string; values: string[] } | undefined {
  const ofDelivery = state !== undefined && state !== "unmatched" && state !== "unrouted";
  if (ofDelivery && destination !== undefined) {
    return { sql: "d.destination = ? AND d.state = ?", values: [destination, state] };
  }
  if (ofDelivery) return { sql: "d.state = ?", values: [state] };
  if (destination !== undefined) return { sql: "d.destination = ?", values: [destination] };
  return undefined;
}
