import type { Pool } from "./catalogue.ts";
import { type Market, roundTo } from "./market.ts";
import { hashText, noiseAt } from "./seeded.ts";

/** Section 2, "Pool state". Everything follows from the market at one instant, so the numbers agree with each other. */
export function describePool(market: Market, pool: Pool, at: number) {
  const usdTvl = market.poolTvlUsd(pool, at);
  const volume = market.poolVolumeUsd(pool, at);
  const price = market.poolPrice(pool, at);
  const quotePriceUsd = market.tokenPriceUsd(pool.quote, at);
  const sides = [
    { ...pool.base, priceUsd: price * quotePriceUsd },
    { ...pool.quote, priceUsd: quotePriceUsd },
  ];
  return {
    chainId: pool.chainId,
    address: pool.address,
    protocol: pool.protocol,
    usdTvl: roundTo(usdTvl, 10),
    h24UsdVolume: roundTo(volume, 10),
    tokens: sides.map(({ symbol, address, decimals, priceUsd }) => ({
      ...{ symbol, address, decimals },
      tvl: roundTo(usdTvl / 2 / priceUsd, 10),
      usdTvl: roundTo(usdTvl / 2, 10),
      h24Volume: roundTo(volume / 2 / priceUsd, 10),
      h24UsdVolume: roundTo(volume / 2, 10),
      priceUsd: roundTo(priceUsd, 10),
    })),
    pairs: [
      {
        base: pool.base.symbol,
        quote: pool.quote.symbol,
        baseToQuotePrice: roundTo(price, 10),
        quoteToBasePrice: roundTo(1 / price, 10),
        h24UsdVolume: roundTo(volume, 10),
      },
    ],
  };
}

/** Section 2, "Ticker": each source's price weighted by its volume, and both sources weighted by theirs. */
export function describeTicker(market: Market, symbol: string, pools: Pool[], at: number) {
  const dexSources = pools.map((pool) => ({
    price: market.poolPrice(pool, at) * market.tokenPriceUsd(pool.quote, at),
    h24UsdVolume: market.poolVolumeUsd(pool, at),
  }));
  const dex = weigh(dexSources);
  const cexHash = hashText(0, `cex:${symbol}`);
  // Three exchanges that quote within a tenth of a percent of each other.
  const cex = weigh(
    [1, 2, 3].map((exchange) => ({
      price: dex.price * (1 + 0.001 * noiseAt(cexHash + exchange, at / 20_000)),
      h24UsdVolume: market.priceOf(cexHash + exchange, dex.h24UsdVolume * (4 / exchange), at),
    })),
  );
  const usdTvl = pools.reduce((sum, pool) => sum + market.poolTvlUsd(pool, at), 0);
  return {
    id: `${symbol}/USD`,
    aggregated: rounded(weigh([cex, dex])),
    cex: rounded(cex),
    dex: { ...rounded(dex), usdTvl: roundTo(usdTvl, 10) },
  };
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

function rounded(quote: Quote): Quote {
  return { price: roundTo(quote.price, 10), h24UsdVolume: roundTo(quote.h24UsdVolume, 10) };
}

export interface Equity {
  symbol: string;
  name: string;
  exchange: string;
  type: "stock" | "fund" | "etf" | "trust";
  basePriceUsd: number;
}

/** Section 2: `meta.supportedExchanges` maps a region code to exchange codes. */
export const supportedExchanges: Record<string, string[]> = {
  US: ["NASDAQ", "NYSE", "ARCA"],
  EU: ["XETRA", "EURONEXT"],
  CH: ["SIX"],
};

const rows: [string, string, string, Equity["type"], number][] = [
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
];

export const equities: readonly Equity[] = rows.map(([symbol, name, exchange, type, basePriceUsd]) => {
  return { symbol, name, exchange, type, basePriceUsd };
});

/** Accepts `AAPL` and `NASDAQ:AAPL`, in any case. */
export function findEquity(symbol: string): Equity | undefined {
  const wanted = symbol.toUpperCase();
  return equities.find((equity) => equity.symbol === wanted || qualifiedSymbol(equity) === wanted);
}

/** "Exchange-qualified ticker symbol" (section 2); the form is not shown. */
export function qualifiedSymbol(equity: Equity): string {
  return `${equity.exchange}:${equity.symbol}`;
}

export function equityPrice(market: Market, equity: Equity, at: number): number {
  return roundTo(market.priceOf(hashText(0, `equity:${equity.symbol}`), equity.basePriceUsd, at), 6);
}
