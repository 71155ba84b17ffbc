import { timeOfId } from "../../../core/id.ts";
import type {
  AlertChange,
  AlertCounts,
  AlertDetail,
  AlertQuery,
  AlertSummary,
  AlertsFound,
  AlertsNamed,
  ChangeCursor,
  FailedDelivery,
  FailedQuery,
  Position,
} from "../../../core/ports/alert-log.ts";
import {
  type AttemptRow,
  mostEndings,
  type SummaryRow,
  toDetail,
  toFailedDelivery,
  toReadable,
  toSummary,
} from "../../log-entries.ts";
import { toPosition } from "../../positions.ts";
import { type DeliverySummaryRow, deliverySummaryColumns } from "../../rows.ts";
import type { Row } from "../../tables.ts";
import { fromChangeCursor, toChangeCursor } from "../cursors.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import { createListing } from "./listing.ts";
import { createOverTime } from "./over-time.ts";
import { createRuns } from "./runs.ts";

interface AlertRow extends SummaryRow {
  decisions: string | null;
  request_seq: number | null;
  item: number;
}

const newestIds = `(SELECT id FROM alerts ORDER BY id DESC LIMIT ${mostEndings})`;

/** Reading the log: keyset pages, newest first (`listing.ts`); every filter has an index that ends in the alert's position. */
export function createLog({ db }: Pick<TransactionContext, "db">) {
  const listing = createListing({ db });
  const byId = db.prepare<[string], AlertRow>("SELECT * FROM alerts WHERE id = ?");
  // Behind every digit and "-".
  const beginningWith = db.prepare<[string, string, number], AlertRow>(
    "SELECT * FROM alerts WHERE id >= ? AND id < ? || 'g' ORDER BY id DESC LIMIT ?",
  );
  const endingWith = db
    .prepare<[number, string, number], string>(`SELECT id FROM ${newestIds} WHERE substr(id, -?) = ? LIMIT ?`)
    .pluck();
  const endings = db.prepare<[], { count: number; first: string | null }>(
    `SELECT count(*) AS count, min(id) AS first FROM ${newestIds}`,
  );
  const request = db.prepare<[number], Row<"requests">>("SELECT * FROM requests WHERE seq = ?");
  const deliveriesOf = db.prepare<[number], DeliverySummaryRow>(
    `SELECT ${deliverySummaryColumns} FROM deliveries d LEFT JOIN deliveries r ON r.seq = d.resent_by
     WHERE d.alert_seq = ? ORDER BY d.seq`,
  );
  const attemptsOf = db.prepare<[string], AttemptRow>(
    "SELECT t.* FROM attempts t JOIN deliveries d ON d.seq = t.delivery_seq WHERE d.id = ? ORDER BY t.seq",
  );
  const changes = db.prepare<[number, number], AlertRow>(
    `SELECT * FROM alerts WHERE version > ? ORDER BY version ${boundLimit}`,
  );
  /** In bytes: SQLite counts the letters of a text up to its first NUL. */
  const aroundRaw = db
    .prepare<[string, number], Uint8Array>(
      `SELECT substr(body, max(1, instr(CAST(lower(CAST(body AS TEXT)) AS BLOB), CAST(lower(?) AS BLOB)) - 60), 200)
       FROM requests WHERE seq = (SELECT request_seq FROM alerts WHERE seq = ?)`,
    )
    .pluck();
  const runs = createRuns({ db });
  const newer = db.prepare<[number], AlertRow>("SELECT * FROM alerts WHERE seq > ? ORDER BY seq LIMIT 1");
  const older = db.prepare<[number], AlertRow>("SELECT * FROM alerts WHERE seq < ? ORDER BY seq DESC LIMIT 1");
  // The index has only alerts with a version; without the condition SQLite does not use it and reads the whole table.
  const version = db.prepare<[], number | null>("SELECT max(version) FROM alerts WHERE version IS NOT NULL").pluck();
  const latestVersion = (): number => version.get() ?? 0;
  const total = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM alerts").pluck();
  const receivedAtOf = db
    .prepare<[number], number>("SELECT received_at FROM alerts WHERE seq >= ? ORDER BY seq LIMIT 1")
    .pluck();
  const removed = db.prepare<[], number>("SELECT count FROM removed_alerts").pluck();
  const last = db.prepare<[], number | null>("SELECT received_at FROM alerts ORDER BY seq DESC LIMIT 1").pluck();
  const duplicates = db.prepare<[], number>("SELECT count FROM duplicate_count").pluck();
  const repeatsOf = db.prepare<[string], number>("SELECT count(*) FROM alerts WHERE repeat_of = ?").pluck();

  const summaryOf = (row: SummaryRow): AlertSummary => toSummary(row, deliveriesOf.all(row.seq));

  /** Beside what was asked for: how often its key came, and what stands around a text that the body was to have. */
  function readerOf({ newestOfKey, raw: [wanted] = [] }: AlertQuery): (row: SummaryRow) => AlertSummary {
    const read = newestOfKey ? withRun : summaryOf;
    if (wanted === undefined) return read;
    return (row) => {
      return { ...read(row), aroundRaw: toReadable(aroundRaw.get(wanted, row.seq) ?? new Uint8Array()) };
    };
  }

  function withRun(row: SummaryRow): AlertSummary {
    const summary = summaryOf(row);
    const key = summary.facts?.alertKey;
    return key === undefined ? summary : { ...summary, run: runs.runOf(key, row.seq) };
  }

  return {
    listAlerts: (query: AlertQuery): AlertSummary[] =>
      listing.list(query, Number.POSITIVE_INFINITY).rows.map(readerOf(query)),

    listAlertsWithin(query: AlertQuery, mostMs: number): AlertsFound {
      const { rows, stoppedBelow, looked } = listing.list(query, mostMs);
      const alerts = rows.map(readerOf(query));
      if (stoppedBelow === undefined) return { alerts };
      const receivedAt = receivedAtOf.get(stoppedBelow) ?? 0;
      return { alerts, stopped: { position: toPosition(stoppedBelow), receivedAt, looked } };
    },

    neighbours(id: string): { newer?: AlertSummary; older?: AlertSummary } {
      const row = byId.get(id);
      if (row === undefined) return {};
      const [next, last] = [newer.get(row.seq), older.get(row.seq)];
      return { newer: next && summaryOf(next), older: last && summaryOf(last) };
    },

    listFailed: (query: FailedQuery, page: { limit: number; after?: Position }): FailedDelivery[] =>
      listing.listFailed(query, page).map(toFailedDelivery),

    countFailed: listing.countFailed,
    countMatches: listing.countMatches,
    countOverTime: createOverTime({ db }),

    getAlert(id: string): AlertDetail | undefined {
      const row = byId.get(id);
      if (!row) return undefined;
      const summary = summaryOf(row);
      const source = row.request_seq === null ? undefined : request.get(row.request_seq);
      return toDetail(summary, {
        decisions: row.decisions,
        attempts: summary.deliveries.map((delivery) => attemptsOf.all(delivery.id)),
        request: source && { ...source, item: row.item },
        repeats: source === undefined ? 0 : (repeatsOf.get(id) ?? 0),
      });
    },

    findByIdPart(part: string, limit: number): AlertsNamed {
      const rows = new Map(beginningWith.all(part, part, limit).map((row) => [row.id, row]));
      for (const id of endingWith.all(part.length, part, limit)) {
        const row = byId.get(id);
        if (row !== undefined) rows.set(id, row);
      }
      const alerts = [...rows.values()].map(summaryOf).sort((a, b) => (a.id < b.id ? 1 : -1));
      const { count = 0, first = null } = endings.get() ?? {};
      const isAll = count < mostEndings || first === null;
      return { alerts: alerts.slice(0, limit), ...(!isAll && { searchedTo: timeOfId(first) }) };
    },

    listChanges: (after: ChangeCursor | undefined, limit: number): AlertChange[] =>
      changes.all(after === undefined ? 0 : fromChangeCursor(after), limit).map((row) => ({
        ...summaryOf(row),
        cursor: toChangeCursor(row.version ?? 0),
      })),

    latestVersion,
    latestChange: (): ChangeCursor => toChangeCursor(latestVersion()),
    knowsChange: (cursor: ChangeCursor): boolean => fromChangeCursor(cursor) <= latestVersion(),

    countAlerts(): AlertCounts {
      const accepted = total.get() ?? 0;
      return {
        total: accepted,
        kept: accepted - (removed.get() ?? 0),
        oldestReceivedAt: receivedAtOf.get(0),
        lastReceivedAt: last.get() ?? undefined,
      };
    },

    countDuplicates: (): number => duplicates.get() ?? 0,
  };
}
