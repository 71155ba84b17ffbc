import { afterAll, beforeAll, expect, test } from "vitest";
import { at, type InterfaceFixture, startInterface, testRefusals, textOf } from "./interface-fixture.ts";

/** The pricing interface: endpoints 4.1 to 4.5, their errors and limits. */

let api: InterfaceFixture;
let pool: { chainId: string; address: string };
beforeAll(async () => {
  api = await startInterface();
  const metric = at(await api.alerting.listMetrics({ chainId: "base", page: 1 }), 12);
  pool = { chainId: "base", address: textOf(metric, "poolAddress") };
});
afterAll(() => api.sandbox.close());

const get = (path: string) => api.call(`${api.sandbox.pricingUrl}/v1${path}`);

/** Starts a registration that takes `durationMs`, moves the clock on, and gives the answer. */
type Times = { durationMs: number; advanceMs: number; failsAt?: "catalog" | "pools" | "internal" };

async function register(body: Parameters<InterfaceFixture["pricing"]["registerAsset"]>[0], times: Times) {
  const { durationMs, failsAt } = times;
  api.sandbox.faults.next({ kind: "discovery", route: "POST /v1/assets", times: 1, durationMs, failsAt });
  const answer = api.pricing.registerAsset(body);
  await expect.poll(() => api.sandbox.describe().waiting).toBe(1);
  api.advance(times.advanceMs);
  return await answer;
}

testRefusals(get, [
  [
    "S45 a missing or malformed pool address is refused with 400",
    ["", "&address=", "&address=0x12", "&address=hello"].map((address) => `/pools/state?chainId=eth${address}`),
  ],
  [
    "S46 a missing or unsupported chainId is refused with 400",
    ["", "&chainId=", "&chainId=atlantis", "&chainId=ETH"].map(
      (chain) => `/pools/state?address=0x${"a".repeat(40)}${chain}`,
    ),
  ],
  [
    "S50 a symbol that is not in BASE/QUOTE form is refused with 400",
    [
      "",
      "?symbol=",
      ...["ETH", "ETHUSD", "/USD", "ETH/", "ETH/USD/X"].map((symbol) => `?symbol=${encodeURIComponent(symbol)}`),
    ].map((query) => `/assets/ticker${query}`),
  ],
  ["S51 only USD quotes are supported", ["/assets/ticker?symbol=ETH/EUR"], "USD"],
  ["S56 the equity symbols are required", ["/equities/price"]],
]);

test.each<[string, string, ((pricing: InterfaceFixture["pricing"]) => Promise<unknown>)[]]>([
  [
    "S47 a pool that is not indexed is 404",
    "not_found",
    [(pricing) => pricing.readPoolState({ ...pool, chainId: "eth" })],
  ],
  ["S52 an unknown ticker is 404", "not_found", [(pricing) => pricing.readTicker("NOBODY/USD")]],
  [
    "S61 a missing or invalid catalogId is 400",
    "rejected",
    [{}, { catalogId: "No Such Id!" }, { catalogId: "" }].map((asset) => (pricing) => pricing.registerAsset(asset)),
  ],
])("%s", async (statement, code, calls) => {
  const message = expect.stringContaining(statement.startsWith("S61") ? "catalogId" : "");
  for (const call of calls)
    await expect(call(api.pricing)).rejects.toMatchObject({ code: `upstream_${code}`, message });
});

test("S43 the pool state has the documented fields", async () => {
  const state = await api.pricing.readPoolState(pool);
  const numbers = (...names: string[]) => Object.fromEntries(names.map((name) => [name, expect.any(Number)]));
  const ofToken = numbers("decimals", "tvl", "usdTvl", "h24Volume", "h24UsdVolume", "priceUsd");
  const text = expect.any(String);
  expect(state).toEqual({
    ...pool,
    protocol: text,
    ...numbers("usdTvl", "h24UsdVolume"),
    tokens: Array(2).fill({ symbol: text, address: expect.stringMatching(/^0x[0-9a-f]{40}$/), ...ofToken }),
    pairs: [{ base: text, quote: text, ...numbers("baseToQuotePrice", "quoteToBasePrice", "h24UsdVolume") }],
  });
});

