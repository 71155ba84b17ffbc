import { z } from "zod";
import { type CallOptions, createRequester, type UpstreamClientOptions } from "./requester.ts";

export interface PricingClientOptions extends UpstreamClientOptions {
  /** Not documented. `{symbols}` is replaced by the list, else sent as `?symbols=`. Default `/v1/equities/price`. */
  equitiesPricePath?: string;
}

/** At least one of the two. */
interface AssetRegistration {
  /** Identifier in the external market-data catalogue. */
  catalogId?: string;
  /** A manual definition. The documentation names only a symbol and a tokenMapping in it. */
  asset?: Record<string, unknown>;
}

export type PricingClient = ReturnType<typeof createPricingClient>;

/** The service answers 202 after 20 s of work, so the limit is longer. */
const registrationTimeoutMs = 60_000;

/** Interface document 4.1 to 4.5. Every method may throw as `send` of `createRequester` does. */
export function createPricingClient(options: PricingClientOptions) {
  const requester = createRequester({ name: "pricing", keyHeader: "x-api-key", keyName: "PRICING_API_KEY" }, options);
  const { equitiesPricePath = "/v1/equities/price", timeoutMs } = options;

  return {
    /**
     * Never sent twice. `in_progress`: the service continues after 20 s of work (202). The `body` has no documented
     * shape. Throws `upstream_conflict` when the asset exists (409), `upstream_rejected` for a wrong catalogue id
     * (400), `upstream_failed` when the catalogue or the discovery of pools failed (500).
     */
    registerAsset: async (body: AssetRegistration, { signal }: CallOptions = {}) => {
      const answer = await requester.send({
        method: "POST",
        path: "/v1/assets",
        body,
        signal,
        timeoutMs: Math.max(timeoutMs ?? 0, registrationTimeoutMs),
      });
      return { state: answer.status === 202 ? "in_progress" : "added", body: answer.body } as const;
    },

    /** Throws `upstream_not_found` for a pool that is not indexed. */
    readPoolState: ({ address, chainId }: { chainId: string; address: string }, { signal }: CallOptions = {}) =>
      requester.readData({ path: "/v1/pools/state", query: { address, chainId }, signal }, poolAnswerSchema),

    /** `symbol` is `BASE/QUOTE`, with USD quotes only. Throws `upstream_not_found` for an unknown one. */
    readTicker: (symbol: string, { signal }: CallOptions = {}) =>
      requester.readData({ path: "/v1/assets/ticker", query: { symbol }, signal }, tickerAnswerSchema),

    /** `data` and `meta` (count, supportedExchanges) of the service's answer. */
    listEquitySymbols: ({ signal }: CallOptions = {}) =>
      requester.read({ method: "GET", path: "/v1/equities/symbols", signal }, equitySymbolsAnswerSchema),

    readEquityPrices: (symbols: readonly string[], { signal }: CallOptions = {}) =>
      requester.read({ method: "GET", ...priceTarget(equitiesPricePath, symbols), signal }, equityPricesAnswerSchema),
  };
}

function priceTarget(path: string, symbols: readonly string[]) {
  if (!path.includes("{symbols}")) return { path, query: { symbols } };
  return { path: path.replaceAll("{symbols}", symbols.map(encodeURIComponent).join(",")) };
}

/** The pricing interface's objects as documented. Undocumented members are kept. */

/** Measured per token or pair. A token without a market has none. */
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

const poolAnswerSchema = z.looseObject({
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

/** Absent for a kind of market in which the pair does not trade. */
const marketSchema = z.looseObject({ price: measured, h24UsdVolume: measured, usdTvl: measured }).nullish();

const tickerAnswerSchema = z.looseObject({
  data: z.looseObject({
    id: z.string(),
    aggregated: z.looseObject({ price: z.number(), h24UsdVolume: measured }),
    cex: marketSchema,
    dex: marketSchema,
  }),
});

/** `type` is documented as stock, fund, etf or trust. A new type does not fail the list. */
const equitySymbolSchema = z.looseObject({
  symbol: z.string(),
  name: z.string().nullish(),
  exchange: z.string().nullish(),
  type: z.string().nullish(),
});

const equitySymbolsAnswerSchema = z.looseObject({
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

/** The envelope is not documented: a list or one entry, under `data` like elsewhere, or bare. */
const equityPricesSchema = z.union([z.array(equityPriceSchema), equityPriceSchema.transform((entry) => [entry])], {
  error: unreadablePrices,
});

const equityPricesAnswerSchema = z.union(
  [z.looseObject({ data: equityPricesSchema }).transform((answer) => answer.data), equityPricesSchema],
  { error: unreadablePrices },
);

export type PoolState = z.output<typeof poolAnswerSchema>["data"];
export type Ticker = z.output<typeof tickerAnswerSchema>["data"];
export type EquityPrice = z.output<typeof equityPriceSchema>;
