import { describe, expect, test } from "vitest";
import { Catalogue } from "../../workshop/service/catalogue.ts";
import { Market, parseGranularity } from "../../workshop/service/market.ts";
import { startAt } from "./service-fixture.ts";

const catalogue = new Catalogue({ seed: 1, metricCount: 2000 });
const market = new Market({ speed: 1, nudges: () => [] });
const allOf = (chainId: string) => catalogue.listMetrics(chainId, {}, 0, 10_000) ?? [];

describe("the catalogue", () => {
  test("has exactly as many metrics as asked for, each under a key of its own that finds it again", () => {
    for (const metricCount of [100, 1003, 2000]) {
      const some = new Catalogue({ seed: 7, metricCount });
      const metrics = some.chainIds.flatMap((chainId) => some.listMetrics(chainId, {}, 0, 10_000) ?? []);
      expect(new Set(metrics.map(({ key }) => key)).size).toBe(metricCount);
      for (const metric of metrics) expect(some.findMetric(metric.key)?.key).toBe(metric.key);
    }
  });

  test("is the same for the same seed and another for another", () => {
    const keys = (seed: number) =>
      new Catalogue({ seed, metricCount: 200 }).listMetrics("eth", {}, 0, 10)?.map(({ key }) => key);
    expect(keys(3)).toEqual(keys(3));
    expect(keys(3)).not.toEqual(keys(4));
  });

  test.each(["eth", "eth_", "_", "", "eth_token_total_tvl_", "eth_token_total_tvl_0x00", "sol_token_price_0x1"])(
    "finds nothing under the key %j",
    (key) => {
      expect(catalogue.findMetric(key)).toBeUndefined();
    },
  );
});

describe("the market", () => {
  test("is a function of time alone, and moves", () => {
    const [metric] = allOf("eth");
    if (!metric) throw new Error("no metric");
    const again = new Market({ speed: 1, nudges: () => [] });
    expect(again.metricValue(metric, startAt)).toBe(market.metricValue(metric, startAt));
    expect(market.metricValue(metric, startAt + 60_000)).not.toBe(market.metricValue(metric, startAt));
  });

  test("every value is positive and finite, and stable tokens stay near their price", () => {
    for (const metric of allOf("base")) {
      for (let hour = 0; hour < 48; hour += 5) {
        const value = market.metricValue(metric, startAt + hour * 3_600_000);
        expect(value).toBeGreaterThan(0);
        expect(Number.isFinite(value)).toBe(true);
        if (metric.kind === "token_price" && metric.token.isStable) expect(value).toBeCloseTo(1, 1);
      }
    }
  });
});

describe("a granularity", () => {
  test.each([
    ["5m", 300_000],
    ["1h", 3_600_000],
    ["1d", 86_400_000],
    ["7d", 604_800_000],
  ])("is read from %s", (text, ms) => {
    expect(parseGranularity(text)).toBe(ms);
  });

  test.each(["", "0m", "h", "5", "1.5h", "8d", "2w", "-1h", "5 m", "1y"])("is not %j", (text) => {
    expect(parseGranularity(text)).toBeUndefined();
  });
});
