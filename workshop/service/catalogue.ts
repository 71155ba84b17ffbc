import { AppError } from "../../src/core/errors.ts";
import { chainPlans, knownTokens, tokenWords } from "./catalogue-names.ts";
import { addressOf, hashText, pickOf, unitOf } from "./seeded.ts";

export interface Token {
  chainId: string;
  address: string;
  symbol: string;
  name: string;
  decimals: number;
  basePriceUsd: number;
  baseTvlUsd: number;
  isStable: boolean;
  /** The seed of its random walk. */
  hash: number;
}

export interface Pool {
  chainId: string;
  address: string;
  protocol: string;
  base: Token;
  quote: Token;
  baseTvlUsd: number;
  hash: number;
}

/** The interface documents only `token_total_tvl`. The sandbox invents the other forms of keys. */
const metricKinds = ["token_total_tvl", "token_price", "pool_h24_volume", "pool_price", "pool_total_tvl"] as const;

export interface Metric {
  /** `<chain>_<kind>_<address>`. */
  key: string;
  kind: (typeof metricKinds)[number];
  chainId: string;
  /** The token of a token metric, or the base of a pool metric. */
  token: Token;
  pool?: Pool;
}

export interface MetricFilter {
  tokenAddresses?: string[];
  poolAddresses?: string[];
  keys?: string[];
}

/** Exactly `metricCount` metrics over five chains, in a fixed order. The same for the same seed. */
export class Catalogue {
  readonly chainIds: readonly string[] = chainPlans.map(({ chainId }) => chainId);
  readonly metricCount: number;
  readonly #chains = new Map<string, ReturnType<typeof buildChain>>();
  readonly #byKey: Map<string, Metric>;

  constructor({ seed, metricCount }: { seed: number; metricCount: number }) {
    this.metricCount = metricCount;
    let left = metricCount;
    for (const [index, { chainId, share, protocols }] of chainPlans.entries()) {
      const isLast = index === chainPlans.length - 1;
      const count = isLast ? left : Math.min(left, Math.round(metricCount * share));
      left -= count;
      this.#chains.set(chainId, buildChain(seed, chainId, protocols, count));
    }
    const all = [...this.#chains.values()].flatMap(({ metrics }) => metrics);
    this.#byKey = new Map(all.map((metric) => [metric.key, metric]));
  }

  /** Metrics from `offset` on that any filter selects (section 4.8). Unknown chain: undefined. */
  listMetrics(chainId: string, filter: MetricFilter, offset: number, limit: number): Metric[] | undefined {
    const { tokenAddresses, poolAddresses, keys } = filter;
    const all = this.#chains.get(chainId)?.metrics;
    const isSelected = ({ key, token, pool }: Metric) =>
      keys?.includes(key) ||
      tokenAddresses?.includes(token.address) ||
      (pool !== undefined && (tokenAddresses?.includes(pool.quote.address) || poolAddresses?.includes(pool.address)));
    const isFiltered = tokenAddresses !== undefined || poolAddresses !== undefined || keys !== undefined;
    return (isFiltered ? all?.filter(isSelected) : all)?.slice(offset, offset + limit);
  }

  findMetric(key: string): Metric | undefined {
    return this.#byKey.get(key);
  }

  /** Throws `AppError` "not_found". */
  getMetric(key: string): Metric {
    const metric = this.findMetric(key);
    if (metric !== undefined) return metric;
    const hint = "GET /alerting/metrics lists the keys";
    throw new AppError("not_found", `The sandbox has no metric ${key}`, { hint });
  }

  metricAt(chainId: string, ordinal: number): Metric | undefined {
    return this.#chains.get(chainId)?.metrics[ordinal];
  }

  /** All tokens, or those with the addresses. Unknown chain: undefined. */
  listTokens(chainId: string, addresses?: string[]): Token[] | undefined {
    const tokens = this.#chains.get(chainId)?.tokens;
    return addresses === undefined ? tokens : tokens?.filter(({ address }) => addresses.includes(address));
  }

  findPool(chainId: string, address: string): Pool | undefined {
    return this.#chains.get(chainId)?.pools.find((pool) => pool.address === address);
  }

  poolsOf(symbol: string): Pool[] {
    return [...this.#chains.values()].flatMap(({ pools }) => pools.filter(({ base }) => base.symbol === symbol));
  }
}

/** Tokens and their pools at the same positions, with five metrics for each pair. The last pair may have fewer. */
function buildChain(seed: number, chainId: string, protocols: readonly string[], metricCount: number) {
  const tokens = Array.from({ length: Math.ceil(metricCount / metricKinds.length) }, (_, group) =>
    buildToken(seed, chainId, group),
  );
  const pools = tokens.map((base, group) => {
    const hash = hashText(seed, `pool:${chainId}:${group}`);
    // The first tokens are WETH and USDC. Every other token trades against one of them, and these two against each
    // other.
    const quote = tokens[group === 0 ? 1 : group === 1 ? 0 : hash % 2] ?? base;
    return buildPool(hash, pickOf(protocols, hash), base, quote);
  });
  const metrics = pools.flatMap((pool) =>
    metricKinds.map((kind): Metric => {
      const isToken = kind.startsWith("token");
      const key = `${chainId}_${kind}_${isToken ? pool.base.address : pool.address}`;
      return { key, kind, chainId, token: pool.base, ...(!isToken && { pool }) };
    }),
  );
  return { tokens, pools, metrics: metrics.slice(0, metricCount) };
}

function buildToken(seed: number, chainId: string, group: number): Token {
  const hash = hashText(seed, `token:${chainId}:${group}`);
  const known = knownTokens[group];
  const word = pickOf(tokenWords, hash);
  return {
    ...{ chainId, address: addressOf(hash), hash, decimals: 18, isStable: false },
    ...{ symbol: `${word}${group}`, name: `${word.charAt(0)}${word.slice(1).toLowerCase()} ${group}` },
    basePriceUsd: 10 ** (unitOf(hash) * 7 - 4),
    baseTvlUsd: (known === undefined ? 1e4 : 5e7) * 10 ** (unitOf(hash ^ 0x5bd1e995) * 2),
    ...known,
  };
}

export function buildPool(hash: number, protocol: string, base: Token, quote: Token): Pool {
  const baseTvlUsd = base.baseTvlUsd * (0.2 + 0.6 * unitOf(hash));
  return { chainId: base.chainId, address: addressOf(hash), protocol, base, quote, baseTvlUsd, hash };
}
