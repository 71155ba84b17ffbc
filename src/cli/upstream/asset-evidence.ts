import type { AssetRegistration } from "../../upstream/pricing-client.ts";

/** What shows that a registered asset can be queried: its ticker, or one of its pools. */
export type Evidence = { kind: "ticker"; symbol: string } | { kind: "pool"; chainId: string; address: string };

interface AskedEvidence {
  ticker?: string;
  pool?: { chainId: string; address: string };
}

/**
 * What to look at: what the user named, else what the registration and the answer to it show (the answer's shape is not
 * documented, so a `symbol` and `pools` are looked for in it and in its `data`). Empty when nothing does: a catalogue
 * id is no symbol, and a guess could find another asset.
 */
export function findEvidence(asked: AskedEvidence, sent: AssetRegistration, answer: unknown): Evidence[] {
  const named: Evidence[] = [
    ...(asked.ticker === undefined ? [] : [{ kind: "ticker" as const, symbol: asked.ticker }]),
    ...(asked.pool === undefined ? [] : [{ kind: "pool" as const, ...asked.pool }]),
  ];
  if (named.length > 0) return named;
  const sources = [sent.asset, ...withInner(answer)];
  const symbol = sources.map(symbolIn).find((found) => found !== undefined);
  const pool = sources.flatMap(poolsIn)[0];
  return [
    ...(symbol === undefined ? [] : [{ kind: "ticker" as const, symbol: `${symbol}/USD` }]),
    ...(pool === undefined ? [] : [pool]),
  ];
}

export function describeEvidence(evidence: Evidence): string {
  return evidence.kind === "ticker" ? `ticker ${evidence.symbol}` : `pool ${evidence.address} on ${evidence.chainId}`;
}

/** The answer itself, its `data`, and the `asset` in either. */
function withInner(answer: unknown): unknown[] {
  const data = memberOf(answer, "data");
  return [answer, data, memberOf(answer, "asset"), memberOf(data, "asset")];
}

function symbolIn(source: unknown): string | undefined {
  const symbol = memberOf(source, "symbol");
  return typeof symbol === "string" && /^[^/\s]+$/.test(symbol) ? symbol : undefined;
}

function poolsIn(source: unknown): Evidence[] {
  const pools = memberOf(source, "pools");
  if (!Array.isArray(pools)) return [];
  return pools.flatMap((pool): Evidence[] => {
    const [chainId, address] = [memberOf(pool, "chainId"), memberOf(pool, "address")];
    return typeof chainId === "string" && typeof address === "string" ? [{ kind: "pool", chainId, address }] : [];
  });
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
