import { describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createPricingClient, type PricingClientOptions } from "../../src/upstream/pricing-client.ts";
import { type FakeAnswer, type SeenRequest, startFakeService } from "./fake-service.ts";

async function setUp(answer: (request: SeenRequest) => FakeAnswer, overrides: Partial<PricingClientOptions> = {}) {
  const service = await startFakeService(answer);
  const client = createPricingClient({
    url: service.url,
    apiKey: new Secret("price-key"),
    sleep: async () => {},
    ...overrides,
  });
  return { client, seen: service.seen };
}

const pool = {
  chainId: "eth",
  address: "0xAb",
  protocol: "uniswap_v3",
  usdTvl: 1.5,
  h24UsdVolume: 2,
  tokens: [
    { symbol: "A", address: "0x1", decimals: 18, tvl: 1, usdTvl: 1, h24Volume: 1, h24UsdVolume: 1, priceUsd: null },
  ],
  pairs: [{ base: "A", quote: "B", baseToQuotePrice: 1, quoteToBasePrice: 1, h24UsdVolume: 1 }],
};

describe("pool state and ticker", () => {
  it("send x-api-key and read the documented object", async () => {
    const { client, seen } = await setUp(() => ({ json: { data: pool } }));
    expect(await client.readPoolState({ chainId: "eth", address: "0xAb" })).toEqual(pool);
    expect(seen[0]?.target).toBe("/v1/pools/state?address=0xAb&chainId=eth");
    expect(seen[0]?.headers["x-api-key"]).toBe("price-key");
    expect(seen[0]?.headers.authorization).toBeUndefined();
  });

  it("read a ticker that trades in one kind of market only", async () => {
    const data = {
      id: "A/USD",
      aggregated: { price: 2, h24UsdVolume: 1 },
      dex: { price: 2, h24UsdVolume: 1, usdTvl: 9 },
    };
    const { client, seen } = await setUp(() => ({ json: { data } }));
    expect(await client.readTicker("A/USD")).toEqual(data);
    expect(seen[0]?.query).toEqual({ symbol: "A/USD" });
  });

  it.each<[string, FakeAnswer, object]>([
    [
      "refuse a price that is no number",
      { json: { data: { id: "A/USD", aggregated: { price: "2" } } } },
      { code: "upstream_bad_answer", message: expect.stringContaining("data.aggregated.price: expected number") },
    ],
    [
      "name the pricing key when it is refused",
      { status: 403, json: { message: "Forbidden" } },
      { code: "upstream_forbidden", hint: expect.stringContaining("PRICING_API_KEY") },
    ],
  ])("%s", async (_what, answer, error) => {
    const { client } = await setUp(() => answer);
    await expect(client.readTicker("A/USD")).rejects.toMatchObject(error);
  });
});

describe("equities", () => {
  it("read symbols with their meta, also of a type that is new", async () => {
    const answer = {
      data: [{ symbol: "AAPL", name: "Apple Inc.", exchange: "XNAS", type: "warrant" }],
      meta: { count: 1, supportedExchanges: { US: ["XNAS"] } },
    };
    const { client, seen } = await setUp(() => ({ json: answer }));
    expect(await client.listEquitySymbols()).toEqual(answer);
    expect(seen[0]?.target).toBe("/v1/equities/symbols");
  });

  it.each([
    ["a list under data", { data: [{ symbol: "AAPL", price: 1.5 }] }],
    ["one entry under data", { data: { symbol: "AAPL", price: 1.5 } }],
    ["a bare list", [{ symbol: "AAPL", price: 1.5 }]],
    ["a bare entry", { symbol: "AAPL", price: 1.5 }],
  ])("read prices from %s", async (_name, json) => {
    const { client, seen } = await setUp(() => ({ json }));
    expect(await client.readEquityPrices(["AAPL", "B F.B"])).toEqual([{ symbol: "AAPL", price: 1.5 }]);
    expect(seen[0]?.target).toBe("/v1/equities/price?symbols=AAPL,B%20F.B");
  });

  it("say what was expected of an answer that holds no prices", async () => {
    const { client } = await setUp(() => ({ json: { data: { AAPL: 1 } } }));
    await expect(client.readEquityPrices(["AAPL"])).rejects.toMatchObject({
      code: "upstream_bad_answer",
      message: expect.stringContaining("expected entries with symbol and price"),
    });
  });

  it("ask where the setting says", async () => {
    const { client, seen } = await setUp(() => ({ json: { data: [] } }), {
      equitiesPricePath: "/v2/equities/{symbols}/last",
    });
    await client.readEquityPrices(["AAPL", "MSFT"]);
    expect(seen[0]?.target).toBe("/v2/equities/AAPL,MSFT/last");
  });
});

describe("registering an asset", () => {
  it.each([
    [200, "added"],
    [202, "in_progress"],
  ])("a %i is %s", async (status, state) => {
    const { client, seen } = await setUp(() => ({ status, json: { message: "m" } }));
    expect(await client.registerAsset({ catalogId: "tether" })).toEqual({ state, body: { message: "m" } });
    expect(seen).toMatchObject([{ method: "POST", target: "/v1/assets", body: '{"catalogId":"tether"}' }]);
  });

  it("reads an answer without a body", async () => {
    const { client } = await setUp(() => ({ status: 202, text: "" }));
    expect(await client.registerAsset({ catalogId: "x" })).toEqual({ state: "in_progress", body: null });
  });

  it.each<[string, FakeAnswer, string]>([
    ["a 409", { status: 409, json: { message: "m" } }, "upstream_conflict"],
    ["a 400", { status: 400, json: { message: "m" } }, "upstream_rejected"],
    ["a 500", { status: 500, json: { message: "m" } }, "upstream_failed"],
    ["an answer that is lost", "reset", "upstream_unreachable"],
  ])("is not sent again after %s", async (_what, answer, code) => {
    const { client, seen } = await setUp(() => answer);
    await expect(client.registerAsset({ catalogId: "x" })).rejects.toMatchObject({ code });
    expect(seen).toHaveLength(1);
  });
});
