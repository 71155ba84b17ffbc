import type { Catalogue, Pool, Token } from "./catalogue.ts";
import type { Market } from "./market.ts";
import { roundTo } from "./market.ts";
import { hashText, noiseAt } from "./seeded.ts";

/** Section 2, "Pool state". Everything follows from the market at one instant, so the numbers agree with each other. */
export function describePool(market: Market, pool: Pool, at: number) {
  const usdTvl = market.poolTvlUsd(pool, at);
  const volume = market.poolVolumeUsd(pool, at);
  const price = market.poolPrice(pool, at);
  const quotePriceUsd = market.tokenPriceUsd(pool.quote, at);
  const sides: [Token, number][] = [
    [pool.base, price * quotePriceUsd],
    [pool.quote, quotePriceUsd],
  ];
  return {
    chainId: pool.chainId,
    address: pool.address,
    protocol: pool.protocol,
    usdTvl: roundTo(usdTvl, 10),
    h24UsdVolume: roundTo(volume, 10),
    tokens: sides.map(([token, priceUsd]) => ({
      symbol: token.symbol,
      address: token.address,
      decimals: token.decimals,
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

export interface TokenInPool {
  token: Token;
  pool: Pool;
}

/** The tokens of the symbol on every chain, each with its pool. */
export function findTokenPools(catalogue: Catalogue, symbol: string): TokenInPool[] {
  return catalogue.findTokensBySymbol(symbol).flatMap((token) => {
    const pool = catalogue.findPoolOf(token);
    return pool === undefined ? [] : [{ token, pool }];
  });
}

/** Section 2, "Ticker": each source's price weighted by its volume, and both sources weighted by theirs. */
export function describeTicker(market: Market, symbol: string, listed: TokenInPool[], at: number) {
  const dexSources = listed.map(({ pool }) => ({
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
  const usdTvl = listed.reduce((sum, { pool }) => sum + market.poolTvlUsd(pool, at), 0);
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