test("S44 the pool's token prices, amounts and pair prices agree with each other", async () => {
  const state = await api.pricing.readPoolState(pool);
  const [base, quote] = [at(state.tokens, 0), at(state.tokens, 1)];
  const pair = at(state.pairs, 0);
  expect([pair.base, pair.quote]).toEqual([base.symbol, quote.symbol]);
  expect((base.priceUsd ?? 0) / (quote.priceUsd ?? 0) / (pair.baseToQuotePrice ?? 0)).toBeCloseTo(1, 6);
  expect((pair.baseToQuotePrice ?? 0) * (pair.quoteToBasePrice ?? 0)).toBeCloseTo(1, 6);
  expect(((base.tvl ?? 0) * (base.priceUsd ?? 0)) / (base.usdTvl ?? 1)).toBeCloseTo(1, 6);
  expect(((base.usdTvl ?? 0) + (quote.usdTvl ?? 0)) / state.usdTvl).toBeCloseTo(1, 6);
});

test("S48 the ticker has the documented fields", async () => {
  const quote = { price: expect.any(Number), h24UsdVolume: expect.any(Number) };
  const dex = { ...quote, usdTvl: expect.any(Number) };
  expect(await api.pricing.readTicker("ETH/USD")).toEqual({ id: "ETH/USD", aggregated: quote, cex: quote, dex });
});

test("S49 the aggregated price lies between the two sources, and the volume is their sum", async () => {
  const { aggregated, cex, dex } = await api.pricing.readTicker("LINK/USD");
  const prices = [cex?.price ?? 0, dex?.price ?? 0];
  expect(aggregated.price).toBeGreaterThanOrEqual(Math.min(...prices));
  expect(aggregated.price).toBeLessThanOrEqual(Math.max(...prices));
  const sum = (cex?.h24UsdVolume ?? 0) + (dex?.h24UsdVolume ?? 0);
  expect((aggregated.h24UsdVolume ?? 0) / sum).toBeCloseTo(1, 6);
});

test("S53 supported equities have symbol, name, exchange and one of four types", async () => {
  const { data } = await api.pricing.listEquitySymbols();
  const [text, type] = [expect.any(String), expect.stringMatching(/^(stock|fund|etf|trust)$/)];
  for (const entry of data) expect(entry).toEqual({ symbol: text, name: text, exchange: text, type });
  expect(new Set(data.map(({ type }) => type)).size).toBe(4);
});

test("S54 the meta of supported equities counts them and maps regions to exchanges", async () => {
  const { data, meta } = await api.pricing.listEquitySymbols();
  expect(meta?.count).toBe(data.length);
  const exchanges = Object.values(meta?.supportedExchanges ?? {}).flat();
  for (const { exchange } of data) expect(exchanges).toContain(exchange);
});

test("S55 current prices come for one or several equity symbols, exchange-qualified", async () => {
  expect(await api.pricing.readEquityPrices(["AAPL"])).toEqual([{ symbol: "NASDAQ:AAPL", price: expect.any(Number) }]);
  const several = await api.pricing.readEquityPrices(["SPY", "NASDAQ:MSFT", "BRK.B"]);
  expect(several.map(({ symbol }) => symbol)).toEqual(["ARCA:SPY", "NASDAQ:MSFT", "NYSE:BRK.B"]);
});

test("S57 registering an asset answers 200 with the discovered pools and markets", async () => {
  const { state, body } = await register({ catalogId: "new-coin" }, { durationMs: 3000, advanceMs: 3000 });
  expect(state).toBe("added");
  expect(body).toMatchObject({
    data: {
      catalogId: "new-coin",
      symbol: "NEWCOIN",
      pools: expect.arrayContaining([expect.objectContaining({ chainId: "eth", protocol: expect.any(String) })]),
      markets: [{ exchange: expect.any(String), pair: "NEWCOIN/USD" }],
    },
  });
});

