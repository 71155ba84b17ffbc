import { changeOver, dayWindow, hourWindow, indexAfter, weekEndMs, weekWindow } from "../charts/change.ts";
import type { HistoryPoint } from "../core/ports/metric-history.ts";
import { writeShortNumber } from "../ground/numbers/format-number.ts";
import { dayMs, hourMs, minuteMs } from "../ground/time/spans.ts";
import { formatDuration } from "../ground/time/time-format.ts";

export interface MarketFacts {
  /** Records of the last seven days, by time. Each is the value at its instant, no average. */
  points?: readonly HistoryPoint[];
  /** `at`: epoch milliseconds. `other`: a number of another kind than the records. Absent: no number. */
  alert?: { at: number; value: number | "other" };
  /** The metric's unit. A change in percent of a percentage would mislead, so it gets none. */
  unit?: string;
  pool?: { tvl?: number; volume?: number };
  ticker?: { cex: number; dex: number };
}

/** The room below the text of an edited chat message. */
const longestLine = 120;

/** An older record does not describe the present. */
const oldestMs = 2 * hourMs;
/** An older record is shown with its age. */
const freshMs = 15 * minuteMs;
/** A record this much later than the alert still belongs to its moment. */
const sameMomentMs = 2 * minuteMs;
/** Allows for clocks that differ. */
const earlyMs = 2 * minuteMs;
/** A longer hole may hide the lowest and the highest value. */
const longestHoleMs = 12 * hourMs;

/**
 * `1 h −0.4 % · 24 h −8.2 % · 7 d +3.1 % · 7 d low 18,123, high 22,412 · pool 24 h volume 1.2 M USD`: only certain
 * facts, in at most 120 characters. Undefined when nothing is certain.
 * The changes lead to the alert's own value. Where a record is newer, or the two are of different kinds, they lead to
 * the newest record, which is named: `now 18,123: 1 h −0.4 %`, `4 min ago 18,123: …`.
 */
export function writeMarketLine(
  { points = [], alert, unit, pool, ticker }: MarketFacts,
  now: number,
): string | undefined {
  const records = recordsUntil(points, now + earlyMs);
  const own = ownOf(alert, records);
  const known = own === undefined ? records : [...records.slice(0, indexAfter(records, own.at - 1)), own];
  const newest = known.at(-1);
  const isFresh = newest !== undefined && now - newest.at <= oldestMs;
  const parts = [
    ...(isFresh ? [...(unit === "%" ? [] : writeChanges(known)), writeRange(known, newest)] : []),
    pool === undefined ? undefined : writePool(pool),
    ticker === undefined ? undefined : writeTicker(ticker),
  ].filter((part) => part !== undefined);
  const isNamed = own === undefined && alert !== undefined;
  const start = !isFresh ? "" : writeStart(newest, now, isNamed);
  let line = "";
  for (const part of parts) {
    const longer = line === "" ? start + part : `${line} · ${part}`;
    if (longer.length <= longestLine) line = longer;
  }
  return line === "" ? undefined : line;
}

/** The alert's value as the newest record. Undefined where a newer record exists, or none at all. */
function ownOf(alert: MarketFacts["alert"], records: readonly HistoryPoint[]): HistoryPoint | undefined {
  const newest = records.at(-1);
  if (alert === undefined || alert.value === "other" || newest === undefined) return undefined;
  return newest.at - alert.at <= sameMomentMs ? { at: alert.at, value: alert.value } : undefined;
}

function writeStart({ at, value }: HistoryPoint, now: number, isNamed: boolean): string {
  const age = now - at;
  if (!isNamed) return age > freshMs ? `${formatDuration(age)} ago: ` : "";
  return `${age < minuteMs ? "now" : `${formatDuration(age)} ago`} ${shorten(value)}: `;
}

function recordsUntil(points: readonly HistoryPoint[], until: number): readonly HistoryPoint[] {
  const last = points.at(-1);
  const isAll = last === undefined || last.at <= until;
  return (isAll ? points : points.slice(0, indexAfter(points, until))).filter(({ value }) => Number.isFinite(value));
}

function writeChanges(points: readonly HistoryPoint[]): string[] {
  return [hourWindow, dayWindow, weekWindow].flatMap((window) => {
    const change = changeOver(points, window);
    return change === undefined ? [] : [`${window.label} ${change}`];
  });
}

/** The range of values back to the last long hole. */
function writeRange(points: readonly HistoryPoint[], newest: HistoryPoint): string | undefined {
  let first = points.length - 1;
  while (first > 0 && (points[first]?.at ?? 0) - (points[first - 1]?.at ?? 0) <= longestHoleMs) first -= 1;
  const spanMs = newest.at - (points[first]?.at ?? newest.at);
  const isWeek = spanMs >= 7 * dayMs - weekEndMs;
  const unitMs = spanMs >= dayMs ? dayMs : hourMs;
  const whole = isWeek ? 7 : Math.floor(spanMs / unitMs);
  if (whole < 2 && unitMs === hourMs) return undefined;
  const from = isWeek ? 0 : newest.at - whole * unitMs;
  let [low, high] = [newest.value, newest.value];
  for (let index = points.length - 1; index >= first; index -= 1) {
    const point = points[index];
    if (point === undefined || point.at < from) break;
    low = Math.min(low, point.value);
    high = Math.max(high, point.value);
  }
  if (low === high) return undefined;
  return `${whole} ${isWeek || unitMs === dayMs ? "d" : "h"} low ${shorten(low, high)}, high ${shorten(high, low)}`;
}

function writePool({ tvl, volume }: NonNullable<MarketFacts["pool"]>): string | undefined {
  const parts = [
    tvl === undefined || !isAmount(tvl) ? undefined : `TVL ${shorten(tvl)}`,
    volume === undefined || !isAmount(volume) ? undefined : `24 h volume ${shorten(volume)}`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : `pool ${parts.join(", ")} USD`;
}

function isAmount(value: number): boolean {
  return Number.isFinite(value) && value >= 0;
}

function writeTicker({ cex, dex }: NonNullable<MarketFacts["ticker"]>): string | undefined {
  return isAmount(cex) && isAmount(dex) ? `CEX ${shorten(cex, dex)}, DEX ${shorten(dex, cex)} USD` : undefined;
}

/** @param neighbour a value whose short form must differ, if the value differs */
function shorten(value: number, neighbour?: number): string {
  return writeShortNumber(String(value), {
    besides: [neighbour === undefined ? undefined : String(neighbour)],
  }).replace("-", "−");
}
