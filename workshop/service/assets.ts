import { buildPool, type Pool, type Token } from "./catalogue.ts";
import { chainPlans, knownTokens } from "./catalogue-names.ts";
import { takeFault } from "./faults.ts";
import { addressOf, hashText, pickOf, unitOf } from "./seeded.ts";
import type { ServiceSandbox } from "./service.ts";
import type { RegisteredAsset } from "./state.ts";

/** Section 8: after this time the answer is 202 and discovery continues. */
const answerWithinMs = 20_000;
/** Section 4.1: queryable between 30 seconds and 3 minutes later. */
const queryableAfterMs = { least: 30_000, most: 180_000 } as const;

export type NewAsset =
  | { catalogId: string }
  | { catalogId?: undefined; symbol: string; tokenMapping: Record<string, string> };

export type Registration =
  | { kind: "added"; asset: RegisteredAsset; pools: Pool[] }
  | { kind: "in_progress"; asset: RegisteredAsset }
  | { kind: "exists" }
  | { kind: "failed"; at: "catalog" | "pools" | "internal" }
  | { kind: "closed" };

/** Registered assets in the state. An asset is saved before the wait, so a restart does not lose it. */
export class Assets {
  readonly #underWay = new Set<string>();

  constructor(private readonly sandbox: ServiceSandbox) {}

  /** Answers after the discovery, or after 20 seconds of the sandbox's (accelerated) time. */
  async register(input: NewAsset, route: string): Promise<Registration> {
    const id = input.catalogId ?? `manual:${input.symbol.toLowerCase()}`;
    if (this.#isKnown(input, id)) return { kind: "exists" };
    this.#underWay.add(id);
    try {
      return await this.#discover(input, id, route);
    } finally {
      this.#underWay.delete(id);
    }
  }

  /** Pools of registered assets that are already queryable. */
  pools(): Pool[] {
    const { state, settings } = this.sandbox;
    return state.assets.filter((asset) => asset.queryableAt <= settings.now()).flatMap((asset) => this.#poolsOf(asset));
  }

  async #discover(input: NewAsset, id: string, route: string): Promise<Registration> {
    const { state, faults, timeline, settings } = this.sandbox;
    const { now, speed } = settings;
    const hash = hashText(state.seed, `asset:${id}`);
    const fault = takeFault(faults, route, "discovery");
    const durationMs = fault?.durationMs ?? discoveryMs(hash);
    const startedAt = now();
    const answerAt = startedAt + Math.min(durationMs, answerWithinMs) / speed;
    if (fault?.failsAt !== undefined) {
      const isDue = await timeline.waitUntil(answerAt);
      return isDue ? { kind: "failed", at: fault.failsAt } : { kind: "closed" };
    }
    const asset = planAsset(input, { id, hash, startedAt, durationMs, speed });
    state.assets.push(asset);
    await this.sandbox.save();
    if (!(await timeline.waitUntil(answerAt))) return { kind: "closed" };
    return durationMs > answerWithinMs
      ? { kind: "in_progress", asset }
      : { kind: "added", asset, pools: this.#poolsOf(asset) };
  }

  #isKnown(input: NewAsset, id: string): boolean {
    const { state, catalogue } = this.sandbox;
    const inCatalogue =
      input.catalogId === undefined
        ? catalogue.poolsOf(input.symbol).length > 0
        : knownTokens.some((token) => token.catalogId === id);
    return inCatalogue || this.#underWay.has(id) || state.assets.some((asset) => asset.id === id);
  }

  /** One pool against the chain's USDC for each token of the asset. */
  #poolsOf({ id, symbol, name, tokenMapping }: RegisteredAsset): Pool[] {
    const { state, catalogue } = this.sandbox;
    return Object.entries(tokenMapping).flatMap(([chainId, address]) => {
      const quote = catalogue.listTokens(chainId)?.[1];
      const plan = chainPlans.find((chain) => chain.chainId === chainId);
      if (quote === undefined || plan === undefined) return [];
      const hash = hashText(state.seed, `asset:${id}:${chainId}`);
      const token: Token = {
        ...{ chainId, address, symbol, name, hash, decimals: 18, isStable: false },
        basePriceUsd: 10 ** (unitOf(hashText(state.seed, id)) * 4 - 2),
        baseTvlUsd: 1e6 * 10 ** unitOf(hash),
      };
      return [buildPool(hash, pickOf(plan.protocols, hash), token, quote)];
    });
  }
}

/** Three of four discoveries take 2 to 15 seconds, the others 25 to 60. */
function discoveryMs(hash: number): number {
  const part = unitOf(hash);
  return part < 0.75 ? 2000 + 17_333 * part : 25_000 + 140_000 * (part - 0.75);
}

function planAsset(
  input: NewAsset,
  plan: { id: string; hash: number; startedAt: number; durationMs: number; speed: number },
): RegisteredAsset {
  const { least, most } = queryableAfterMs;
  const queryableMs = Math.max(plan.durationMs, least + (most - least) * unitOf(plan.hash ^ 0x2c1b3c6d));
  const asset = { id: plan.id, startedAt: plan.startedAt };
  const times = {
    discoveredAt: Math.round(plan.startedAt + plan.durationMs / plan.speed),
    queryableAt: Math.round(plan.startedAt + queryableMs / plan.speed),
  };
  if (input.catalogId === undefined) {
    const { symbol, tokenMapping } = input;
    return { ...asset, ...times, symbol, name: symbol, tokenMapping };
  }
  const chains = chainPlans.slice(0, 1 + (plan.hash % 3));
  const tokenMapping = Object.fromEntries(chains.map(({ chainId }, index) => [chainId, addressOf(plan.hash + index)]));
  const symbol = input.catalogId
    .replaceAll(/[^a-z0-9]/g, "")
    .slice(0, 10)
    .toUpperCase();
  return { ...asset, ...times, symbol, name: input.catalogId, tokenMapping };
}
