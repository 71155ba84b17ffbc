import type { AlertFacts } from "./alert.ts";
import type { AlertDetail } from "./ports/alert-log.ts";

export const maxKeyLength = 300;

export interface MetricKeyParts {
  chain: string;
  /** `total_tvl` in `eth_token_total_tvl_0x…`. */
  measure: string;
  kind: "token" | "pool";
  address: string;
}

/** Reads `<chain>_token_total_tvl_<token_address>` and the same for pools. Undefined when the key has another form. */
export function readMetricKey(key: string): MetricKeyParts | undefined {
  if (key.length > maxKeyLength || !/_(?:token|pool)_/.test(key)) return undefined;
  const parts = key.split("_");
  // A chain's name may contain up to two underscores.
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

/** The key by which the service may know the alert's metric. Undefined where it does not fit the alert's token or chain. */
export function metricKeyOf({ facts, source, request }: AlertDetail): string | undefined {
  if (facts === undefined || source !== undefined || request === undefined) return undefined;
  return recordKeyIn(facts);
}

type Named = Pick<AlertFacts, "metric" | "token" | "chain"> & Partial<Pick<AlertFacts, "fields">>;

/** The key as the facts alone give it, from any sender. */
export function recordKeyIn(facts: Named): string | undefined {
  const { metric } = facts;
  if (metric === undefined || !isMetricKey(metric)) return undefined;
  const parts = readMetricKey(metric);
  return parts === undefined || isAbout(parts, facts) ? metric : undefined;
}

const poolAddressNames = /(?:^|\.)(?:pool|pair)(?:[._]?address)?$/i;

/** Whether the key fits the alert's chain, token or pool. A message must not show another one's records. */
function isAbout({ chain, kind, address }: MetricKeyParts, { token, chain: said, fields = [] }: Named): boolean {
  if (said !== undefined && !mayBeOneChain(said, chain)) return false;
  const isOther = (text: string) => isAddress(text) && text.toLowerCase() !== address.toLowerCase();
  if (kind === "token") return token === undefined || !isOther(token.trim());
  return !fields.some(({ name, value }) => poolAddressNames.test(name) && isOther(value.trim()));
}

/** Names, short names and ids of chains in many wallets. */
const chainNames = [
  ["eth", "ethereum", "mainnet", "1"],
  ["arbitrum", "arb", "42161"],
  ["arbitrumnova", "nova", "42170"],
  ["bsc", "bnb", "binance", "56"],
  ["polygon", "matic", "pol", "137"],
  ["polygonzkevm", "zkevm", "1101"],
  ["optimism", "op", "10"],
  ["avalanche", "avax", "43114"],
  ["base", "8453"],
  ["solana", "sol"],
  ["fantom", "ftm", "250"],
  ["gnosis", "xdai", "100"],
  ["zksync", "zksyncera", "324"],
  ["linea", "59144"],
  ["scroll", "534352"],
  ["blast", "81457"],
  ["mantle", "mnt", "5000"],
  ["celo", "42220"],
];

function mayBeOneChain(said: string, chain: string): boolean {
  const [own, other] = [said, chain].map((name) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, ""));
  if (own === undefined || other === undefined || own === "" || own === other) return true;
  const [family, otherFamily] = [familyOf(own), familyOf(other)];
  // An unknown id may belong to any chain.
  if (family === undefined && /^\d+$/.test(own)) return true;
  if (family !== undefined || otherFamily !== undefined) return family === otherFamily;
  return own.startsWith(other) || other.startsWith(own);
}

const chainEndings = ["mainnet", "network", "chain", "smart", "one", "pos"];

function familyOf(name: string): readonly string[] | undefined {
  const known = chainNames.find((names) => names.includes(name));
  const ending = known === undefined ? chainEndings.find((one) => name.endsWith(one)) : undefined;
  return ending === undefined ? known : familyOf(name.slice(0, -ending.length));
}

/** Whether the text has the form of the service's keys. */
export function isMetricKey(metric: string): boolean {
  return /^[a-z0-9-]{1,40}(?:_[A-Za-z0-9.:-]{1,128}){2,12}$/.test(metric);
}

export function isAddress(text: string): boolean {
  return /^(?:0x[0-9a-fA-F]{8,}|[A-Za-z0-9]{32,})$/.test(text);
}
