import { groupBy } from "../../src/ground/group-by.ts";
import type { Metric, Pool, Token } from "./catalogue.ts";
import { mixNumbers, noiseAt, unitOf } from "./seeded.ts";
import type { ServiceSandbox } from "./service.ts";

const minuteMs = 60_000;

/** A random walk as a sum of noises: the slower, the larger. Each has a period and a largest share of the value. */
const waves = [
  { periodMs: minuteMs, height: 0.0015 },
  { periodMs: 7 * minuteMs, height: 0.005 },
  { periodMs: 45 * minuteMs, height: 0.012 },
  { periodMs: 5 * 60 * minuteMs, height: 0.025 },
  { periodMs: 36 * 60 * minuteMs, height: 0.06 },
] as const;

const jump = { everyMs: 30 * minuteMs, chance: 0.15, least: 0.04, most: 0.22, decayMs: 4 * minuteMs };

/** A pure function of seed and time, so no state is kept. `speed` makes conditions turn more often. */
export class Market {
  constructor(private readonly sandbox: Pick<ServiceSandbox, "settings" | "state">) {}

  tokenPriceUsd({ basePriceUsd, hash, isStable }: Token, at: number): number {
    return basePriceUsd * Math.exp(this.#walk(hash, at) * (isStable ? 0.02 : 1));
  }

  poolTvlUsd({ baseTvlUsd, hash }: Pool, at: number): number {
    return baseTvlUsd * Math.exp(this.#walk(hash, at) * 1.5);
  }

  poolVolumeUsd({ baseTvlUsd, hash }: Pool, at: number): number {
    return baseTvlUsd * 0.4 * Math.exp(this.#walk(mixNumbers(hash, 3), at) * 3);
  }

  /** Quote tokens for one base token in this pool. Differs a little from the tokens' prices, as in real pools. */
  poolPrice({ base, quote, hash }: Pool, at: number): number {
    const straying = 1 + 0.002 * noiseAt(mixNumbers(hash, 5), (at * this.sandbox.settings.speed) / minuteMs);
    return (this.tokenPriceUsd(base, at) / this.tokenPriceUsd(quote, at)) * straying;
  }

  priceOf(hash: number, base: number, at: number): number {
    return base * Math.exp(this.#walk(hash, at));
  }

  metricValue(metric: Metric, at: number): number {
    let value = this.#naturalValue(metric, at);
    for (const { metricKey, fromAt, untilAt, factor } of this.sandbox.state.nudges) {
      if (metricKey === metric.key && at >= fromAt && at < untilAt) value *= factor;
    }
    return roundTo(value, 8);
  }

  #naturalValue({ kind, token, pool }: Metric, at: number): number {
    if (kind === "token_price") return this.tokenPriceUsd(token, at);
    if (pool === undefined) return token.baseTvlUsd * Math.exp(this.#walk(mixNumbers(token.hash, 7), at));
    if (kind === "pool_h24_volume") return this.poolVolumeUsd(pool, at);
    return kind === "pool_price" ? this.poolPrice(pool, at) : this.poolTvlUsd(pool, at);
  }

  #walk(hash: number, at: number): number {
    const marketAt = at * this.sandbox.settings.speed;
    let height = jumpsAt(hash, marketAt);
    for (const [index, wave] of waves.entries()) {
      height += wave.height * noiseAt(mixNumbers(hash, index + 11), marketAt / wave.periodMs);
    }
    return height;
  }
}

/** Sudden moves that fade: at most one in each half hour, so only the last two have an effect. */
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

/** Rounds to significant digits, which keeps those of small prices. */
export function roundTo(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}

export interface HistoryPoint {
  /** Epoch milliseconds. The interface uses the unit of the option `timestampUnit`. */
  at: number;
  value: number;
}

/** Section 8: up to 7 days. */
export const historyWindowMs = 7 * 24 * 3_600_000;

/** The interface does not document the density of records. The sandbox keeps one every five minutes. */
const recordEveryMs = 300_000;

/** From `fromAt` to `toAt`, both included, oldest first, within the last seven days. */
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

/** One point for each bucket with records: the bucket's beginning and the records' average. */
export function averageByBucket(points: readonly HistoryPoint[], bucketMs: number): HistoryPoint[] {
  const buckets = groupBy(points, ({ at }) => Math.floor(at / bucketMs) * bucketMs);
  return [...buckets].map(([at, records]) => {
    const sum = records.reduce((total, { value }) => total + value, 0);
    return { at, value: roundTo(sum / records.length, 8) };
  });
}
