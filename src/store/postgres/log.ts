import type { AlertCounts, AlertLog } from "../../core/ports/alert-log.ts";
import { createListing } from "../listing/listing.ts";
import { createOverTime } from "../listing/over-time.ts";
import { toSummary } from "../log-entries.ts";
import { isPosition } from "../positions.ts";
import type { SharedName } from "../transactions/index.ts";
import { createChanges, isChangeCursor } from "./changes.ts";
import type { Database } from "./database.ts";
import { createListWords } from "./list-words.ts";
import { createStepCounter } from "./over-time.ts";
import { createReading, type OneRow } from "./reading.ts";

/** Every filter has an index that ends in the alert's position. Rows of one statement show one moment. */
export function createLog(
  database: Pick<Database, "read">,
  read = createReading(database.read),
): Omit<AlertLog, SharedName> {
  const changes = createChanges(read);

  return {
    isPosition,
    isChangeCursor,

    ...createListing(createListWords(read)),
    countOverTime: createOverTime(createStepCounter(read)),

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
  sql: () => `SELECT (SELECT coalesce(sum(count), 0) FROM tallies WHERE kind = 'accepted') AS total,
    (SELECT coalesce(sum(count), 0) FROM tallies WHERE kind = 'removed') AS removed,
    (SELECT received_at FROM alerts ORDER BY seq LIMIT 1) AS oldest,
    (SELECT received_at FROM alerts WHERE origin = 'hook' ORDER BY seq DESC LIMIT 1) AS last`,
};

const duplicateCount: OneRow<{ count: number }> = {
  sql: () => "SELECT coalesce(sum(count), 0) AS count FROM tallies WHERE kind = 'duplicate'",
};
