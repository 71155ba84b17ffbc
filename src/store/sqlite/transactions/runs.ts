import type { AlertRun } from "../../../core/ports/alert-log.ts";
import { mostOfRun, type RunRow, toRun } from "../../alert-run.ts";
import { boundLimit, type TransactionContext } from "./context.ts";

/** What came under an alert key since it was last over, read from the index of keys alone. */
export function createRuns({ db }: Pick<TransactionContext, "db">) {
  const list = db.prepare<[string, number, number], RunRow>(
    `SELECT received_at AS at, facts ->> '$.status' AS status FROM alerts
     WHERE alert_key = ? AND seq <= ? AND repeat_of IS NULL ORDER BY seq DESC ${boundLimit}`,
  );
  return {
    /** Of the alert at `seq` and those before it. */
    runOf: (key: string, seq: number): AlertRun => toRun(list.all(key, seq, mostOfRun)),
  };
}
