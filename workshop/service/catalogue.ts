import { chainPlans, knownTokens, tokenWords } from "./catalogue-names.ts";
import { addressOf, hashText, pickOf, unitOf } from "./seeded.ts";

export interface Token {
  chainId: string;
  /** Lower case. */
  address: string;
  symbol: string;
  name: string;
  decimals: number;
  basePriceUsd: number;
  baseTvlUsd: number;
  isStable: boolean;
  /** Names its random walk. */
  hash: number;
}

export interface Pool {
  chainId: string;
  /** Lower case. */
  address: string;
  protocol: string;
  base: Token;
  quote: Token;
  baseTvlUsd: number;
  hash: number;
}

/** Only `token_total_tvl` is a form that the interface shows; the other key forms are this sandbox's. */
const metricKinds = ["token_total_tvl", "token_price", "pool_h24_volume", "pool_price", "pool_total_tvl"] as const;
export type MetricKind = (typeof metricKinds)[number];

export interface Metric {
  /** `<chain>_<kind>_<address>`. */
  key: string;
  kind: MetricKind;
  chainId: string;
  /** For token metrics the token, for pool metrics the pool's base. */
  token: Token;
  /** Present for pool metrics. */
  pool?: Pool;
}

export interface MetricFilter {
  tokenAddresses?: string[];
  poolAddresses?: string[];
  keys?: string[];
}

export interface Catalogue {
  readonly chainIds: readonly string[];
  readonly metricCount: number;
  /**
   * Metrics `offset` to `offset + limit` of those that any filter selects, in a fixed order. Unknown chain: undefined.
   */
  listMetrics(chainId: string, filter: MetricFilter, offset: number, limit: number): Metric[] | undefined;
  findMetric(key: string): Metric | undefined;
  /** All tokens, or those of the addresses. Unknown chain: undefined. */
  listTokens(chainId: string, addresses?: string[]): Token[] | undefined;
  findTokensBySymbol(symbol: string): Token[];
  findPool(chainId: string, address: string): Pool | undefined;
  /** The pool in which the token is the base. */
  findPoolOf(token: Token): Pool | undefined;
  metricAt(chainId: string, ordinal: number): Metric | undefined;
}

/** A token and its pool, position by position; five metrics each, of which the chain's last group may have fewer. */
interface Chain {
  chainId: string;
  metricCount: number;
  tokens: Token[];
  pools: Pool[];
  groupOfToken: Map<string, number>;
  groupOfPool: Map<string, number>;
  /** Groups whose pool holds the token as its quote. */
  quotedBy: Map<string, number[]>;
}

const perGroup = metricKinds.length;

/**
 * About `metricCount` metrics (exactly that many) over five chains; the same for the same seed. Takes about 50 ms at
 * 50,000.
 */
export function createCatalogue(options: { seed: number; metricCount: number }): Catalogue {
  const chains = new Map<string, Chain>();
  let left = options.metricCount;
  for (const [index, plan] of chainPlans.entries()) {
    const isLast = index === chainPlans.length - 1;
    const count = isLast ? left : Math.min(left, Math.round(options.metricCount * plan.share));
    left -= count;
    chains.set(plan.chainId, buildChain(options.seed, plan.chainId, plan.protocols, count));
  }
  const tokensBySymbol = indexSymbols(chains.values());

  function metricAt(chainId: string, ordinal: number): Metric | undefined {
    const chain = chains.get(chainId);
    return chain === undefined ? undefined : metricOf(chain, ordinal);
  }

  function findMetric(key: string): Metric | undefined {
    const ordinal = ordinalOfKey(chains, key);
    return ordinal === undefined ? undefined : metricOf(ordinal.chain, ordinal.ordinal);
  }

  return {
    chainIds: [...chains.keys()],
    metricCount: options.metricCount,
    metricAt,
    findMetric,
    listMetrics(chainId, filter, offset, limit) {
      const chain = chains.get(chainId);
      if (chain === undefined) return undefined;
      const selected = selectOrdinals(chain, chains, filter);
      const metrics: Metric[] = [];
      for (let index = offset; index < offset + limit; index += 1) {
        const ordinal = selected === undefined ? index : selected[index];
        const metric = ordinal === undefined ? undefined : metricOf(chain, ordinal);
        if (metric === undefined) break;
        metrics.push(metric);
      }
      return metrics;
    },
    listTokens(chainId, addresses) {
      const chain = chains.get(chainId);
      if (chain === undefined || addresses === undefined) return chain?.tokens;
      const groups = new Set(addresses.map((address) => chain.groupOfToken.get(address)));
      return chain.tokens.filter((_token, group) => groups.has(group));
    },
    findTokensBySymbol: (symbol) => tokensBySymbol.get(symbol) ?? [],
    findPool(chainId, address) {
      const chain = chains.get(chainId);
      const group = chain?.groupOfPool.get(address);
      return group === undefined ? undefined : chain?.pools[group];
    },
    findPoolOf(token) {
      const chain = chains.get(token.chainId);
      const group = chain?.groupOfToken.get(token.address);
      return group === undefined ? undefined : chain?.pools[group];
    },
  };
}

