import type { Market } from "./market.ts";
import { roundTo } from "./market.ts";
import { hashText } from "./seeded.ts";

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

export const equities: readonly Equity[] = rows.map(([symbol, name, exchange, type, basePriceUsd]) => ({
  symbol,
  name,
  exchange,
  type,
  basePriceUsd,
}));

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
