import type { AlertFacts, AlertOrigin } from "../../../core/alert.ts";
import { firstIdAt } from "../../../core/id.ts";
import type {
  AlertChange,
  AlertCounts,
  AlertDetail,
  AlertQuery,
  AlertSummary,
  AttemptEntry,
  ChangeCursor,
  FactsQuery,
  FailedCount,
  FailedDelivery,
  FailedQuery,
  Position,
  StoredFacts,
} from "../../../core/ports/alert-log.ts";
import type { Decision } from "../../../core/rules.ts";
import { fromChangeCursor, fromPosition, toChangeCursor, toPosition } from "../cursors.ts";
import { type DeliveryRow, deliveryColumns, toDeliverySummary } from "../rows.ts";
import { splitSearch, toSearchExpression } from "../search-words.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import { toFailedCountStatement, toFailedStatement } from "./failed-statement.ts";
import { type Driver, firstSince, toCountStatements, toListStatement } from "./list-statement.ts";

interface AlertRow {
  seq: number;
  id: string;
  version: number | null;
  origin: AlertOrigin;
  received_at: number;
  routed_at: number | null;
  routing_error: string | null;
  unmatched: 0 | 1;
  dropped: 0 | 1;
  repeat_of: string | null;
  facts: string | null;
  decisions: string | null;
  request_seq: number | null;
  item: number;
}

interface FailedRow {
  seq: number;
  alertSeq: number;
  destination: string;
  recipient: string;
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

/** Facts that travel between threads at once, as JSON text: a few milliseconds. */
const mostFactsUnits = 1024 * 1024;

/** Reading the log: keyset pages, newest first; every filter has an index that ends in the alert's position. */
export function createLog({ db }: Pick<TransactionContext, "db">) {
  const byId = db.prepare<[string], AlertRow>("SELECT * FROM alerts WHERE id = ?");
  const request = db.prepare<[number], RequestRow>("SELECT * FROM requests WHERE seq = ?");
  const deliveriesOf = db.prepare<[number], DeliveryRow & { resent_by_id: string | null }>(
    `SELECT ${deliveryColumns}, r.id AS resent_by_id FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
       LEFT JOIN deliveries r ON r.seq = d.resent_by WHERE d.alert_seq = ? ORDER BY d.seq`,
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
    `SELECT * FROM alerts WHERE version > ? ORDER BY version ${boundLimit}`,
  );
  const newer = db.prepare<[number], AlertRow>("SELECT * FROM alerts WHERE seq > ? ORDER BY seq LIMIT 1");
  const older = db.prepare<[number], AlertRow>("SELECT * FROM alerts WHERE seq < ? ORDER BY seq DESC LIMIT 1");
  // The index has only alerts with a version; without the condition SQLite does not use it and reads the whole table.
  const version = db.prepare<[], number | null>("SELECT max(version) FROM alerts WHERE version IS NOT NULL").pluck();
  const latestVersion = (): number => version.get() ?? 0;
  const total = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM alerts").pluck();
  const last = db.prepare<[], number | null>("SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1").pluck();
  const duplicates = db
    .prepare<[], number>("SELECT coalesce(sum(duplicates), 0) FROM requests WHERE duplicates > 0")
    .pluck();
  const repeats = db.prepare<[], number>("SELECT count(*) FROM alerts WHERE repeat_of IS NOT NULL").pluck();
  const repeatsOf = db.prepare<[string], number>("SELECT count(*) FROM alerts WHERE repeat_of = ?").pluck();

  const facts = db.prepare<[number, string, number, number], { seq: number; origin: AlertOrigin; facts: string }>(
    `SELECT seq, origin, facts FROM alerts
     WHERE seq < ? AND seq >= (${firstSince}) AND received_at >= ?
       AND origin = 'hook' AND facts IS NOT NULL AND repeat_of IS NULL
     ORDER BY seq DESC ${boundLimit}`,
  );

  const hasWord = db.prepare<[string], number>("SELECT 1 FROM alerts_search WHERE words MATCH ? LIMIT 1").pluck();

  /** A word that no alert has is taken for the beginning of one: reading every word that begins so takes far longer. */
  function toMatch(q: string | undefined): string | undefined {
    if (q === undefined || q.trim() === "") return undefined;
    return toSearchExpression(splitSearch(q), (phrase) => hasWord.get(phrase) !== undefined);
  }

  /** Whatever narrows most. Two filters may each let half of the log through and together nothing. */
  function chooseDriver(query: AlertQuery, match: string | undefined): Driver {
    const counts = toCountStatements(query, match);
    if (counts.length < 2) return counts[0]?.[0] ?? "log";
    const costs = counts.map(([driver, { sql, parameters }]): [Driver, number] => {
      const rows =
        db
          .prepare<unknown[], number>(sql)
          .pluck()
          .get(...parameters) ?? 0;
      // To ask the search index about one row takes ten times as long as to look at the row.
      return [driver, match !== undefined && driver !== "search" ? rows * 10 : rows];
    });
    return costs.reduce((best, next) => (next[1] < best[1] ? next : best))[0];
  }

  function toSummary(row: AlertRow): AlertSummary {
    return {
      position: toPosition(row.seq),
      id: row.id,
      version: row.version ?? 0,
      origin: row.origin,
      receivedAt: row.received_at,
      routedAt: row.routed_at ?? undefined,
      facts: row.facts === null ? undefined : (JSON.parse(row.facts) as AlertFacts),
      routingError: row.routing_error ?? undefined,
      unmatched: row.unmatched === 1,
      dropped: row.dropped === 1,
      repeatOf: row.repeat_of ?? undefined,
      deliveries: deliveriesOf.all(row.seq).map(toDeliverySummary),
    };
  }

  return {
    listAlerts(query: AlertQuery): AlertSummary[] {
      const match = toMatch(query.q);
      const { sql, parameters } = toListStatement(query, match, chooseDriver(query, match));
      return (db.prepare(sql).all(...parameters) as AlertRow[]).map(toSummary);
    },

    neighbours(id: string): { newer?: AlertSummary; older?: AlertSummary } {
      const row = byId.get(id);
      if (row === undefined) return {};
      const [next, last] = [newer.get(row.seq), older.get(row.seq)];
      return { newer: next && toSummary(next), older: last && toSummary(last) };
    },

    listFailed(query: FailedQuery, page: { limit: number; after?: Position }): FailedDelivery[] {
      const { sql, parameters } = toFailedStatement(query, toMatch(query.q), page);
      const rows = db.prepare(sql).all(...parameters) as FailedRow[];
      return rows.map(({ seq, alertSeq, ...row }) => ({
        position: toPosition(alertSeq, seq),
        deliverySeq: seq,
        ...row,
      }));
    },

    countFailed(query: FailedQuery): FailedCount[] {
      const { sql, parameters } = toFailedCountStatement(query, toMatch(query.q));
      return db.prepare(sql).all(...parameters) as FailedCount[];
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
          duplicates: source.duplicates + (repeatsOf.get(id) ?? 0),
        },
      };
    },

