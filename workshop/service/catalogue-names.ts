/** Addresses are invented. Names of well-known tokens help readers. */

/** A stable one moves a thousandth as much as others. */
export const knownTokens = [
  { symbol: "WETH", name: "Wrapped Ether", catalogId: "weth", decimals: 18, basePriceUsd: 3200 },
  { symbol: "USDC", name: "USD Coin", catalogId: "usd-coin", decimals: 6, basePriceUsd: 1, isStable: true },
  { symbol: "USDT", name: "Tether", catalogId: "tether", decimals: 6, basePriceUsd: 1, isStable: true },
  { symbol: "DAI", name: "Dai", catalogId: "dai", decimals: 18, basePriceUsd: 1, isStable: true },
  { symbol: "WBTC", name: "Wrapped Bitcoin", catalogId: "wrapped-bitcoin", decimals: 8, basePriceUsd: 91_000 },
  { symbol: "ETH", name: "Ether", catalogId: "ethereum", decimals: 18, basePriceUsd: 3200 },
  { symbol: "BTC", name: "Bitcoin", catalogId: "bitcoin", decimals: 8, basePriceUsd: 91_000 },
  { symbol: "LINK", name: "Chainlink", catalogId: "chainlink", decimals: 18, basePriceUsd: 13.4 },
  { symbol: "AAVE", name: "Aave", catalogId: "aave", decimals: 18, basePriceUsd: 172 },
  { symbol: "UNI", name: "Uniswap", catalogId: "uniswap", decimals: 18, basePriceUsd: 6.9 },
  { symbol: "CRV", name: "Curve DAO", catalogId: "curve-dao-token", decimals: 18, basePriceUsd: 0.41 },
  { symbol: "LDO", name: "Lido DAO", catalogId: "lido-dao", decimals: 18, basePriceUsd: 0.72 },
];

/** `share`: the chain's part of all metrics. The last chain takes the rest. */
export const chainPlans = [
  { chainId: "eth", share: 0.36, protocols: ["uniswap_v3", "curve", "balancer_v2"] },
  { chainId: "arbitrum", share: 0.2, protocols: ["uniswap_v3", "camelot"] },
  { chainId: "bsc", share: 0.2, protocols: ["pancakeswap_v3", "thena"] },
  { chainId: "base", share: 0.16, protocols: ["aerodrome", "uniswap_v3"] },
  { chainId: "polygon", share: 0.08, protocols: ["quickswap", "uniswap_v3"] },
];

export const tokenWords = "NOVA ORCA PIKE LYNX RUNE FERN ONYX IRIS MOSS KITE DUNE VEGA OPAL TERN ZEAL YARN".split(" ");
