import { afterAll, beforeAll, expect, test } from "vitest";
import { at, type InterfaceFixture, startInterface, testRefusals, textOf } from "./interface-fixture.ts";

/** The alerting interface's catalogue: endpoints 4.8, 4.9 and 4.10, and their limits. */

const hourMs = 3_600_000;

let api: InterfaceFixture;
/** Of the first metric. */
let key: string;
beforeAll(async () => {
  api = await startInterface({ metricCount: 50_000 });
  key = at(keysOf(await page({})), 0);
});
afterAll(() => api.sandbox.close());

const page = (query: object) => api.alerting.listMetrics({ chainId: "eth", page: 1, ...query });
const keysOf = (metrics: object[]) => metrics.map((metric) => textOf(metric, "key"));
const get = (path: string) => api.call(`${api.sandbox.alertingUrl}${path}`);

testRefusals(get, [
  ["S26 chainId is required for metrics", ["/metrics?page=1"], "chainId is required"],
  [
    "S27 page is required for metrics",
    ["", "&page=x", "&page=-1", "&page=1.5", "&page="].map((wrong) => `/metrics?chainId=eth${wrong}`),
    "page",
  ],
  ["S36 key is required for history", ["/metrics/records/range"]],
  ["S40 chainId is required for tokens", ["/tokens"]],
]);

test("S24 the catalogue has tens of thousands of metrics, each under a key of its own", async () => {
  const keys = new Set<string>();
  let pages = 0;
  for (const chainId of ["eth", "arbitrum", "bsc", "base", "polygon"])
    for await (const { items } of api.alerting.walkMetrics({ chainId })) {
      expect(items).toHaveLength(100);
      pages += 1;
      for (const item of items) keys.add(textOf(item, "key"));
    }
  expect([keys.size, pages]).toEqual([50_000, 500]);
});

test("S25 a metric key has the shape that is shown", async () => {
  for (const chainId of ["eth", "polygon"]) {
    const shown = (await page({ chainId })).filter(({ type }) => type === "token_total_tvl");
    expect(shown.length).toBeGreaterThan(10);
    for (const metric of shown)
      expect(textOf(metric, "key")).toBe(`${chainId}_token_total_tvl_${textOf(metric, "tokenAddress")}`);
  }
});

test("S28 a page has at most 100 metrics, and the next one goes on", async () => {
  const first = keysOf(await page({}));
  const second = keysOf(await page({ page: 2 }));
  expect([first.length, second.length]).toEqual([100, 100]);
  expect(new Set([...first, ...second]).size).toBe(200);
});

test.each([
  ["S29 tokenAddresses selects the metrics that relate to the tokens", "token", 0, 5],
  ["S30 poolAddresses selects the metrics that relate to the pools", "pool", 2, 3],
])("%s", async (_statement, kind, index, count) => {
  const address = textOf(at(await page({ page: 3 }), index), `${kind}Address`);
  const found = await page({ [`${kind}Addresses`]: [address] });
  expect(found.length).toBeGreaterThanOrEqual(count);
  for (const metric of found) expect(textOf(metric, `${kind}Address`)).toBe(address);
});

test("S31 keys selects the metrics with the keys", async () => {
  const wanted = [at(keysOf(await page({})), 7), at(keysOf(await page({ page: 9 })), 99)];
  expect(keysOf(await page({ keys: wanted }))).toEqual(wanted);
});

test("S32 tokens, pools and keys combine with OR", async () => {
  const [one, two, three] = [await page({ page: 20 }), await page({ page: 21 }), await page({ page: 22 })];
  const tokenAddresses = [textOf(at(one, 0), "tokenAddress")];
  const poolAddresses = [textOf(at(two, 2), "poolAddress")];
  const keys = [textOf(at(three, 1), "key")];
  const alone = await Promise.all([page({ tokenAddresses }), page({ poolAddresses }), page({ keys })]);
  const together = keysOf(await page({ tokenAddresses, poolAddresses, keys }));
  expect(new Set(together)).toEqual(new Set(alone.flatMap(keysOf)));
  expect(together.length).toBe(alone.flat().length);
});

