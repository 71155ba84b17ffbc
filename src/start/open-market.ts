import type { Config } from "../config/config.ts";
import type { MarketServiceView } from "../contract/operations.ts";
import type { Clock, Random } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { AlertLog } from "../core/ports/alert-log.ts";
import type { HistoryPoint, MetricHistoryService } from "../core/ports/metric-history.ts";
import type { CommonStates } from "../core/ports/watch.ts";
import { weekMs } from "../ground/time/spans.ts";
import { createMarketContext } from "../operations/market-context.ts";
import { Breaker, createQuestions, type QuestionsDeps } from "../operations/questions.ts";
import { type NameService, nameOfPool, readSymbols, TokenNames } from "../operations/token-names.ts";
import type { AlertingClient } from "../upstream/alerting-client.ts";
import type { PricingClient } from "../upstream/pricing-client.ts";

export interface MarketDeps {
  store: Pick<AlertLog, "getAlert"> & CommonStates;
  /** Other relays learn names too. */
  isShared: boolean;
  clock: Clock;
  random: Random;
  log: Log;
  /** With the wait for other calls. Default 2.5 s, and 10 s for names, for which nobody waits. */
  timeLimitMs?: number;
}

export type Market = Awaited<ReturnType<typeof openMarket>>;

/** For pool states, and for tickers: each has a budget of its own. */
const mostPricesAnHour = 60;
const mostTokenCallsAnHour = 60;
const mostTokensAtOnce = 50;
const mostPoolNamesAnHour = 30;

/** Whether names of bare addresses are asked for and shown. */
export function learnsNames({ upstream, market, watch }: Pick<Config, "upstream" | "market" | "watch">): boolean {
  return upstream.alerting !== undefined && watch.enabled && market.symbols;
}

/** The questions that only decorate messages and pages. Each is asked once for all that show the answer. */
export async function openMarket(
  { upstream, market, watch, sources }: Pick<Config, "upstream" | "market" | "watch" | "sources">,
  deps: MarketDeps,
) {
  const { clock, random, log, timeLimitMs } = deps;
  if (upstream.alerting === undefined || !watch.enabled) return { views: () => [] };
  const client = { now: clock.now, random, sleep: clock.sleep, retry: { attempts: 1 } };
  const wantsPrices = upstream.pricing !== undefined && (market.context || market.symbols);
  const [{ createAlertingClient }, { createPricingClient }] = await Promise.all([
    import("../upstream/alerting-client.ts"),
    wantsPrices ? import("../upstream/pricing-client.ts") : { createPricingClient: undefined },
  ]);
  const alerting = createAlertingClient({ ...upstream.alerting, ...client });
  const pricing =
    upstream.pricing && createPricingClient?.({ ...upstream.pricing, ...client, maxAnswerBytes: 1024 * 1024 });
  const breakers = { alerting: new Breaker(clock), pricing: new Breaker(clock) };
  const asking = { clock, log, timeLimitMs };

  const histories = askForHistories(alerting, { ...asking, breaker: breakers.alerting });
  const prices =
    pricing && market.context ? askForPrices(pricing, { ...asking, breaker: breakers.pricing }) : undefined;
  const names = learnsNames({ upstream, market, watch })
    ? await TokenNames.open({
        ...asking,
        store: deps.store,
        isShared: deps.isShared,
        services: {
          token: nameTokens(alerting, breakers.alerting),
          ...(pricing && { pool: namePools(pricing, breakers.pricing) }),
        },
        sources: sources.map(({ name }) => name),
      })
    : undefined;
  const context = market.context
    ? createMarketContext({ ...deps, histories, ...prices, symbolOf: names?.symbolOf })
    : undefined;

  type View = MarketServiceView;
  function view(of: View["interface"], ...counted: (View["calls"] | undefined)[]): View {
    const sum = (name: keyof View["calls"]) => counted.reduce((all, one) => all + (one?.[name] ?? 0), 0);
    return { interface: of, calls: { made: sum("made"), most: sum("most") }, ...breakers[of].view() };
  }

  return {
    /** Absent: the alerting interface is not configured, or nothing is to be asked. */
    histories,
    /** Absent as well where the configuration wants none. */
    context,
    /** Absent as well where the configuration wants no names. */
    names,
    views: () => [
      view("alerting", histories.calls(), names?.calls("token")),
      ...(pricing ? [view("pricing", prices?.pools.calls(), prices?.tickers.calls(), names?.calls("pool"))] : []),
    ],
  };
}

/** A week with a value for each second would take the memory of all others. */
const mostPoints = 20_000;

/**
 * The last seven days of a metric, by time. Pictures and market lines share one question. 120 calls an hour: the
 * account's other duties, such as the watch over it, use the same key.
 */
export function askForHistories(service: Pick<MetricHistoryService, "lookAtRecords">, asking: QuestionsDeps) {
  return createQuestions<readonly HistoryPoint[]>(asking, {
    event: "metric_history.failed",
    async ask(key, options) {
      const now = asking.clock.now();
      const { points } = await service.lookAtRecords({ key, fromAt: now - weekMs, toAt: now }, options);
      return points.length > mostPoints ? points.slice(-mostPoints) : points;
    },
  });
}

function askForPrices(service: Pick<PricingClient, "readPoolState" | "readTicker">, asking: QuestionsDeps) {
  const mostAnHour = mostPricesAnHour;
  const pools = createQuestions(asking, {
    event: "pool_state.failed",
    mostAnHour,
    ask(key, options) {
      const [chainId = "", address = ""] = key.split(" ");
      return service.readPoolState({ chainId, address }, options);
    },
  });
  const tickers = createQuestions(asking, {
    event: "ticker.failed",
    mostAnHour,
    async ask(symbol, options) {
      const { aggregated, cex, dex } = await service.readTicker(symbol, options);
      return { price: aggregated.price, cex: cex?.price ?? undefined, dex: dex?.price ?? undefined };
    },
  });
  return { pools, tickers };
}

function nameTokens(service: Pick<AlertingClient, "listTokens">, breaker: Breaker): NameService {
  return {
    breaker,
    mostAtOnce: mostTokensAtOnce,
    mostAnHour: mostTokenCallsAnHour,
    ask: async (chainId, addresses, options) =>
      readSymbols(await service.listTokens({ chainId, addresses }, options), addresses),
  };
}

/** /tokens knows no pools. The state of a pool names its tokens. */
function namePools(service: Pick<PricingClient, "readPoolState">, breaker: Breaker): NameService {
  return {
    breaker,
    mostAtOnce: 1,
    mostAnHour: mostPoolNamesAnHour,
    async ask(chainId, [address = ""], options) {
      const name = nameOfPool((await service.readPoolState({ chainId, address }, options)).tokens);
      return new Map(name === undefined ? [] : [[address.toLowerCase(), name]]);
    },
  };
}
