import { Hono } from "hono";
import { z } from "zod";
import { addReads, readBody, refuse, requiredParameter, type SandboxEnv } from "./answers.ts";
import { addressForm, assetInput } from "./assets.ts";
import type { Pool, Token } from "./catalogue.ts";
import { cutOff, type Gate } from "./gate.ts";
import { type Market, roundTo } from "./market.ts";
import { hashText, noiseAt } from "./seeded.ts";
import type { ServiceSandbox } from "./service.ts";

/** Sections 4.1 to 4.5. The interface does not document the path of the equities price. */
export function createPricingApi(sandbox: ServiceSandbox, gate: Gate): Hono<SandboxEnv> {
  const { catalogue, market, assets } = sandbox;
  const { now } = sandbox.settings;
  const app = new Hono<SandboxEnv>();
  const read = addReads(app, gate);
  app.post("/v1/assets", gate("POST /v1/assets"), async (context) => {
    const input = await readBody(context, assetInput);
    return input instanceof Response ? input : ((await assets.register(input)) ?? cutOff(context));
  });

  const poolQuery = z.object({
    address: requiredParameter("address").regex(addressForm, { error: "is malformed: 0x and 40 hexadecimal digits" }),
    chainId: requiredParameter("chainId").refine((chainId) => catalogue.chainIds.includes(chainId), {
      error: `is not supported: use one of ${catalogue.chainIds.join(", ")}`,
    }),
  });
  read("/v1/pools/state", poolQuery, ({ chainId, ...query }) => {
    const address = query.address.toLowerCase();
    const isAsked = (pool: Pool) => pool.chainId === chainId && pool.address === address;
    const pool = catalogue.findPool(chainId, address) ?? assets.pools().find(isAsked);
    return pool === undefined ? refuse(404, `No pool ${address} on ${chainId}`) : describePool(market, pool, now());
  });

  read("/v1/assets/ticker", tickerQuery, ({ symbol }) => {
    const base = symbol.slice(0, symbol.indexOf("/")).toUpperCase();
    const registered = assets.pools().filter((pool) => pool.base.symbol === base);
    const pools = [...catalogue.poolsOf(base), ...registered];
    return pools.length === 0 ? refuse(404, `No ticker ${base}/USD`) : describeTicker(market, base, pools, now());
  });

  app.get("/v1/equities/symbols", gate("GET /v1/equities/symbols"), (context) => {
    const data = equities.map(({ symbol, name, exchange, type }) => ({ symbol, name, exchange, type }));
    return context.json({ data, meta: { count: equities.length, supportedExchanges } });
  });

  // Unknown symbols are left out. Without any known one the answer is 404. The interface documents neither.
  read("/v1/equities/price", z.object({ symbols: requiredParameter("symbols") }), ({ symbols }) => {
    const found = symbols.split(",").flatMap((symbol) => findEquity(symbol.trim()) ?? []);
    if (found.length === 0) return refuse(404, `No equity ${symbols}`);
    return found.map((equity) => ({ symbol: qualifiedSymbol(equity), price: equityPrice(market, equity, now()) }));
  });
  return app;
}

const tickerQuery = z.object({
  symbol: requiredParameter("symbol")
    .regex(/^[A-Za-z0-9.]{1,20}\/[A-Za-z0-9]{1,10}$/, { error: "is not in BASE/QUOTE form" })
    .refine((symbol) => symbol.toUpperCase().endsWith("/USD"), { error: "only USD quotes are supported" }),
});

/** Section 2, "Pool state". All numbers come from the market at one instant, so they agree. */
function describePool(market: Market, pool: Pool, at: number) {
  const { chainId, address, protocol, base, quote } = pool;
  const usdTvl = market.poolTvlUsd(pool, at);
  const h24UsdVolume = market.poolVolumeUsd(pool, at);
  const price = market.poolPrice(pool, at);
  const quotePriceUsd = market.tokenPriceUsd(quote, at);
  const tokenOf = ({ symbol, address, decimals }: Token, priceUsd: number) => {
    const [tvl, volume] = [usdTvl / 2, h24UsdVolume / 2];
    const inUsd = { usdTvl: tvl, h24UsdVolume: volume, priceUsd };
    return { symbol, address, decimals, ...rounded({ tvl: tvl / priceUsd, h24Volume: volume / priceUsd, ...inUsd }) };
  };
  const prices = { baseToQuotePrice: price, quoteToBasePrice: 1 / price };
  return {
    ...{ chainId, address, protocol, ...rounded({ usdTvl, h24UsdVolume }) },
    tokens: [tokenOf(base, price * quotePriceUsd), tokenOf(quote, quotePriceUsd)],
    pairs: [{ base: base.symbol, quote: quote.symbol, ...rounded({ ...prices, h24UsdVolume }) }],
  };
}

