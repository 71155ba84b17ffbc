import { z } from "zod";

/** The pricing interface's objects as documented; members that the document does not name are kept. */

/** Measured per token or pair; a token without a market has none. */
const measured = z.number().nullish();

const poolTokenSchema = z.looseObject({
  symbol: z.string(),
  address: z.string(),
  decimals: measured,
  tvl: measured,
  usdTvl: measured,
  h24Volume: measured,
  h24UsdVolume: measured,
  priceUsd: measured,
});

const pairSchema = z.looseObject({
  base: z.string(),
  quote: z.string(),
  baseToQuotePrice: measured,
  quoteToBasePrice: measured,
  h24UsdVolume: measured,
});

export const poolAnswerSchema = z.looseObject({
  data: z.looseObject({
    chainId: z.string(),
    address: z.string(),
    protocol: z.string(),
    usdTvl: z.number(),
    h24UsdVolume: z.number(),
    tokens: z.array(poolTokenSchema),
    pairs: z.array(pairSchema),
  }),
});

/** A pair that trades in one kind of market only has nothing to say of the other. */
const marketSchema = z.looseObject({ price: measured, h24UsdVolume: measured, usdTvl: measured }).nullish();

export const tickerAnswerSchema = z.looseObject({
  data: z.looseObject({
    id: z.string(),
    aggregated: z.looseObject({ price: z.number(), h24UsdVolume: measured }),
    cex: marketSchema,
    dex: marketSchema,
  }),
});

/** `type` is one of stock, fund, etf, trust as documented; a new one is no reason to lose the list. */
const equitySymbolSchema = z.looseObject({
  symbol: z.string(),
  name: z.string().nullish(),
  exchange: z.string().nullish(),
  type: z.string().nullish(),
});

export const equitySymbolsAnswerSchema = z.looseObject({
  data: z.array(equitySymbolSchema),
  meta: z
    .looseObject({
      count: z.number().nullish(),
      supportedExchanges: z.record(z.string(), z.array(z.string())).nullish(),
    })
    .nullish(),
});

const equityPriceSchema = z.looseObject({
  symbol: z.string(),
  price: z.union([z.number(), z.string()]).nullable(),
});

const unreadablePrices = "expected entries with symbol and price, under data or bare";

/** The envelope is not documented: a list or one entry, under `data` as everywhere else or bare. */
const equityPricesSchema = z.union([z.array(equityPriceSchema), equityPriceSchema.transform((entry) => [entry])], {
  error: unreadablePrices,
});

export const equityPricesAnswerSchema = z.union(
  [z.looseObject({ data: equityPricesSchema }).transform((answer) => answer.data), equityPricesSchema],
  { error: unreadablePrices },
);

export type PoolState = z.output<typeof poolAnswerSchema>["data"];
export type Ticker = z.output<typeof tickerAnswerSchema>["data"];
export type EquityPrice = z.output<typeof equityPriceSchema>;
