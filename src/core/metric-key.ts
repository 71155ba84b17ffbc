import type { AlertDetail } from "./ports/alert-log.ts";

/** Of a metric key. */
export const maxKeyLength = 300;

/** What a metric key of the market-data service says by itself. */
export interface MetricKeyParts {
  chain: string;
  /** `total_tvl` in `eth_token_total_tvl_0x…`. */
  measure: string;
  /** Whether the address is a token's or a pool's. */
  kind: "token" | "pool";
  address: string;
}

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

/** `h24_volume` → "24 h volume", `total_tvl` → "total TVL". */
export function wordsOfMeasure(measure: string): string {
  return measure
    .split("_")
    .map((word) => {
      const window = /^([mhd])(\d{1,3})$/.exec(word);
      if (window !== null) return `${window[2]} ${window[1] === "m" ? "min" : window[1]}`;
      return /^(?:tvl|usd|apy|apr|fdv|lp)$/.test(word) ? word.toUpperCase() : word;
    })
    .join(" ");
}

/**
 * The key by which the service may know the metric of an alert. Of another account's alerts, and of what is no key,
 * nothing is asked.
 */
export function metricKeyOf({ facts, source, request }: AlertDetail): string | undefined {
  const metric = facts?.metric;
  if (metric === undefined || source !== undefined || request === undefined) return undefined;
  return isMetricKey(metric) ? metric : undefined;
}

/** Whether it has the form of the service's keys. */
export function isMetricKey(metric: string): boolean {
  return /^[a-z0-9-]{1,40}(?:_[A-Za-z0-9.:-]{1,128}){2,12}$/.test(metric);
}