function buildChain(seed: number, chainId: string, protocols: readonly string[], metricCount: number): Chain {
  const groups = Math.ceil(metricCount / perGroup);
  const tokens = Array.from({ length: groups }, (_, group) => buildToken(seed, chainId, group));
  const chain: Chain = {
    chainId,
    metricCount,
    tokens,
    pools: [],
    groupOfToken: new Map(tokens.map((token, group) => [token.address, group])),
    groupOfPool: new Map(),
    quotedBy: new Map(),
  };
  for (const [group, base] of tokens.entries()) {
    const hash = hashText(seed, `pool:${chainId}:${group}`);
    // The first tokens are WETH and USDC; each other one trades against one of them, and these two against each other.
    const quote = tokens[group === 0 ? 1 : group === 1 ? 0 : hash % 2] ?? base;
    const pool = buildPool(hash, pickOf(protocols, hash), base, quote);
    chain.pools.push(pool);
    chain.groupOfPool.set(pool.address, group);
    const quoted = chain.quotedBy.get(quote.address);
    if (quoted === undefined) chain.quotedBy.set(quote.address, [group]);
    else quoted.push(group);
  }
  return chain;
}

function buildToken(seed: number, chainId: string, group: number): Token {
  const hash = hashText(seed, `token:${chainId}:${group}`);
  const known = knownTokens[group];
  const word = pickOf(tokenWords, hash);
  return {
    chainId,
    address: addressOf(hash),
    symbol: known?.symbol ?? `${word}${group}`,
    name: known?.name ?? `${word.charAt(0)}${word.slice(1).toLowerCase()} ${group}`,
    decimals: known?.decimals ?? 18,
    basePriceUsd: known?.basePriceUsd ?? 10 ** (unitOf(hash) * 7 - 4),
    baseTvlUsd: (known === undefined ? 1e4 : 5e7) * 10 ** (unitOf(hash ^ 0x5bd1e995) * 2),
    isStable: known?.isStable ?? false,
    hash,
  };
}

/** A pool of the two tokens, as the seed's hash has it. */
export function buildPool(hash: number, protocol: string, base: Token, quote: Token): Pool {
  const baseTvlUsd = base.baseTvlUsd * (0.2 + 0.6 * unitOf(hash));
  return { chainId: base.chainId, address: addressOf(hash), protocol, base, quote, baseTvlUsd, hash };
}

function metricOf(chain: Chain, ordinal: number): Metric | undefined {
  const group = Math.floor(ordinal / perGroup);
  const kind = metricKinds[ordinal % perGroup];
  const token = chain.tokens[group];
  const pool = chain.pools[group];
  if (ordinal < 0 || ordinal >= chain.metricCount || !kind || !token || !pool) return undefined;
  if (kind.startsWith("token")) {
    return { key: `${chain.chainId}_${kind}_${token.address}`, kind, chainId: chain.chainId, token };
  }
  return { key: `${chain.chainId}_${kind}_${pool.address}`, kind, chainId: chain.chainId, token, pool };
}

function ordinalOfKey(chains: Map<string, Chain>, key: string): { chain: Chain; ordinal: number } | undefined {
  const first = key.indexOf("_");
  const last = key.lastIndexOf("_");
  const chain = chains.get(key.slice(0, first));
  const position = metricKinds.findIndex((kind) => kind === key.slice(first + 1, last));
  if (chain === undefined || position < 0) return undefined;
  const groups = metricKinds[position]?.startsWith("token") ? chain.groupOfToken : chain.groupOfPool;
  const group = groups.get(key.slice(last + 1));
  return group === undefined ? undefined : { chain, ordinal: group * perGroup + position };
}

/** Undefined without any filter: the chain's metrics in their own order. The filters combine with OR (section 4.8). */
function selectOrdinals(chain: Chain, chains: Map<string, Chain>, filter: MetricFilter): number[] | undefined {
  if (!filter.tokenAddresses && !filter.poolAddresses && !filter.keys) return undefined;
  const ordinals = new Set<number>();
  const addPool = (group: number) => {
    for (let position = 2; position < perGroup; position += 1) ordinals.add(group * perGroup + position);
  };
  for (const address of filter.tokenAddresses ?? []) {
    const group = chain.groupOfToken.get(address);
    if (group !== undefined) {
      ordinals.add(group * perGroup).add(group * perGroup + 1);
      addPool(group);
    }
    for (const quoted of chain.quotedBy.get(address) ?? []) addPool(quoted);
  }
  for (const address of filter.poolAddresses ?? []) {
    const group = chain.groupOfPool.get(address);
    if (group !== undefined) addPool(group);
  }
  for (const key of filter.keys ?? []) {
    const found = ordinalOfKey(chains, key);
    if (found?.chain === chain) ordinals.add(found.ordinal);
  }
  // Metrics that the last group lacks sort to the end, where a page ends anyway.
  return [...ordinals].sort((a, b) => a - b);
}

function indexSymbols(chains: Iterable<Chain>): Map<string, Token[]> {
  const bySymbol = new Map<string, Token[]>();
  for (const chain of chains) {
    for (const token of chain.tokens) {
      const same = bySymbol.get(token.symbol);
      if (same === undefined) bySymbol.set(token.symbol, [token]);
      else same.push(token);
    }
  }
  return bySymbol;
}
