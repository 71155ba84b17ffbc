import { timeOfId } from "../../core/id.ts";
import type { AlertCounts, AlertDetail, AlertLog, AlertQuery, AlertSummary } from "../../core/ports/alert-log.ts";
import { toRun } from "../alert-run.ts";
import { type AttemptRow, mostEndings, toDetail, toFailedDelivery, toReadable, toSummary } from "../log-entries.ts";
import { isPosition, toPosition } from "../positions.ts";
import { type DeliverySummaryRow, deliverySummaryColumns } from "../rows.ts";
import type { Row } from "../tables.ts";
import type { SharedName } from "../transactions/index.ts";
import { versionNoted } from "./alert-changes.ts";
import { createChanges, isChangeCursor } from "./changes.ts";
import type { Database } from "./database.ts";
import { createListing, deliveriesOfAlert, type ListedRow } from "./listing.ts";
import { createOverTime } from "./over-time.ts";
import { createReading, type OneRow } from "./reading.ts";

interface DetailRow extends ListedRow {
  decisions: string | null;
  item: number;
  request: Omit<Row<"requests">, "seq" | "fingerprint" | "headers" | "body"> | null;
  headers: string | null;
  body: Uint8Array | null;
  repeats: number;
  tried: (DeliverySummaryRow & { attempts: AttemptRow[] })[];
}

/** Each by its name: a prepared statement that gives all fails once a newer relay has added one. */
const columns = `a.seq, a.id, a.version, ${versionNoted} AS noted, a.origin, a.source, a.received_at, a.routed_at, a.routing_error, a.unmatched, a.dropped,
  a.repeat_of, a.facts`;

/**
 * Reading the log: keyset pages, newest first (`listing.ts`); every filter has an index that ends in the alert's position.
 * What is read together is one statement, so that it is of one moment.
 */
export function createLog(
  database: Pick<Database, "read">,
  read = createReading(database.read),
): Omit<AlertLog, SharedName> {
  const listing = createListing(read);
  const changes = createChanges(read);

  async function rowsOf<Row extends object>(sql: string, values: unknown[], name?: string): Promise<Row[]> {
    return (await read.query<Row>(sql, values, name)).rows;
  }

  return {
    isPosition,
    isChangeCursor,

    async listAlerts(query) {
      const { rows } = await listing.list(query, Number.POSITIVE_INFINITY);
      return rows.map(readerOf(query));
    },

    async listAlertsWithin(query, mostMs) {
      const { rows, stoppedBelow, looked } = await listing.list(query, mostMs);
      const alerts = rows.map(readerOf(query));
      if (stoppedBelow === undefined) return { alerts };
      const [first] = await rowsOf<{ received_at: number }>(
        "SELECT received_at FROM alerts WHERE seq >= $1 ORDER BY seq LIMIT 1",
        [stoppedBelow],
        "received_at_from",
      );
      return { alerts, stopped: { position: toPosition(stoppedBelow), receivedAt: first?.received_at ?? 0, looked } };
    },

    async neighbours(id) {
      const rows = await rowsOf<ListedRow & { own: number }>(
        `SELECT a.own, ${columns}, ${deliveriesOfAlert} FROM (
           (SELECT o.seq AS own, n.* FROM alerts o CROSS JOIN LATERAL
             (SELECT * FROM alerts WHERE seq > o.seq ORDER BY seq LIMIT 1) n WHERE o.id = $1)
           UNION ALL
           (SELECT o.seq AS own, n.* FROM alerts o CROSS JOIN LATERAL
             (SELECT * FROM alerts WHERE seq < o.seq ORDER BY seq DESC LIMIT 1) n WHERE o.id = $1)) a`,
        [id],
        "neighbours",
      );
      const [newer, older] = [rows.find(({ own, seq }) => seq > own), rows.find(({ own, seq }) => seq < own)];
      return { newer: newer && summaryOf(newer), older: older && summaryOf(older) };
    },

    async listFailed(query, page) {
      return (await listing.listFailed(query, page)).map(toFailedDelivery);
    },

    countFailed: listing.countFailed,
    countMatches: listing.countMatches,
    countOverTime: createOverTime(read),

    async getAlert(id) {
      const [row] = await rowsOf<DetailRow>(detailStatement, [id], "get_alert");
      return row && detailOf(row);
    },

    async findByIdPart(part, limit) {
      const [endings, beginnings] = await Promise.all([
        // An aggregate of them all, so that the plan is the walk along the index and nothing else.
        rowsOf<{ count: number; first: string | null; ids: string[] | null }>(
          `SELECT count(*) AS count, min(id) AS first, array_agg(id ORDER BY id DESC) FILTER (WHERE right(id, $1) = $2) AS ids
           FROM (SELECT id FROM alerts ORDER BY id DESC LIMIT ${mostEndings}) newest`,
          [part.length, part],
          "ids_ending",
        ),
        // Behind every digit and "-".
        rowsOf<{ id: string }>(
          "SELECT id FROM alerts WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3",
          [part, `${part}g`, limit],
          "ids_beginning",
        ),
      ]);
      const { count = 0, first = null, ids } = endings[0] ?? {};
      const named = new Set([...beginnings.map(({ id }) => id), ...(ids ?? [])]);
      const wanted = [...named].sort((a, b) => (a < b ? 1 : -1)).slice(0, limit);
      const rows = await rowsOf<ListedRow>(
        `SELECT ${columns}, ${deliveriesOfAlert} FROM alerts a WHERE id = ANY($1) ORDER BY id DESC`,
        [wanted],
        "alerts_of_ids",
      );
      const isAll = count < mostEndings || first === null;
      return { alerts: rows.map(summaryOf), ...(!isAll && { searchedTo: timeOfId(first) }) };
    },

    async listChanges(after, limit) {
      return (await changes.list(after, limit)).map((row) => ({ ...summaryOf(row), cursor: row.cursor }));
    },

    latestChange: changes.latest,
    knowsChange: changes.knows,

    async countAlerts(): Promise<AlertCounts> {
      const { total, removed, oldest, last } = await read.row(alertCounts);
      return {
        total,
        kept: total - removed,
        oldestReceivedAt: oldest ?? undefined,
        lastReceivedAt: last ?? undefined,
      };
    },

    async countDuplicates() {
      return (await read.row(duplicateCount)).count;
    },
  };
}

