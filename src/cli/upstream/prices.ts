import type { PoolState, Ticker } from "../../upstream/pricing-schemas.ts";
import type { Run } from "../command.ts";
import { connectPricing } from "./connect.ts";
import { formatNumber, formatPrice, formatUsd } from "./number-text.ts";

/** `tocsin upstream pool`. */
export async function showPool(run: Run, query: { chainId: string; address: string }): Promise<void> {
  const pool = await connectPricing(run).readPoolState(query, { signal: run.context.signal });
  await run.output.result(pool, () => describePool(run, pool));
}

function describePool({ output }: Run, pool: PoolState): string {
  const right = "right" as const;
  const facts = output.fields([
    ["Pool", pool.address],
    ["Chain", pool.chainId],
    ["Protocol", pool.protocol],
    ["TVL", formatUsd(pool.usdTvl)],
    ["Volume 24 h", formatUsd(pool.h24UsdVolume)],
  ]);
  const tokens = output.table(
    [
      { title: "TOKEN" },
      { title: "PRICE", align: right },
      { title: "AMOUNT", align: right },
      { title: "TVL", align: right },
      { title: "VOLUME 24 H", align: right },
      { title: "ADDRESS", keep: true },
    ],
    pool.tokens.map((token) => [
      token.symbol,
      formatPrice(token.priceUsd),
      formatNumber(token.tvl),
      formatUsd(token.usdTvl),
      formatUsd(token.h24UsdVolume),
      token.address,
    ]),
  );
  const pairs = output.table(
    [
      { title: "PAIR" },
      { title: "PRICE", align: right },
      { title: "INVERSE", align: right },
      { title: "VOLUME 24 H", align: right },
    ],
    pool.pairs.map((pair) => [
      `${pair.base}/${pair.quote}`,
      formatNumber(pair.baseToQuotePrice),
      formatNumber(pair.quoteToBasePrice),
      formatUsd(pair.h24UsdVolume),
    ]),
  );
  return [facts, ...(pool.tokens.length > 0 ? [tokens] : []), ...(pool.pairs.length > 0 ? [pairs] : [])].join("\n");
}

/** `tocsin upstream ticker`. */
export async function showTicker(run: Run, symbol: string): Promise<void> {
  const ticker = await connectPricing(run).readTicker(symbol, { signal: run.context.signal });
  await run.output.result(ticker, () => describeTicker(run, ticker));
}

function describeTicker({ output }: Run, { id, aggregated, cex, dex }: Ticker): string {
  const right = "right" as const;
  const row = (name: string, market: { price?: number | null; h24UsdVolume?: number | null } | null | undefined) => [
    name,
    formatPrice(market?.price),
    formatUsd(market?.h24UsdVolume),
    name === "decentralized" ? formatUsd(dex?.usdTvl) : "",
  ];
  return output.table(
    [
      { title: id },
      { title: "PRICE", align: right },
      { title: "VOLUME 24 H", align: right },
      { title: "TVL", align: right },
    ],
    [row("aggregated", aggregated), row("centralized", cex), row("decentralized", dex)],
  );
}

/** `tocsin upstream equities price`: symbols without a price are named on stderr. */
export async function showEquityPrices(run: Run, symbols: string[]): Promise<void> {
  const prices = await connectPricing(run).readEquityPrices(symbols, { signal: run.context.signal });
  const { output } = run;
  await output.result(prices, () =>
    output.table(
      [
        { title: "SYMBOL", keep: true },
        { title: "PRICE", align: "right" },
      ],
      prices.map(({ symbol, price }) => [symbol, typeof price === "string" ? price : formatNumber(price)]),
    ),
  );
  const missing = symbols.filter((symbol) => !prices.some((entry) => isSameSymbol(entry.symbol, symbol)));
  if (missing.length > 0) await output.note(`no price for ${missing.join(", ")}`);
}

/** The answer's symbol is "exchange-qualified": `XNAS:AAPL` or `AAPL.US` answers `AAPL`. */
function isSameSymbol(qualified: string, asked: string): boolean {
  const wanted = asked.toUpperCase();
  const given = qualified.toUpperCase();
  return (
    given === wanted || given.endsWith(`:${wanted}`) || given.startsWith(`${wanted}.`) || given.startsWith(`${wanted}:`)
  );
}
