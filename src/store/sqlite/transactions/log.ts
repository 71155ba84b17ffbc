import type { AlertChange, AlertCounts, ChangeCursor } from "../../../core/ports/alert-log.ts";
import { createListing } from "../../listing/listing.ts";
import { createOverTime } from "../../listing/over-time.ts";
import { type ListedRow, listedColumns, toSummary } from "../../log-entries.ts";
import type { Dialect } from "../../tx.ts";
import { fromChangeCursor, toChangeCursor } from "../cursors.ts";
import { boundLimit, type TransactionContext } from "./context.ts";
import { createListWords } from "./list-words.ts";
import { createStepCounter } from "./over-time.ts";

/** Reading the log: every filter has an index that ends in the alert's position. */
export function createLog({ db }: Pick<TransactionContext, "db">, sql: Dialect) {
  const changes = db.prepare<[number, number], ListedRow>(
    `SELECT ${listedColumns(sql)} FROM alerts a WHERE a.version > ? ORDER BY a.version ${boundLimit}`,
  );
  // The index has only alerts with a version; without the condition SQLite does not use it and reads the whole table.
  const version = db.prepare<[], number | null>("SELECT max(version) FROM alerts WHERE version IS NOT NULL").pluck();
  const latestVersion = (): number => version.get() ?? 0;
  const total = db.prepare<[], number>("SELECT coalesce(max(seq), 0) FROM alerts").pluck();
  const receivedAtOf = db
    .prepare<[number], number>("SELECT received_at FROM alerts WHERE seq >= ? ORDER BY seq LIMIT 1")
    .pluck();
  const removed = db.prepare<[], number>("SELECT count FROM removed_alerts").pluck();
  // Tests and notices are few, so the newest of the table are all that is read.
  const last = db
    .prepare<[], number | null>("SELECT received_at FROM alerts WHERE origin = 'hook' ORDER BY seq DESC LIMIT 1")
    .pluck();
  const duplicates = db.prepare<[], number>("SELECT count FROM duplicate_count").pluck();

  return {
    ...createListing(createListWords({ db }, sql)),
    countOverTime: createOverTime(createStepCounter({ db }, sql)),

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
