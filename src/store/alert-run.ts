import type { AlertStatus } from "../core/alert.ts";
import type { AlertRun } from "../core/ports/alert-log.ts";

export interface RunRow {
  at: number;
  status: AlertStatus;
}

/** Alerts of one key that are counted: a page of the log asks for fifty keys. */
const mostCounted = 20;
/** As many as have to be looked at for that. */
export const mostOfRun = mostCounted + 2;

/** Of the alerts of a key that are no repeats, newest first, `mostOfRun` at most. */
export function toRun(rows: RunRow[]): AlertRun {
  const [newest] = rows;
  const isOver = newest?.status === "resolved";
  const before = isOver ? rows.slice(1) : rows;
  const end = before.findIndex(({ status }) => status === "resolved");
  const run = (end === -1 ? before : before.slice(0, end)).slice(0, mostCounted);
  const isMore = end === -1 ? before.length > mostCounted : end > mostCounted;
  return { isOver, count: run.length, isMore, sinceAt: (run.at(-1) ?? newest)?.at ?? 0 };
}
