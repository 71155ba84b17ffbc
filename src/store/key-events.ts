import type { AlertOrigin, AlertStatus, Severity } from "../core/alert.ts";
import type { KeyEvent, KeyHistory } from "../core/ports/alert-log.ts";

export interface EventRow {
  seq: number;
  id: string;
  origin: AlertOrigin;
  received_at: number;
  severity: Severity;
  repeat_of: string | null;
  size: number;
  status: AlertStatus;
  value: string | null;
  threshold: string | null;
  unit: string | null;
  metric: string | null;
  token: string | null;
  chain: string | null;
}

/** Rows that were read until their texts were too long. */
export interface SomeEvents {
  rows: EventRow[];
  isCut: boolean;
}

/** Facts with long texts take long to look into: a millisecond or two for so many characters. */
const mostUnits = 192 * 1024;
/** The same of a page of keys. */
export const mostUnitsOfPage = 2 * 1024 * 1024;

/** How many rows are read behind an alert, at the end of its key, and from it on back. */
export function sharesOf(most: number): { beside: number; before: number } {
  const beside = Math.max(1, Math.floor(most / 4));
  return { beside, before: most - 2 * beside };
}

/** At least one row, and as many more as their texts allow. */
export function readSome(rows: Iterable<EventRow>): SomeEvents {
  const found: EventRow[] = [];
  let units = 0;
  for (const row of rows) {
    units += row.size;
    if (found.length > 0 && units > mostUnits) return { rows: found, isCut: true };
    found.push(row);
  }
  return { rows: found, isCut: false };
}

/** What the page of the alert at `seq` shows of its key. */
export function toKeyHistory(
  alert: { seq: number; origin: AlertOrigin },
  read: { following: SomeEvents; latest: SomeEvents; before: SomeEvents },
  most: number,
): KeyHistory {
  const { following, latest, before } = read;
  const { seq } = alert;
  const shares = sharesOf(most);
  const oldestSeq = before.rows.at(-1)?.seq ?? seq;
  const rows = new Map([...latest.rows, ...following.rows, ...before.rows].map((row) => [row.seq, row]));
  const newestFirst = [...rows.values()].filter((row) => row.seq >= oldestSeq).sort((a, b) => b.seq - a.seq);
  const lastFollowing = following.rows.at(-1)?.seq ?? seq;
  return {
    events: newestFirst.filter(({ origin }) => origin === alert.origin).map(toEvent),
    hasOlder: before.isCut || before.rows.length === shares.before,
    hasGap:
      (latest.rows.at(-1)?.seq ?? seq) > lastFollowing && (following.isCut || following.rows.length === shares.beside),
  };
}

function toEvent(row: EventRow): KeyEvent {
  return {
    id: row.id,
    receivedAt: row.received_at,
    severity: row.severity,
    status: row.status,
    value: row.value ?? undefined,
    threshold: row.threshold ?? undefined,
    unit: row.unit ?? undefined,
    metric: row.metric ?? undefined,
    token: row.token ?? undefined,
    chain: row.chain ?? undefined,
    isRepeat: row.repeat_of !== null,
  };
}
