import { Hono } from "hono";
import { z } from "zod";
import type { Now } from "../../src/core/clock.ts";
import { addReads, readBody, refuse, requiredParameter, type SandboxContext, type SandboxEnv } from "./answers.ts";
import type { Assets, NewAsset, Registration } from "./assets.ts";
import type { Catalogue, Pool } from "./catalogue.ts";
import { cutOff, type Gate } from "./gate.ts";
import type { Market } from "./market.ts";
import {
  describePool,
  describeTicker,
  equities,
  equityPrice,
  findEquity,
  qualifiedSymbol,
  supportedExchanges,
} from "./pricing.ts";

export interface PricingDeps {
  catalogue: Catalogue;
  market: Market;
  assets: Assets;
  now: Now;
}

/** Sections 4.1 to 4.5. The path of the equities price is not shown; `/v1/equities/price?symbols=` is the sandbox's. */
export function createPricingApi(deps: PricingDeps, gate: Gate): Hono<SandboxEnv> {
  const { catalogue, market, assets, now } = deps;
  const app = new Hono<SandboxEnv>();
  const read = addReads(app, gate);
  app.post("/v1/assets", gate("POST /v1/assets"), (context) => registerAsset(deps, context));

  const poolQuery = z.object({
    address: requiredParameter("address").regex(addressForm, { error: "is malformed: 0x and 40 hexadecimal digits" }),
    chainId: requiredParameter("chainId").refine((chainId) => catalogue.chainIds.includes(chainId), {
      error: `is not supported: use one of ${catalogue.chainIds.join(", ")}`,
    }),
  });
  read("/v1/pools/state", poolQuery, ({ chainId, ...query }) => {
    const address = query.address.toLowerCase();
    const isAsked = (pool: Pool) => pool.chainId === chainId && pool.address === address;
    const pool = catalogue.findPool(chainId, address) ?? assets.pools().find(isAsked);
    return pool === undefined ? refuse(404, `No pool ${address} on ${chainId}`) : describePool(market, pool, now());
  });

  read("/v1/assets/ticker", tickerQuery, ({ symbol }) => {
    const base = symbol.slice(0, symbol.indexOf("/")).toUpperCase();
    const registered = assets.pools().filter((pool) => pool.base.symbol === base);
    const pools = [...catalogue.poolsOf(base), ...registered];
    return pools.length === 0 ? refuse(404, `No ticker ${base}/USD`) : describeTicker(market, base, pools, now());
  });

  app.get("/v1/equities/symbols", gate("GET /v1/equities/symbols"), (context) => {
    const data = equities.map(({ symbol, name, exchange, type }) => ({ symbol, name, exchange, type }));
    return context.json({ data, meta: { count: equities.length, supportedExchanges } });
  });

  // Unknown symbols are left out; when none is known the answer is 404. The interface shows neither.
  read("/v1/equities/price", z.object({ symbols: requiredParameter("symbols") }), ({ symbols }) => {
    const found = symbols.split(",").flatMap((symbol) => findEquity(symbol.trim()) ?? []);
    if (found.length === 0) return refuse(404, `No equity ${symbols}`);
    return found.map((equity) => ({ symbol: qualifiedSymbol(equity), price: equityPrice(market, equity, now()) }));
  });
  return app;
}

const addressForm = /^0x[0-9a-fA-F]{40}$/;
const tickerQuery = z.object({
  symbol: requiredParameter("symbol")
    .regex(/^[A-Za-z0-9.]{1,20}\/[A-Za-z0-9]{1,10}$/, { error: "is not in BASE/QUOTE form" })
    .refine((symbol) => symbol.toUpperCase().endsWith("/USD"), { error: "only USD quotes are supported" }),
});

/** Section 2: the manual asset is "mentioned as carrying a symbol and a tokenMapping"; taken as chain to address. */
const assetBody = z.object({
  catalogId: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, { error: "is invalid: lower-case letters, digits and hyphens" })
    .optional(),
  asset: z
    .object({
      symbol: z.string().regex(/^[A-Za-z0-9.]{1,20}$/, { error: "is invalid: 1 to 20 letters and digits" }),
      tokenMapping: z.record(
        z.string(),
        z.string().regex(addressForm, { error: "is not an address: 0x and 40 hexadecimal digits" }),
      ),
    })
    .optional(),
});

async function registerAsset(deps: PricingDeps, context: SandboxContext): Promise<Response> {
  const body = await readBody(context, assetBody);
  if (body instanceof Response) return body;
  const input = toNewAsset(body);
  if (input === undefined) return refuse(400, "Missing catalogId (or a manually defined asset)");
  if (!isOnSupportedChain(deps, input)) {
    const chains = deps.catalogue.chainIds.join(", ");
    return refuse(400, `body asset.tokenMapping: names no supported chain: use one of ${chains}`);
  }
  return answerRegistration(context, input, await deps.assets.register(input, "POST /v1/assets"));
}

/** On no chain nothing would ever be discovered, and the asset never become queryable. */
function isOnSupportedChain({ catalogue }: PricingDeps, input: NewAsset): boolean {
  if (input.catalogId !== undefined) return true;
  return Object.keys(input.tokenMapping).some((chainId) => catalogue.chainIds.includes(chainId));
}

function toNewAsset(body: z.infer<typeof assetBody>): NewAsset | undefined {
  if (body.catalogId !== undefined) return { catalogId: body.catalogId };
  if (body.asset === undefined) return undefined;
  const mapping = Object.entries(body.asset.tokenMapping).map(([chain, address]) => [chain, address.toLowerCase()]);
  return { symbol: body.asset.symbol.toUpperCase(), tokenMapping: Object.fromEntries(mapping) };
}

function answerRegistration(context: SandboxContext, input: NewAsset, registration: Registration): Response {
  switch (registration.kind) {
    case "added": {
      const { symbol, name, tokenMapping } = registration.asset;
      const pools = registration.pools.map(({ chainId, address, protocol }) => ({ chainId, address, protocol }));
      const markets = [{ exchange: "sandbox-exchange", pair: `${symbol}/USD` }];
      const data = { catalogId: input.catalogId ?? null, symbol, name, tokenMapping, pools, markets };
      return context.json({ message: "Asset added", data });
    }
    case "in_progress": {
      const data = { catalogId: input.catalogId ?? null, symbol: registration.asset.symbol };
      return context.json({ message: "The request is still in progress", data }, 202);
    }
    case "exists":
      return refuse(409, "The asset already exists");
    case "failed":
      return refuse(500, failureTexts[registration.at]);
    case "closed":
      return cutOff(context);
  }
}

const failureTexts = {
  catalog: "External catalogue fetch failed",
  pools: "Pool discovery failed",
  internal: "Internal failure",
} as const;
