import {
  equityPricesAnswerSchema,
  equitySymbolsAnswerSchema,
  poolAnswerSchema,
  tickerAnswerSchema,
} from "./pricing-schemas.ts";
import { type CallOptions, createRequester, type UpstreamClientOptions } from "./requester.ts";

export interface PricingClientOptions extends UpstreamClientOptions {
  /**
   * Path of the equities price, which is not documented; `{symbols}` stands for the list, else it goes into
   * `?symbols=`. Default `/v1/equities/price`.
   */
  equitiesPricePath?: string;
}

/** At least one of both. */
interface AssetRegistration {
  /** Identifier in the external market-data catalogue. */
  catalogId?: string;
  /** A manual definition; documented only as carrying a symbol and a tokenMapping. */
  asset?: Record<string, unknown>;
}

export type PricingClient = ReturnType<typeof createPricingClient>;

/** The service answers 202 after 20 s of work; this leaves it time to do so. */
const registrationTimeoutMs = 60_000;

/** The pricing interface (interface document 4.1 to 4.5). Every method may throw as `send` of `createRequester` does. */
export function createPricingClient(options: PricingClientOptions) {
  const requester = createRequester({ name: "pricing", keyHeader: "x-api-key", keyName: "PRICING_API_KEY" }, options);
  const { equitiesPricePath = "/v1/equities/price", timeoutMs } = options;

  return {
    /**
     * Registers an asset; never sent twice. `added`: registered (200). `in_progress`: the service goes on after 20 s of work (202).
     * The `body` of its answer has no documented shape. Throws `upstream_conflict` when it exists (409), `upstream_rejected` for a
     * missing or invalid catalogue id (400), `upstream_failed` when the catalogue or the discovery of pools failed (500).
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

    /** `symbol` is `BASE/QUOTE`; only USD quotes are supported. Throws `upstream_not_found` for an unknown one. */
    readTicker: (symbol: string, { signal }: CallOptions = {}) =>
      requester.readData({ path: "/v1/assets/ticker", query: { symbol }, signal }, tickerAnswerSchema),

    /** `data` and `meta` (count, supportedExchanges) as the service gives them. */
    listEquitySymbols: ({ signal }: CallOptions = {}) =>
      requester.read({ method: "GET", path: "/v1/equities/symbols", signal }, equitySymbolsAnswerSchema),

    readEquityPrices: (symbols: readonly string[], { signal }: CallOptions = {}) =>
      requester.read({ method: "GET", ...priceTarget(equitiesPricePath, symbols), signal }, equityPricesAnswerSchema),
  };
}

function priceTarget(
  path: string,
  symbols: readonly string[],
): { path: string; query?: Record<string, readonly string[]> } {
  if (!path.includes("{symbols}")) return { path, query: { symbols } };
  return { path: path.replaceAll("{symbols}", symbols.map(encodeURIComponent).join(",")) };
}
