/** What a metric key of the market-data service says by itself. */
export interface MetricKeyParts {
  chain: string;
  /** `total_tvl` in `eth_token_total_tvl_0x…`. */
  measure: string;
  /** Whether the address is a token's or a pool's. */
  kind: "token" | "pool";
  address: string;
}

const keyPattern =
  /^([a-z0-9][a-z0-9-]{0,39}(?:_[a-z0-9-]{1,20}){0,2}?)_(token|pool)_([a-z0-9_]{0,80}?)_?([A-Za-z0-9:.-]{20,128})$/;

/** Reads `<chain>_token_total_tvl_<token_address>` and its like for pools; undefined when the key has no such shape. */
export function readMetricKey(key: string): MetricKeyParts | undefined {
  const match = keyPattern.exec(key);
  if (match === null) return undefined;
  const [, chain = "", kind, measure = "", address = ""] = match;
  return { chain, measure, kind: kind === "pool" ? "pool" : "token", address };
}

/** The first metric key in a text. */
export function findMetricKey(text: string): string | undefined {
  return /(?<![\w-])[a-z0-9-]{1,40}_(?:token|pool)_[a-z0-9_]{1,80}_[A-Za-z0-9]{20,128}(?!\w)/.exec(text)?.[0];
}
