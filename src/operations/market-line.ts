import type { HistoryPoint } from "../core/ports/metric-history.ts";
import { writeChange, writeShortNumber } from "../ground/numbers/format-number.ts";
import { formatDuration } from "../ground/time/time-format.ts";

/** What is known of a metric besides its alert; whatever is absent is left out. */
export interface MarketFacts {
  /** Records of the last seven days, by time; each the value at its instant, no average. */
  points?: readonly HistoryPoint[];
  /** What the alert itself says, as far as it is a number. */
  value?: number;
  /** Of the metric: the change of a percentage in percent is for nobody. */
  unit?: string;
  /** Of the pool that the metric is about, USD. */
  pool?: { tvl?: number; volume?: number };
  /** Price of the token that the metric is about, USD. */
  ticker?: { cex: number; dex: number };
}

/** What an edited chat message has room for below its text. */
const longestLine = 120;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** What a week may lack at its end, where the service keeps no more. */
const weekEndMs = 2 * hourMs;

/**
 * How far from its instant a record may be to stand for it. After it, less: the change is then one of a shorter time.
 * The week's is near the end of what the service keeps, where none may be before it.
 */
const windows = [
  { label: "1 h", ms: hourMs, beforeMs: 10 * minuteMs, afterMs: 2 * minuteMs },
  { label: "24 h", ms: dayMs, beforeMs: hourMs, afterMs: 15 * minuteMs },
  { label: "7 d", ms: 7 * dayMs, beforeMs: 6 * hourMs, afterMs: weekEndMs },
];
/** What is older says nothing of now. */
const oldestMs = 2 * hourMs;
/** What is older is said with its age. */
const freshMs = 15 * minuteMs;
/** By more than this share the newest record is another value than the alert's, and is said. */
const otherValue = 0.005;
/** Clocks differ. */
const earlyMs = 2 * minuteMs;
/** Within a longer hole the lowest and the highest may lie. */
const longestHoleMs = 12 * hourMs;

/**
 * `1 h −0.4 % · 24 h −8.2 % · 7 d +3.1 % · 7 d low 18,123, high 22,412 · pool 24 h volume 1.2 M USD`: only what is
 * certain, and no more than 120 characters. Undefined when nothing is. Numbers and our own words only.
 */
export function writeMarketLine(
  { points = [], value, unit, pool, ticker }: MarketFacts,
  now: number,
): string | undefined {
  const known = recordsUntil(points, now + earlyMs);
  const newest = known.at(-1);
  const isFresh = newest !== undefined && now - newest.at <= oldestMs;
  const parts = [
    ...(isFresh ? [...(unit === "%" ? [] : writeChanges(known, newest)), writeRange(known, newest)] : []),
    pool === undefined ? undefined : writePool(pool),
    ticker === undefined ? undefined : writeTicker(ticker),
  ].filter((part) => part !== undefined);
  const age = newest === undefined ? 0 : now - newest.at;
  const isOther = value !== undefined && newest !== undefined && differs(value, newest.value);
  const when = age > freshMs ? `${formatDuration(age)} ago` : isOther ? "now" : undefined;
  const start = !isFresh || when === undefined ? "" : `${when}${isOther ? ` ${shorten(newest.value)}` : ""}: `;
  let line = "";
  for (const part of parts) {
    const longer = line === "" ? start + part : `${line} · ${part}`;
    if (longer.length <= longestLine) line = longer;
  }
  return line === "" ? undefined : line;
}

/** Then the changes are not those of the value that the message names. */
function differs(value: number, newest: number): boolean {
  return Math.abs(newest - value) > otherValue * Math.max(Math.abs(newest), Math.abs(value));
}

function recordsUntil(points: readonly HistoryPoint[], until: number): readonly HistoryPoint[] {
  const last = points.at(-1);
  const isAll = last === undefined || last.at <= until;
  return (isAll ? points : points.slice(0, indexAfter(points, until))).filter(({ value }) => Number.isFinite(value));
}

/** Of the first that is later; the length where none is. */
function indexAfter(points: readonly HistoryPoint[], at: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((points[middle]?.at ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function writeChanges(points: readonly HistoryPoint[], newest: HistoryPoint): string[] {
  return windows.flatMap(({ label, ms, beforeMs, afterMs }) => {
    const at = newest.at - ms;
    const index = indexAfter(points, at);
    const [before, after] = [points[index - 1], points[index]];
    const isNear = before !== undefined && at - before.at <= beforeMs;
    const base = isNear ? before : after !== undefined && after.at - at <= afterMs ? after : undefined;
    // Of nothing, and of less than nothing, there is no share.
    if (base === undefined || base.value <= 0) return [];
    if (base.value === newest.value) return [`${label} ±0 %`];
    const change = writeChange(String(base.value), String(newest.value));
    const isSmall = Math.abs(newest.value - base.value) < base.value * 0.001;
    return change !== undefined ? [`${label} ${change}`] : isSmall ? [`${label} ±0 %`] : [];
  });
}

/** Of the time before the newest in which there is no long hole. */
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

/** @param beside where it differs, it reads differently */
function shorten(value: number, beside?: number): string {
  return writeShortNumber(String(value), { besides: [beside === undefined ? undefined : String(beside)] }).replace(
    "-",
    "−",
  );
}
