/** The words by which sentences of alerts say what a number is. All in lower case. */

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

export const above = words("above exceeds exceeded exceeding beyond > ≥");
export const below = words("below < ≤");
/** Also of time and of place ("over 5 pools"), so that a verb has to stand before them. */
export const wideAbove = words("over");
export const wideBelow = words("under");
export const crossing = words("crossing crossed crosses cross");
export const motion = words("is are was now went rose climbed jumped fell dropped back crossed crosses crossing");
export const limitNouns = words("threshold limit target trigger");
export const fillers = words("the a an its your our of level value = :");
export const isNow = words("is are now currently current at stands reads = :");
export const wasBefore = words("was were before previously previous prev formerly");
export const moves = words(
  `by up down rose fell dropped gained lost increased decreased moved moves changed jumped crashed slipped
  climbed surged plunged rises falls drops more less increase decrease change`,
);
/** What people watch. Of those in `relative` a percentage is a value; of the others it is how far they have moved. */
export const relative = words(
  `rate ratio deviation spread utilisation utilization apy apr yield funding volatility basis premium discount slippage
  factor usage cpu memory disk load share dominance drawdown margin ltv imbalance peg index score depeg`,
);
export const amounts = words(
  `price tvl volume liquidity balance supply reserve reserves depth mcap fdv collateral debt gas temperature
  inventory exposure pnl oi interest errors requests connections`,
);
export const times = words("latency lag age delay staleness");
export const measureLeads = words(
  "total pool token market open net health error funding price exchange borrow 24h 1h 7d h24",
);

export const chains = words(
  `eth ethereum mainnet arbitrum arb base bsc bnb polygon matic optimism op avalanche avax solana sol fantom ftm
  gnosis linea scroll zksync blast mantle celo moonbeam cronos kava metis sonic berachain unichain ink sei sui
  aptos near tron ton starknet polygon-zkevm zkevm worldchain mode fraxtal taiko opbnb`,
);
