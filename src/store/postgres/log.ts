import type { AlertCounts, AlertLog } from "../../core/ports/alert-log.ts";
import { toFailedDelivery, toShown, toSummary } from "../log-entries.ts";
import { isPosition, toPosition } from "../positions.ts";
import type { SharedName } from "../transactions/index.ts";
import { createChanges, isChangeCursor } from "./changes.ts";
import type { Database } from "./database.ts";
import { createListing } from "./listing.ts";
import { createOverTime } from "./over-time.ts";
import { createReading, type OneRow } from "./reading.ts";

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
      return rows.map(toShown(query));
    },

    async listAlertsWithin(query, mostMs) {
      const { rows, stoppedBelow, looked } = await listing.list(query, mostMs);
      const alerts = rows.map(toShown(query));
      if (stoppedBelow === undefined) return { alerts };
      const [first] = await rowsOf<{ received_at: number }>(
        "SELECT received_at FROM alerts WHERE seq >= $1 ORDER BY seq LIMIT 1",
        [stoppedBelow],
        "received_at_from",
      );
      return { alerts, stopped: { position: toPosition(stoppedBelow), receivedAt: first?.received_at ?? 0, looked } };
    },

    async listFailed(query, page) {
      return (await listing.listFailed(query, page)).map(toFailedDelivery);
    },

    countFailed: listing.countFailed,
    countMatches: listing.countMatches,
    countOverTime: createOverTime(read),

    async listChanges(after, limit) {
      return (await changes.list(after, limit)).map((row) => ({ ...toSummary(row), cursor: row.cursor }));
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
    (SELECT received_at FROM alerts WHERE origin = 'hook' ORDER BY seq DESC LIMIT 1) AS last`,
};

const duplicateCount: OneRow<{ count: number }> = {
  name: "duplicates",
  sql: () => "SELECT coalesce(sum(count), 0) AS count FROM tallies WHERE kind = 'duplicate'",
};