    listChanges: (after: ChangeCursor | undefined, limit: number): AlertChange[] =>
      changes.all(after === undefined ? 0 : fromChangeCursor(after), limit).map((row) => ({
        ...toSummary(row),
        cursor: toChangeCursor(row.version ?? 0),
      })),

    listFacts({ fromAt, before, limit }: FactsQuery): StoredFacts[] {
      const found: StoredFacts[] = [];
      let units = 0;
      const [upTo = Number.MAX_SAFE_INTEGER] = before === undefined ? [] : fromPosition(before);
      for (const { seq, origin, facts: text } of facts.iterate(upTo, firstIdAt(fromAt), fromAt, limit)) {
        units += text.length;
        if (units > mostFactsUnits && found.length > 0) break;
        found.push({
          position: toPosition(seq),
          alertSeq: seq,
          origin,
          facts: JSON.parse(text) as AlertFacts,
        });
      }
      return found;
    },

    latestVersion,
    latestChange: (): ChangeCursor => toChangeCursor(latestVersion()),
    knowsChange: (cursor: ChangeCursor): boolean => fromChangeCursor(cursor) <= latestVersion(),

    countAlerts: (): AlertCounts => ({
      total: total.get() ?? 0,
      lastReceivedAt: last.get() ?? undefined,
    }),

    countDuplicates: (): number => (duplicates.get() ?? 0) + (repeats.get() ?? 0),
  };
}
