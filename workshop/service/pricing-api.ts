import { Hono } from "hono";
import { z } from "zod";
import { addReads, readBody, refuse, requiredParameter, type SandboxContext, type SandboxEnv } from "./answers.ts";
import type { NewAsset, Registration } from "./assets.ts";
import type { Pool } from "./catalogue.ts";
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
  app.post("/v1/assets", gate("POST /v1/assets"), (context) => registerAsset(sandbox, context));

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

const addressForm = /^0x[0-9a-fA-F]{40}$/;
const tickerQuery = z.object({
  symbol: requiredParameter("symbol")
    .regex(/^[A-Za-z0-9.]{1,20}\/[A-Za-z0-9]{1,10}$/, { error: "is not in BASE/QUOTE form" })
    .refine((symbol) => symbol.toUpperCase().endsWith("/USD"), { error: "only USD quotes are supported" }),
});

/** Section 2: the manual asset is "mentioned as carrying a symbol and a tokenMapping", here from chain to address. */
const assetBody = z.object({
  catalogId: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, { error: "is invalid: lower-case letters, digits and hyphens" })
    .optional(),
  asset: z
    .object({
      symbol: z.string().regex(/^[A-Za-z0-9.]{1,20}$/, { error: "is invalid: 1 to 20 letters and digits" }),
      tokenMapping: z.record(
        z.string(),
        z.string().regex(addressForm, { error: "is not an address: 0x and 40 hexadecimal digits" }),
      ),
    })
    .optional(),
});

async function registerAsset({ catalogue, assets }: ServiceSandbox, context: SandboxContext): Promise<Response> {
  const body = await readBody(context, assetBody);
  if (body instanceof Response) return body;
  const input = toNewAsset(body);
  if (input === undefined) return refuse(400, "Missing catalogId (or a manually defined asset)");
  const { chainIds } = catalogue;
  // Without a supported chain nothing would ever be discovered, and the asset would never become queryable.
  if (input.catalogId === undefined && !chainIds.some((chainId) => chainId in input.tokenMapping)) {
    return refuse(400, `body asset.tokenMapping: names no supported chain: use one of ${chainIds.join(", ")}`);
  }
  return answerRegistration(context, input, await assets.register(input, "POST /v1/assets"));
}

function toNewAsset(body: z.infer<typeof assetBody>): NewAsset | undefined {
  if (body.catalogId !== undefined) return { catalogId: body.catalogId };
  if (body.asset === undefined) return undefined;
  const mapping = Object.entries(body.asset.tokenMapping).map(([chain, address]) => [chain, address.toLowerCase()]);
  return { symbol: body.asset.symbol.toUpperCase(), tokenMapping: Object.fromEntries(mapping) };
}

function answerRegistration(context: SandboxContext, input: NewAsset, registration: Registration): Response {
  switch (registration.kind) {
    case "added": {
      const { symbol, name, tokenMapping } = registration.asset;
      const pools = registration.pools.map(({ chainId, address, protocol }) => ({ chainId, address, protocol }));
      const markets = [{ exchange: "sandbox-exchange", pair: `${symbol}/USD` }];
      const data = { catalogId: input.catalogId ?? null, symbol, name, tokenMapping, pools, markets };
      return context.json({ message: "Asset added", data });
    }
    case "in_progress": {
      const data = { catalogId: input.catalogId ?? null, symbol: registration.asset.symbol };
      return context.json({ message: "The request is still in progress", data }, 202);
    }
    case "exists":
      return refuse(409, "The asset already exists");
    case "failed":
      return refuse(500, failureTexts[registration.at]);
    case "closed":
      return cutOff(context);
  }
}

const failureTexts = {
  catalog: "External catalogue fetch failed",
  pools: "Pool discovery failed",
  internal: "Internal failure",
} as const;

/** Section 2, "Pool state". All numbers come from the market at one instant, so they agree. */
function describePool(market: Market, pool: Pool, at: number) {
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

interface Equity {
  symbol: string;
  name: string;
  exchange: string;
  type: "stock" | "fund" | "etf" | "trust";
  basePriceUsd: number;
}

/** Section 2: `meta.supportedExchanges` maps region codes to exchange codes. */
const supportedExchanges: Record<string, string[]> = {
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

const equities: readonly Equity[] = rows.map(([symbol, name, exchange, type, basePriceUsd]) => {
  return { symbol, name, exchange, type, basePriceUsd };
});

/** Accepts `AAPL` and `NASDAQ:AAPL`, in any case. */
function findEquity(symbol: string): Equity | undefined {
  const wanted = symbol.toUpperCase();
  return equities.find((equity) => equity.symbol === wanted || qualifiedSymbol(equity) === wanted);
}

/** "Exchange-qualified ticker symbol" (section 2). Its form is undocumented. */
function qualifiedSymbol(equity: Equity): string {
  return `${equity.exchange}:${equity.symbol}`;
}

function equityPrice(market: Market, equity: Equity, at: number): number {
  return roundTo(market.priceOf(hashText(0, `equity:${equity.symbol}`), equity.basePriceUsd, at), 6);
}
