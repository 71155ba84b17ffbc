import { wordSet } from "../../ground/text/plain-text.ts";
/** The words by which sentences of alerts say what a number is. All in lower case. */

export const above = wordSet("above exceeds exceeded exceeding beyond > ≥");
export const below = wordSet("below < ≤");
/** Also of time and of place ("over 5 pools"), so that a verb has to stand before them. */
export const wideAbove = wordSet("over");
export const wideBelow = wordSet("under");
export const crossing = wordSet("crossing crossed crosses cross");
export const motion = wordSet("is are was now went rose climbed jumped fell dropped back crossed crosses crossing");
export const limitNouns = wordSet("threshold limit target trigger");
export const fillers = wordSet("the a an its your our of level value = :");
export const isNow = wordSet("is are now currently current at stands reads = :");
export const wasBefore = wordSet("was were before previously previous prev formerly");
export const moves = wordSet(
  `by up down rose fell dropped gained lost increased decreased moved moves changed jumped crashed slipped
  climbed surged plunged rises falls drops more less increase decrease change`,
);
/**
 * What people watch. A percentage of a thing in `relative` is its value; of any other thing it is how far the thing has
 * moved.
 */
export const relative = wordSet(
  `rate ratio deviation spread utilisation utilization apy apr yield funding volatility basis premium discount slippage
  factor usage cpu memory disk load share dominance drawdown margin ltv imbalance peg index score depeg`,
);
export const amounts = wordSet(
  `price tvl volume liquidity balance supply reserve reserves depth mcap fdv collateral debt gas temperature
  inventory exposure pnl oi interest errors requests connections`,
);
export const times = wordSet("latency lag age delay staleness");
export const measureLeads = wordSet(
  "total pool token market open net health error funding price exchange borrow 24h 1h 7d h24",
);

export const chains = wordSet(
  `eth ethereum mainnet arbitrum arb base bsc bnb polygon matic optimism op avalanche avax solana sol fantom ftm
  gnosis linea scroll zksync blast mantle celo moonbeam cronos kava metis sonic berachain unichain ink sei sui
  aptos near tron ton starknet polygon-zkevm zkevm worldchain mode fraxtal taiko opbnb`,
);
