import { z } from "zod";
import { refuse } from "./answers.ts";
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

const chainIds = chainPlans.map(({ chainId }) => chainId);
const isSupported = (chainId: string) => chainIds.includes(chainId);

export const addressForm = /^0x[0-9a-fA-F]{40}$/;

/** Section 2: the manual asset is "mentioned as carrying a symbol and a tokenMapping", here from chain to address. */
export const assetInput = z
  .object({
    catalogId: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, { error: "is invalid: lower-case letters, digits and hyphens" })
      .optional(),
    asset: z
      .object({
        symbol: z
          .string()
          .regex(/^[A-Za-z0-9.]{1,20}$/, { error: "is invalid: 1 to 20 letters and digits" })
          .toUpperCase(),
        tokenMapping: z
          .record(
            z.string(),
            z.string().regex(addressForm, { error: "is not an address: 0x and 40 hexadecimal digits" }).toLowerCase(),
          )
          // Without a supported chain nothing would ever be discovered, and the asset would never become queryable.
          .refine((mapping) => Object.keys(mapping).some(isSupported), {
            error: `names no supported chain: use one of ${chainIds.join(", ")}`,
          }),
      })
      .optional(),
  })
  .transform(({ catalogId, asset }, context) => {
    if (catalogId !== undefined) return { id: catalogId };
    if (asset !== undefined) return { id: `manual:${asset.symbol.toLowerCase()}`, asset };
    context.addIssue("Missing catalogId (or a manually defined asset)");
    return z.NEVER;
  });
type NewAsset = z.infer<typeof assetInput>;

const failures = {
  catalog: "External catalogue fetch failed",
  pools: "Pool discovery failed",
  internal: "Internal failure",
} as const;

/** Registered assets in the state. An asset is saved before the wait, so a restart does not lose it. */
export class Assets {
  readonly #underWay = new Set<string>();

  constructor(private readonly sandbox: ServiceSandbox) {}

  /** Answers after the discovery, or after 20 seconds of the sandbox's (accelerated) time. Undefined: it closes. */
  async register(input: NewAsset): Promise<Response | undefined> {
    if (this.#isKnown(input)) return refuse(409, "The asset already exists");
    this.#underWay.add(input.id);
    try {
      return await this.#discover(input);
    } finally {
      this.#underWay.delete(input.id);
    }
  }

  /** Pools of registered assets that are already queryable. */
  pools(): Pool[] {
    const { state, settings } = this.sandbox;
    return state.assets.filter((asset) => asset.queryableAt <= settings.now()).flatMap((asset) => this.#poolsOf(asset));
  }

  async #discover({ id, asset: given }: NewAsset): Promise<Response | undefined> {
    const { state, faults, timeline, settings } = this.sandbox;
    const { now, speed } = settings;
    const hash = hashText(state.seed, `asset:${id}`);
    const fault = takeFault(faults, "POST /v1/assets", "discovery");
    const durationMs = fault?.durationMs ?? discoveryMs(hash);
    const startedAt = now();
    const answerAt = startedAt + Math.min(durationMs, answerWithinMs) / speed;
    if (fault?.failsAt !== undefined)
      return (await timeline.waitUntil(answerAt)) ? refuse(500, failures[fault.failsAt]) : undefined;
    const { least, most } = queryableAfterMs;
    const queryableMs = Math.max(durationMs, least + (most - least) * unitOf(hash ^ 0x2c1b3c6d));
    const asset: RegisteredAsset = {
      ...{ id, startedAt, discoveredAt: Math.round(startedAt + durationMs / speed) },
      queryableAt: Math.round(startedAt + queryableMs / speed),
      ...(given === undefined ? inventAsset(id, hash) : { ...given, name: given.symbol }),
    };
    state.assets.push(asset);
    await this.sandbox.save();
    if (!(await timeline.waitUntil(answerAt))) return undefined;
    const { symbol, name, tokenMapping } = asset;
    const catalogId = given === undefined ? id : null;
    if (durationMs > answerWithinMs)
      return Response.json(
        { message: "The request is still in progress", data: { catalogId, symbol } },
        { status: 202 },
      );
    const pools = this.#poolsOf(asset).map(({ chainId, address, protocol }) => ({ chainId, address, protocol }));
    const markets = [{ exchange: "sandbox-exchange", pair: `${symbol}/USD` }];
    return Response.json({ message: "Asset added", data: { catalogId, symbol, name, tokenMapping, pools, markets } });
  }

  #isKnown({ id, asset }: NewAsset): boolean {
    const { state, catalogue } = this.sandbox;
    const isListed = knownTokens.some(({ catalogId }) => catalogId === id);
    const isTraded = asset !== undefined && catalogue.poolsOf(asset.symbol).length > 0;
    return isListed || isTraded || this.#underWay.has(id) || state.assets.some((known) => known.id === id);
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

function inventAsset(name: string, hash: number): Pick<RegisteredAsset, "symbol" | "name" | "tokenMapping"> {
  const chains = chainIds.slice(0, 1 + (hash % 3));
  const tokenMapping = Object.fromEntries(chains.map((chainId, index) => [chainId, addressOf(hash + index)]));
  const letters = name.replaceAll(/[^a-z0-9]/g, "");
  return { symbol: letters.slice(0, 10).toUpperCase(), name, tokenMapping };
}
