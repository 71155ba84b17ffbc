import { Budget } from "../core/budget.ts";
import { type Clock, within } from "../core/clock.ts";
import { type MetricKeyParts, metricKeyOf, readMetricKey } from "../core/metric-key.ts";
import { momentOf, valueAmong } from "../core/metric-value.ts";
import type { AlertDetail, AlertLog } from "../core/ports/alert-log.ts";
import type { HistoryPoint } from "../core/ports/metric-history.ts";
import { type BareSubject, bareSubjectOf } from "../core/subject-name.ts";
import { type MarketFacts, writeMarketLine } from "./market-line.ts";
import type { Questions } from "./questions.ts";

/** USD. */
type PoolSight = { usdTvl: number; h24UsdVolume: number };
/** USD. A market that does not trade the token has no price. */
type TickerSight = { price: number; cex?: number; dex?: number };
type Asking<T> = Pick<Questions<T>, "read" | "known">;

export interface MarketContextDeps {
  store: Pick<AlertLog, "getAlert">;
  histories: Asking<readonly HistoryPoint[]>;
  /** The pools, by `poolKey`. Absent: the pricing interface is not configured. */
  pools?: Asking<PoolSight>;
  tickers?: Asking<TickerSight>;
  /** Symbols of tokens that alerts name only by address. Default: none is known. */
  symbolOf?(subject: BareSubject): string | undefined;
  clock: Clock;
}

/** More alerts in a minute are a flood, in which nothing new is asked. */
const mostAMinute = 12;
const minuteMs = 60_000;
/** Two assets may have one symbol: a price this far from the metric's own is that of another asset. */
const farthestTicker = 0.2;

function poolKey({ chain, address }: Pick<MetricKeyParts, "chain" | "address">): string {
  return `${chain} ${address}`;
}

export function createMarketContext(deps: MarketContextDeps) {
  const { store, histories, pools, tickers, symbolOf, clock } = deps;
  const budget = new Budget(clock, mostAMinute, minuteMs);

  /** Several tokens may have the symbol, so the ticker's price must agree with the metric's own. */
  function readTicker(symbol: string | undefined, parts: MetricKeyParts | undefined): string | undefined {
    const isPrice = parts?.kind === "token" && /(?:^|_)price(?:_usd)?$/.test(parts.measure);
    return isPrice && symbol !== undefined && /^[A-Za-z0-9.]{1,20}$/.test(symbol) ? `${symbol}/USD` : undefined;
  }

  function questionsOf(alert: AlertDetail) {
    const key = metricKeyOf(alert);
    if (key === undefined) return undefined;
    const parts = readMetricKey(key);
    const token = alert.facts?.token;
    const bare = alert.facts && bareSubjectOf(alert.facts);
    return {
      key,
      alert,
      unit: alert.facts?.unit?.trim(),
      measure: parts?.measure ?? "",
      pool: parts?.kind === "pool" ? poolKey(parts) : undefined,
      ticker: readTicker(bare === undefined ? token : symbolOf?.(bare), parts),
    };
  }

  type Asked = NonNullable<ReturnType<typeof questionsOf>>;

  function write(
    { alert, unit, measure }: Asked,
    points: readonly HistoryPoint[] | undefined,
    pool: PoolSight | undefined,
    ticker: TickerSight | undefined,
  ): string | undefined {
    const facts: MarketFacts = {
      points,
      alert: saidBy(alert, points),
      unit,
      // The alert's first line has its own measure, so this line leaves it out.
      pool: pool && {
        tvl: measure.includes("tvl") ? undefined : pool.usdTvl,
        volume: measure.includes("volume") ? undefined : pool.h24UsdVolume,
      },
      ticker: ticker && agreeing(ticker, points?.at(-1)?.value),
    };
    return writeMarketLine(facts, clock.now());
  }

  function known(alert: AlertDetail): string | undefined {
    const questions = questionsOf(alert);
    if (questions === undefined) return undefined;
    const { key, pool, ticker } = questions;
    return write(questions, histories.known(key), pools?.known(pool), tickers?.known(ticker));
  }

  return {
    /** The line of `describe` from known answers, without a question. */
    known,
    /**
     * "1 h −0.4 % · 24 h −8.2 % · 7 d low 18,123, high 22,412", at most 120 characters, without others' text. Late
     * answers are left out, and in a flood nothing is asked. Undefined when nothing certain is known. Never rejects.
     */
    async describe(alertId: string, { signal, deadlineMs }: { signal?: AbortSignal; deadlineMs: number }) {
      const until = clock.now() + deadlineMs;
      const soon = async <T>(asked: Promise<T | undefined> | undefined) =>
        asked && within(asked, until - clock.now(), clock, signal).catch(() => undefined);
      const alert = await soon(store.getAlert(alertId));
      const questions = alert && questionsOf(alert);
      if (questions === undefined || signal?.aborted) return undefined;
      if (!budget.isLeft()) return known(alert as AlertDetail);
      budget.spend();
      const { key, pool, ticker } = questions;
      const [points, state, price] = await Promise.all([
        soon(histories.read(key)),
        soon(pools?.read(pool)),
        soon(tickers?.read(ticker)),
      ]);
      return signal?.aborted ? undefined : write(questions, points, state, price);
    },
  };
}

function saidBy(alert: AlertDetail, points: readonly HistoryPoint[] = []): MarketFacts["alert"] {
  if (alert.facts?.value === undefined) return undefined;
  return { at: momentOf(alert), value: valueAmong(alert.facts, points) ?? "other" };
}

function agreeing({ price, cex, dex }: TickerSight, value: number | undefined): MarketFacts["ticker"] {
  if (value === undefined || value <= 0 || cex === undefined || dex === undefined) return undefined;
  return Math.abs(price - value) <= farthestTicker * value ? { cex, dex } : undefined;
}