test("S33 list parameters carry comma-separated values", async () => {
  const [first, second] = keysOf(await page({}));
  const { body } = await get(`/metrics?chainId=eth&page=1&keys=${first},${second}`);
  expect(keysOf((body as { data: object[] }).data)).toEqual([first, second]);
});

test("S34 addresses are lower case in answers and in lists", async () => {
  const address = textOf(at(await page({}), 0), "tokenAddress");
  expect(address).toBe(address.toLowerCase());
  const upper = address.toUpperCase().replace("0X", "0x");
  const raw = await get(`/metrics?chainId=eth&page=1&tokenAddresses=${upper}`);
  expect(raw.body, "the interface asks for lower case").toEqual({ data: [] });
  expect((await page({ tokenAddresses: [upper] })).length, "the client lowers them").toBeGreaterThan(0);
});

test("S35 history has the key and points of a Unix timestamp and a value", async () => {
  const { body } = await get(`/metrics/records/range?key=${key}`);
  const { data } = body as { data: { key: string; points: { timestamp: number; value: number }[] } };
  expect(data.key).toBe(key);
  expect(data.points.length).toBeGreaterThan(100);
  const last = at(data.points, data.points.length - 1);
  expect(Object.keys(last)).toEqual(["timestamp", "value"]);
  expect(last.timestamp * 1000).toBe(api.now());
});

test("S37 fromTimestamp and toTimestamp bound the records on both sides", async () => {
  const [fromAt, toAt] = [api.now() - 5 * hourMs, api.now() - 3 * hourMs];
  const ends = async (bounds: { fromAt?: number; toAt?: number }) => {
    const { points } = await api.alerting.readHistory({ key, ...bounds });
    return [points.at(0)?.at, points.at(-1)?.at];
  };
  expect(await ends({ fromAt, toAt })).toEqual([fromAt, toAt]);
  expect((await ends({ fromAt }))[0]).toBe(fromAt);
  expect((await ends({ toAt }))[1]).toBe(toAt);
});

test("S38 with a granularity, points are the averages of the records per bucket", async () => {
  const fromAt = api.now() - 4 * hourMs;
  const records = (await api.alerting.readHistory({ key, fromAt })).points;
  const buckets = (await api.alerting.readHistory({ key, fromAt, granularity: "1h" })).points;
  expect(buckets).toHaveLength(5);
  for (const bucket of buckets) {
    const within = records.filter(({ at: when }) => when >= bucket.at && when < bucket.at + hourMs);
    const average = within.reduce((sum, { value }) => sum + (value ?? 0), 0) / within.length;
    expect((bucket.value ?? 0) / average).toBeCloseTo(1, 6);
  }
});

test("S39 history covers up to 7 days", async () => {
  const { points } = await api.alerting.readHistory({ key, fromAt: api.now() - 30 * 24 * hourMs });
  expect(at(points, 0).at).toBe(api.now() - 7 * 24 * hourMs);
});

test("S41 without addresses all tokens of the chain are returned", async () => {
  const tokens = await api.alerting.listTokens({ chainId: "eth" });
  expect(tokens.length).toBeGreaterThan(1000);
  for (const token of tokens) expect(textOf(token, "chainId")).toBe("eth");
});

test("S42 with addresses only the matching tokens are returned", async () => {
  const tokens = await api.alerting.listTokens({ chainId: "eth" });
  const addresses = [textOf(at(tokens, 3), "address"), textOf(at(tokens, 1500), "address")];
  const some = await api.alerting.listTokens({ chainId: "eth", addresses });
  expect(some.map((token) => textOf(token, "address"))).toEqual(addresses);
  expect(await api.alerting.listTokens({ chainId: "eth", addresses: [`0x${"0".repeat(40)}`] })).toEqual([]);
});