const alertCounts: OneRow<{ total: number; removed: number; oldest: number | null; last: number | null }> = {
  name: "alerts",
  sql: () => `SELECT (SELECT coalesce(sum(count), 0) FROM tallies WHERE kind = 'accepted') AS total,
    (SELECT coalesce(sum(count), 0) FROM tallies WHERE kind = 'removed') AS removed,
    (SELECT received_at FROM alerts ORDER BY seq LIMIT 1) AS oldest,
    (SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1) AS last`,
};

const duplicateCount: OneRow<{ count: number }> = {
  name: "duplicates",
  sql: () => "SELECT coalesce(sum(count), 0) AS count FROM tallies WHERE kind = 'duplicate'",
};

const detailStatement = `SELECT ${columns}, a.item, a.decisions, '[]'::json AS deliveries, r.headers, r.body,
  CASE WHEN r.seq IS NOT NULL THEN json_build_object('received_at', r.received_at, 'content_type', r.content_type,
    'items', r.items, 'dedupe_key', r.dedupe_key, 'conflict', r.conflict, 'duplicates', r.duplicates) END AS request,
  (SELECT count(*) FROM alerts n WHERE n.repeat_of = a.id) AS repeats,
  (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT ${deliverySummaryColumns}, (SELECT coalesce(json_agg(t ORDER BY t.seq), '[]') FROM attempts t
      WHERE t.delivery_seq = d.seq) AS attempts
    FROM deliveries d LEFT JOIN deliveries r ON r.seq = d.resent_by WHERE d.alert_seq = a.seq ORDER BY d.seq) x) AS tried
  FROM alerts a LEFT JOIN requests r ON r.seq = a.request_seq WHERE a.id = $1`;

const summaryOf = (row: ListedRow): AlertSummary => toSummary(row, row.deliveries, row.noted ?? 0);

/** Beside what was asked for: how often its key came, and what stands around a text that the body was to have. */
function readerOf({ newestOfKey, raw: [wanted] = [] }: AlertQuery): (row: ListedRow) => AlertSummary {
  return (row) => {
    const summary = summaryOf(row);
    if (newestOfKey && summary.facts?.alertKey !== undefined) summary.run = toRun(row.run ?? []);
    if (wanted !== undefined) summary.aroundRaw = toReadable(row.around ?? new Uint8Array());
    return summary;
  };
}

function detailOf(row: DetailRow): AlertDetail {
  const { decisions, item, tried, repeats } = row;
  const { headers, body } = { headers: row.headers ?? "[]", body: row.body ?? new Uint8Array() };
  return toDetail(toSummary(row, tried, row.noted ?? 0), {
    decisions,
    attempts: tried.map(({ attempts }) => attempts),
    request: row.request === null ? undefined : { ...row.request, headers, body, item },
    repeats,
  });
}
