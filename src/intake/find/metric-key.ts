/** What a metric key of the market-data service says by itself. */
export interface MetricKeyParts {
  chain: string;
  /** `total_tvl` in `eth_token_total_tvl_0x…`. */
  measure: string;
  /** Whether the address is a token's or a pool's. */
  kind: "token" | "pool";
  address: string;
}

const maxKeyLength = 300;
/** As much of a text as a message may show. */
const maxSearched = 20_000;

/** Reads `<chain>_token_total_tvl_<token_address>` and its like for pools; undefined when the key has no such shape. */
export function readMetricKey(key: string): MetricKeyParts | undefined {
  if (key.length > maxKeyLength || !/_(?:token|pool)_/.test(key)) return undefined;
  const parts = key.split("_");
  // A chain's own name may have underscores: at most two.
  for (let at = 1; at <= 3; at += 1) {
    const kind = parts[at];
    if ((kind !== "token" && kind !== "pool") || !namesChain(parts.slice(0, at))) continue;
    const address = parts.slice(at + 1).pop() ?? "";
    const measure = parts.slice(at + 1, -1).join("_");
    if (!/^[A-Za-z0-9:.-]{20,128}$/.test(address) || !/^[a-z0-9_]{0,80}$/.test(measure)) continue;
    return { chain: parts.slice(0, at).join("_"), measure, kind, address };
  }
  return undefined;
}

function namesChain([first = "", ...others]: string[]): boolean {
  return /^[a-z0-9][a-z0-9-]{0,39}$/.test(first) && others.every((other) => /^[a-z0-9-]{1,20}$/.test(other));
}

/** The first metric key within the first 20,000 characters of a text. */
export function findMetricKey(text: string): string | undefined {
  const searched = text.slice(0, maxSearched);
  if (!/_(?:token|pool)_/.test(searched)) return undefined;
  for (const [run] of searched.matchAll(/[\w-]+/g)) {
    if (run.length > maxKeyLength) continue;
    const key = /^[a-z0-9-]{1,40}_(?:token|pool)_\w+/.exec(run)?.[0] ?? "";
    const measure = key.split("_").slice(2, -1).join("_");
    const address = key.slice(key.lastIndexOf("_") + 1);
    if (/^[a-z0-9_]{1,80}$/.test(measure) && /^[A-Za-z0-9]{20,128}$/.test(address)) return key;
  }
  return undefined;
}
