import type {
  AlertChange,
  AlertCounts,
  AlertQuery,
  AlertSummary,
  AlertsFound,
  ChangeCursor,
  FailedDelivery,
  FailedQuery,
  Position,
} from "../../../core/ports/alert-log.ts";
import { type ListedRow, listedColumns, toFailedDelivery, toReadable, toSummary } from "../../log-entries.ts";
import { toPosition } from "../../positions.ts";
import type { Dialect } from "../../tx.ts";
import { fromChangeCursor, toChangeCursor } from "../cursors.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import { createListing } from "./listing.ts";
import { createOverTime } from "./over-time.ts";
import { createRuns } from "./runs.ts";

/** Reading the log: keyset pages, newest first (`listing.ts`); every filter has an index that ends in the alert's position. */
export function createLog({ db }: Pick<TransactionContext, "db">, sql: Dialect) {
  const listing = createListing({ db }, sql);
  const changes = db.prepare<[number, number], ListedRow>(
    `SELECT ${listedColumns(sql)} FROM alerts a WHERE a.version > ? ORDER BY a.version ${boundLimit}`,
  );
  /** In bytes: SQLite counts the letters of a text up to its first NUL. */
  const aroundRaw = db
    .prepare<[string, number], Uint8Array>(
      `SELECT substr(body, max(1, instr(CAST(lower(CAST(body AS TEXT)) AS BLOB), CAST(lower(?) AS BLOB)) - 60), 200)
       FROM requests WHERE seq = (SELECT request_seq FROM alerts WHERE seq = ?)`,
    )
    .pluck();
  const runs = createRuns({ db });
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

  /** Beside what was asked for: how often its key came, and what stands around a text that the body was to have. */
  function readerOf({ newestOfKey, raw: [wanted] = [] }: AlertQuery): (row: ListedRow) => AlertSummary {
    const read = newestOfKey ? withRun : toSummary;
    if (wanted === undefined) return read;
    return (row) => {
      return { ...read(row), aroundRaw: toReadable(aroundRaw.get(wanted, row.seq) ?? new Uint8Array()) };
    };
  }

  function withRun(row: ListedRow): AlertSummary {
    const summary = toSummary(row);
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

    listFailed: (query: FailedQuery, page: { limit: number; after?: Position }): FailedDelivery[] =>
      listing.listFailed(query, page).map(toFailedDelivery),

    countFailed: listing.countFailed,
    countMatches: listing.countMatches,
    countOverTime: createOverTime({ db }),

    listChanges: (after: ChangeCursor | undefined, limit: number): AlertChange[] =>
      changes.all(after === undefined ? 0 : fromChangeCursor(after), limit).map((row) => ({
        ...toSummary(row),
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
