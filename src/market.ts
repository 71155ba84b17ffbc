import type { Config } from "./config/config.ts";
import type { Clock, Random } from "./core/clock.ts";
import type { Log } from "./core/log.ts";
import type { MarketServiceView } from "./core/operations.ts";
import type { AlertLog } from "./core/ports/alert-log.ts";
import { createMarketContext, type MarketContext } from "./operations/market-context.ts";
import { createMetricHistories, type MetricHistories } from "./operations/metric-histories.ts";
import { type Breaker, createBreaker, createQuestions, type Questions } from "./operations/questions.ts";

export interface MarketDeps {
  store: Pick<AlertLog, "getAlert">;
  clock: Clock;
  random: Random;
  log: Log;
  /** Of each call, waiting for others included. Default 2.5 s. */
  timeLimitMs?: number;
}

/** What the service is asked for only to decorate messages and pages, each thing once for all that show it. */
export interface Market {
  /** Absent: the alerting interface is not configured. */
  histories?: MetricHistories;
  /** Absent as well where the configuration wants none. */
  context?: MarketContext;
  /** By interface; those that are configured. */
  views(): MarketServiceView[];
}

/** Each of them; the histories have their own bound. */
const mostPricesAnHour = 60;

export async function openMarket(
  { upstream, market, watch }: Pick<Config, "upstream" | "market" | "watch">,
  deps: MarketDeps,
): Promise<Market> {
  const { clock, random, log, timeLimitMs } = deps;
  const client = { now: clock.now, random, sleep: clock.sleep, retry: { attempts: 1 } };
  const used: {
    of: MarketServiceView["interface"];
    breaker: Breaker;
    questions: Pick<Questions<unknown>, "calls">[];
  }[] = [];

  async function openHistories(): Promise<MetricHistories | undefined> {
    if (upstream.alerting === undefined || !watch.enabled) return undefined;
    const { createAlertingClient } = await import("./upstream/alerting-client.ts");
    const breaker = createBreaker({ clock });
    const service = createAlertingClient({ ...upstream.alerting, ...client });
    const histories = createMetricHistories({ service, clock, log, breaker, timeLimitMs });
    used.push({ of: "alerting", breaker, questions: [histories] });
    return histories;
  }

  async function openPrices() {
    if (upstream.pricing === undefined || !market.context) return {};
    const { createPricingClient } = await import("./upstream/pricing-client.ts");
    const breaker = createBreaker({ clock });
    const service = createPricingClient({ ...upstream.pricing, ...client, maxAnswerBytes: 1024 * 1024 });
    const asking = { clock, log, breaker };
    const pools = createQuestions(asking, {
      event: "pool_state.failed",
      timeLimitMs,
      mostAnHour: mostPricesAnHour,
      ask(key, options) {
        const [chainId = "", address = ""] = key.split(" ");
        return service.readPoolState({ chainId, address }, options);
      },
    });
    const tickers = createQuestions(asking, {
      event: "ticker.failed",
      timeLimitMs,
      mostAnHour: mostPricesAnHour,
      async ask(symbol, options) {
        const { aggregated, cex, dex } = await service.readTicker(symbol, options);
        return { price: aggregated.price, cex: cex?.price ?? undefined, dex: dex?.price ?? undefined };
      },
    });
    used.push({ of: "pricing", breaker, questions: [pools, tickers] });
    return { pools, tickers };
  }

  const histories = await openHistories();
  const context =
    histories === undefined || !market.context
      ? undefined
      : createMarketContext({ ...deps, histories, ...(await openPrices()) });
  return {
    histories,
    context,
    views: () =>
      used.map(({ of, breaker, questions }) => {
        const calls = questions.map((one) => one.calls());
        const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
        return {
          interface: of,
          calls: { made: sum(calls.map(({ made }) => made)), most: sum(calls.map(({ most }) => most)) },
          ...breaker.view(),
        };
      }),
  };
}
