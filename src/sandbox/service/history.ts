import type { Metric } from "./catalogue.ts";
import type { Market } from "./market.ts";
import { roundTo } from "./market.ts";

export interface HistoryPoint {
  /** Epoch milliseconds; the wire carries the unit of the option `timestampUnit`. */
  at: number;
  value: number;
}

/** Section 8: up to 7 days. */
export const historyWindowMs = 7 * 24 * 3_600_000;

/** The interface does not say how dense the records are; the sandbox keeps one each five minutes. */
export const recordEveryMs = 300_000;

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/**
 * `5m`, `1h`, `1d`: a whole number and one of s, m, h, d, w. The interface shows no format, so this is the sandbox's.
 * Undefined for anything else, and for less than a second or more than the window.
 */
export function parseGranularity(text: string): number | undefined {
  const parts = /^([1-9]\d{0,5})([smhdw])$/.exec(text);
  if (parts === null) return undefined;
  const ms = Number(parts[1]) * unitMs[parts[2] as keyof typeof unitMs];
  return ms > historyWindowMs ? undefined : ms;
}

/** Records of the metric from `fromAt` to `toAt`, both included, oldest first, never outside the last seven days. */
export function listRecords(
  market: Market,
  metric: Metric,
  range: { fromAt?: number; toAt?: number; now: number },
): HistoryPoint[] {
  const from = Math.max(range.fromAt ?? 0, range.now - historyWindowMs);
  const to = Math.min(range.toAt ?? range.now, range.now);
  const points: HistoryPoint[] = [];
  for (let at = Math.ceil(from / recordEveryMs) * recordEveryMs; at <= to; at += recordEveryMs) {
    points.push({ at, value: market.metricValue(metric, at) });
  }
  return points;
}

/** One point per bucket that has records: the bucket's beginning and the records' average. */
export function averageByBucket(points: readonly HistoryPoint[], bucketMs: number): HistoryPoint[] {
  const averaged: HistoryPoint[] = [];
  let sum = 0;
  let count = 0;
  for (const [index, point] of points.entries()) {
    sum += point.value;
    count += 1;
    const bucketAt = Math.floor(point.at / bucketMs) * bucketMs;
    const next = points[index + 1];
    if (next === undefined || next.at >= bucketAt + bucketMs) {
      averaged.push({ at: bucketAt, value: roundTo(sum / count, 8) });
      sum = 0;
      count = 0;
    }
  }
  return averaged;
}