/** Section 2, "Ticker": each source's price is weighted by its volume, and so are both sources. */
function describeTicker(market: Market, symbol: string, pools: Pool[], at: number) {
  const dexSources = pools.map((pool) => ({
    price: market.poolPrice(pool, at) * market.tokenPriceUsd(pool.quote, at),
    h24UsdVolume: market.poolVolumeUsd(pool, at),
  }));
  const dex = weigh(dexSources);
  const cexHash = hashText(0, `cex:${symbol}`);
  // Three exchanges with quotes within a tenth of a percent.
  const cex = weigh(
    [1, 2, 3].map((exchange) => ({
      price: dex.price * (1 + 0.001 * noiseAt(cexHash + exchange, at / 20_000)),
      h24UsdVolume: market.priceOf(cexHash + exchange, dex.h24UsdVolume * (4 / exchange), at),
    })),
  );
  const usdTvl = pools.reduce((sum, pool) => sum + market.poolTvlUsd(pool, at), 0);
  const aggregated = rounded(weigh([cex, dex]));
  return { id: `${symbol}/USD`, aggregated, cex: rounded(cex), dex: rounded({ ...dex, usdTvl }) };
}

interface Quote {
  price: number;
  h24UsdVolume: number;
}

function weigh(quotes: Quote[]): Quote {
  const volume = quotes.reduce((sum, quote) => sum + quote.h24UsdVolume, 0);
  const weighted = quotes.reduce((sum, quote) => sum + quote.price * quote.h24UsdVolume, 0);
  return { price: volume === 0 ? 0 : weighted / volume, h24UsdVolume: volume };
}

function rounded<T extends object>(numbers: T): T {
  return Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, roundTo(value, 10)])) as T;
}

/** Section 2: `meta.supportedExchanges` maps region codes to exchange codes. */
const supportedExchanges: Record<string, string[]> = {
  US: ["NASDAQ", "NYSE", "ARCA"],
  EU: ["XETRA", "EURONEXT"],
  CH: ["SIX"],
};

const equities = (
  [
    ["AAPL", "Apple Inc.", "NASDAQ", "stock", 268],
    ["MSFT", "Microsoft Corporation", "NASDAQ", "stock", 486],
    ["NVDA", "NVIDIA Corporation", "NASDAQ", "stock", 182],
    ["AMZN", "Amazon.com, Inc.", "NASDAQ", "stock", 221],
    ["GOOGL", "Alphabet Inc. Class A", "NASDAQ", "stock", 291],
    ["META", "Meta Platforms, Inc.", "NASDAQ", "stock", 592],
    ["TSLA", "Tesla, Inc.", "NASDAQ", "stock", 402],
    ["COIN", "Coinbase Global, Inc.", "NASDAQ", "stock", 253],
    ["MSTR", "Strategy Inc", "NASDAQ", "stock", 186],
    ["QQQ", "Invesco QQQ Trust", "NASDAQ", "etf", 596],
    ["JPM", "JPMorgan Chase & Co.", "NYSE", "stock", 299],
    ["V", "Visa Inc.", "NYSE", "stock", 327],
    ["BRK.B", "Berkshire Hathaway Inc. Class B", "NYSE", "stock", 503],
    ["XOM", "Exxon Mobil Corporation", "NYSE", "stock", 117],
    ["PG", "The Procter & Gamble Company", "NYSE", "stock", 148],
    ["ADX", "Adams Diversified Equity Fund, Inc.", "NYSE", "fund", 22],
    ["SPY", "SPDR S&P 500 ETF Trust", "ARCA", "etf", 659],
    ["GLD", "SPDR Gold Shares", "ARCA", "trust", 374],
    ["GBTC", "Grayscale Bitcoin Trust", "ARCA", "trust", 66],
    ["VTI", "Vanguard Total Stock Market ETF", "ARCA", "etf", 324],
    ["SAP", "SAP SE", "XETRA", "stock", 240],
    ["SIE", "Siemens AG", "XETRA", "stock", 262],
    ["ASML", "ASML Holding N.V.", "EURONEXT", "stock", 1010],
    ["MC", "LVMH Moet Hennessy Louis Vuitton SE", "EURONEXT", "stock", 730],
    ["NESN", "Nestle S.A.", "SIX", "stock", 99],
    ["NOVN", "Novartis AG", "SIX", "stock", 128],
    ["ROG", "Roche Holding AG", "SIX", "stock", 390],
  ] as const
).map(([symbol, name, exchange, type, basePriceUsd]) => ({ symbol, name, exchange, type, basePriceUsd }));
type Equity = (typeof equities)[number];

/** Accepts `AAPL` and `NASDAQ:AAPL`, in any case. */
function findEquity(symbol: string): Equity | undefined {
  const wanted = symbol.toUpperCase();
  return equities.find((equity) => equity.symbol === wanted || qualifiedSymbol(equity) === wanted);
}

/** "Exchange-qualified ticker symbol" (section 2). Its form is undocumented. */
const qualifiedSymbol = ({ exchange, symbol }: Equity) => `${exchange}:${symbol}`;

function equityPrice(market: Market, equity: Equity, at: number): number {
  return roundTo(market.priceOf(hashText(0, `equity:${equity.symbol}`), equity.basePriceUsd, at), 6);
}
