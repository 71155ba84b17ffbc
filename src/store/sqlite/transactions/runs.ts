import type { AlertStatus } from "../../../core/alert.ts";
import type { AlertRun } from "../../../core/ports/alert-log.ts";
import { boundLimit, type TransactionContext } from "./context.ts";

interface RunRow {
  at: number;
  status: AlertStatus;
}

/** Alerts of one key that are looked at: a page of the log asks for fifty keys. */
const mostCounted = 20;

/** What came under an alert key since it was last over, read from the index of keys alone. */
export function createRuns({ db }: Pick<TransactionContext, "db">) {
  const list = db.prepare<[string, number, number], RunRow>(
    `SELECT received_at AS at, facts ->> '$.status' AS status FROM alerts
     WHERE alert_key = ? AND seq <= ? AND repeat_of IS NULL ORDER BY seq DESC ${boundLimit}`,
  );
  return {
    /** Of the alert at `seq` and those before it. */
    runOf: (key: string, seq: number): AlertRun => toRun(list.all(key, seq, mostCounted + 2)),
  };
}

/** Of the alerts of a key, newest first, as many as were looked at. */
function toRun(rows: RunRow[]): AlertRun {
  const [newest] = rows;
  const isOver = newest?.status === "resolved";
  const before = isOver ? rows.slice(1) : rows;
  const end = before.findIndex(({ status }) => status === "resolved");
  const run = (end === -1 ? before : before.slice(0, end)).slice(0, mostCounted);
  const isMore = end === -1 ? before.length > mostCounted : end > mostCounted;
  return { isOver, count: run.length, isMore, sinceAt: (run.at(-1) ?? newest)?.at ?? 0 };
}
