import type { Metric, Pool, Token } from "./catalogue.ts";
import { mixNumbers, noiseAt, unitOf } from "./seeded.ts";

/** A manual push: the metric's value is multiplied by `factor` between two instants. */
export interface Nudge {
  metricKey: string;
  factor: number;
  fromAt: number;
  untilAt: number;
}

export interface Market {
  tokenPriceUsd(token: Token, at: number): number;
  tokenTvlUsd(token: Token, at: number): number;
  poolTvlUsd(pool: Pool, at: number): number;
  /** Over the 24 hours before. */
  poolVolumeUsd(pool: Pool, at: number): number;
  /** How many quote tokens one base token costs in this pool. */
  poolPrice(pool: Pool, at: number): number;
  /** Any other named quantity that moves like a price around `base`. */
  priceOf(hash: number, base: number, at: number): number;
  metricValue(metric: Metric, at: number): number;
}

const minuteMs = 60_000;

/** A walk as a sum of noises, the slower the larger, as a random walk's are. Period and largest share of the value. */
const waves = [
  { periodMs: minuteMs, height: 0.0015 },
  { periodMs: 7 * minuteMs, height: 0.005 },
  { periodMs: 45 * minuteMs, height: 0.012 },
  { periodMs: 5 * 60 * minuteMs, height: 0.025 },
  { periodMs: 36 * 60 * minuteMs, height: 0.06 },
] as const;

const jump = { everyMs: 30 * minuteMs, chance: 0.15, least: 0.04, most: 0.22, decayMs: 4 * minuteMs };

/**
 * Prices as a pure function of seed and time: the market, its history and its restart need no state. `speed` runs the
 * market's clock faster than the wall's, so that conditions turn more often.
 */
export function createMarket(options: { speed: number; nudges: () => readonly Nudge[] }): Market {
  const walk = (hash: number, at: number) => walkAt(hash, at * options.speed);

  const tokenPriceUsd = (token: Token, at: number) =>
    token.basePriceUsd * Math.exp(walk(token.hash, at) * (token.isStable ? 0.02 : 1));
  const poolTvlUsd = (pool: Pool, at: number) => pool.baseTvlUsd * Math.exp(walk(pool.hash, at) * 1.5);
  const poolVolumeUsd = (pool: Pool, at: number) =>
    pool.baseTvlUsd * 0.4 * Math.exp(walk(mixNumbers(pool.hash, 3), at) * 3);
  // A pool's own price strays a little from the tokens' prices, as real pools do.
  const poolPrice = (pool: Pool, at: number) =>
    (tokenPriceUsd(pool.base, at) / tokenPriceUsd(pool.quote, at)) *
    (1 + 0.002 * noiseAt(mixNumbers(pool.hash, 5), (at * options.speed) / minuteMs));
  const tokenTvlUsd = (token: Token, at: number) => token.baseTvlUsd * Math.exp(walk(mixNumbers(token.hash, 7), at));

  function metricValue(metric: Metric, at: number): number {
    const { pool, token } = metric;
    const value =
      pool === undefined
        ? metric.kind === "token_price"
          ? tokenPriceUsd(token, at)
          : tokenTvlUsd(token, at)
        : metric.kind === "pool_h24_volume"
          ? poolVolumeUsd(pool, at)
          : metric.kind === "pool_price"
            ? poolPrice(pool, at)
            : poolTvlUsd(pool, at);
    return roundTo(value * nudgeFactor(options.nudges(), metric.key, at), 8);
  }

  return {
    tokenPriceUsd,
    tokenTvlUsd,
    poolTvlUsd,
    poolVolumeUsd,
    poolPrice,
    priceOf: (hash, base, at) => base * Math.exp(walk(hash, at)),
    metricValue,
  };
}

function walkAt(hash: number, at: number): number {
  let height = jumpsAt(hash, at);
  for (const [index, wave] of waves.entries()) {
    height += wave.height * noiseAt(mixNumbers(hash, index + 11), at / wave.periodMs);
  }
  return height;
}

/** Sudden moves that fade: at most one in each half hour, so that the last two are all that can still be felt. */
function jumpsAt(hash: number, at: number): number {
  const bucket = Math.floor(at / jump.everyMs);
  let height = 0;
  for (const index of [bucket - 1, bucket]) {
    const seed = mixNumbers(hash, index | 0);
    if (unitOf(seed) >= jump.chance) continue;
    const sinceMs = at - (index + unitOf(mixNumbers(seed, 1))) * jump.everyMs;
    if (sinceMs < 0) continue;
    const size = jump.least + (jump.most - jump.least) * unitOf(mixNumbers(seed, 2));
    const sign = unitOf(mixNumbers(seed, 3)) < 0.5 ? -1 : 1;
    height += sign * size * Math.exp(-sinceMs / jump.decayMs);
  }
  return height;
}

function nudgeFactor(nudges: readonly Nudge[], metricKey: string, at: number): number {
  let factor = 1;
  for (const nudge of nudges) {
    if (nudge.metricKey === metricKey && at >= nudge.fromAt && at < nudge.untilAt) factor *= nudge.factor;
  }
  return factor;
}

/** Significant digits, so that small prices keep theirs. */
export function roundTo(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}

export interface HistoryPoint {
  /** Epoch milliseconds; the wire carries the unit of the option `timestampUnit`. */
  at: number;
  value: number;
}

/** Section 8: up to 7 days. */
const historyWindowMs = 7 * 24 * 3_600_000;

/** The interface does not say how dense the records are; the sandbox keeps one each five minutes. */
const recordEveryMs = 300_000;

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