test("S58 a registered asset becomes queryable between 30 seconds and 3 minutes later", async () => {
  const startedAt = api.now();
  const { body } = await register({ catalogId: "later-coin" }, { durationMs: 1000, advanceMs: 1000 });
  const { pools } = (body as { data: { pools: { chainId: string; address: string }[] } }).data;
  api.advance(startedAt + 29_999 - api.now());
  await expect(api.pricing.readTicker("LATERCOIN/USD")).rejects.toMatchObject({ code: "upstream_not_found" });
  await expect(api.pricing.readPoolState(at(pools, 0))).rejects.toMatchObject({ code: "upstream_not_found" });
  api.advance(startedAt + 180_000 - api.now());
  expect((await api.pricing.readTicker("LATERCOIN/USD")).dex?.usdTvl).toBeGreaterThan(0);
  expect((await api.pricing.readPoolState(at(pools, 0))).tokens.map(({ symbol }) => symbol)).toContain("LATERCOIN");
});

test("S59 when processing takes more than 20 seconds the answer is 202 and says it is in progress", async () => {
  const { state, body } = await register({ catalogId: "slow-coin" }, { durationMs: 40_000, advanceMs: 20_000 });
  expect(state).toBe("in_progress");
  expect(body).toMatchObject({ message: expect.stringContaining("in progress") });
  api.advance(160_000);
  expect((await api.pricing.readTicker("SLOWCOIN/USD")).id).toBe("SLOWCOIN/USD");
});

test("S60 registering an asset that exists is 409, also while the first is under way", async () => {
  const conflict = { code: "upstream_conflict" };
  await expect(api.pricing.registerAsset({ catalogId: "ethereum" })).rejects.toMatchObject(conflict);
  await register({ catalogId: "twice-coin" }, { durationMs: 30_000, advanceMs: 20_000 });
  await expect(api.pricing.registerAsset({ catalogId: "twice-coin" })).rejects.toMatchObject(conflict);
});

test("S62 a failed catalogue fetch, pool discovery or an internal failure is 500", async () => {
  const times = { durationMs: 5000, advanceMs: 5000 };
  const words = { catalog: "catalogue", pools: "Pool discovery", internal: "Internal" };
  for (const failsAt of ["catalog", "pools", "internal"] as const) {
    const message = expect.stringContaining(words[failsAt]);
    const answer = register({ catalogId: "unlucky-coin" }, { ...times, failsAt });
    await expect(answer).rejects.toMatchObject({ code: "upstream_failed", message });
  }
  const failing = register({ catalogId: "unlucky-coin" }, { ...times, advanceMs: 0, failsAt: "pools" });
  await expect.poll(() => api.sandbox.describe().waiting).toBe(1);
  const again = api.pricing.registerAsset({ catalogId: "unlucky-coin" });
  await expect(again).rejects.toMatchObject({ code: "upstream_conflict" });
  api.advance(5000);
  await expect(failing).rejects.toMatchObject({ code: "upstream_failed" });
  const { state } = await register({ catalogId: "unlucky-coin" }, times);
  expect(state, "what failed can be registered again").toBe("added");
});

test("S63 an asset can be defined by hand with a symbol and a tokenMapping", async () => {
  const address = `0x${"ab".repeat(20)}`;
  const asset = { symbol: "HAND", tokenMapping: { eth: address } };
  const { state } = await register({ asset }, { durationMs: 1000, advanceMs: 1000 });
  expect(state).toBe("added");
  api.advance(180_000);
  expect((await api.pricing.readTicker("HAND/USD")).id).toBe("HAND/USD");
});

test("S64 too many requests for a route and key are 429, and only for these", async () => {
  const limited = await startInterface({ requestsPerMinute: 3 });
  limited.sandbox.accounts.createAccount({ accountName: "Other", key: "key-of-other" });
  const { pricing } = limited;
  for (let request = 0; request < 3; request += 1) await pricing.listEquitySymbols();
  const limit = { code: "upstream_rate_limited", retryAfterMs: 60_000 };
  await expect(pricing.listEquitySymbols()).rejects.toMatchObject(limit);
  await pricing.readTicker("ETH/USD");
  await limited.withKey("key-of-other").pricing.listEquitySymbols();
  limited.advance(60_000);
  await pricing.listEquitySymbols();
  await limited.sandbox.close();
});
