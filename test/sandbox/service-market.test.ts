import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createCatalogue } from "../../src/sandbox/service/catalogue.ts";
import { averageByBucket, createMarket, listRecords, parseGranularity } from "../../src/sandbox/service/market.ts";
import { startAt } from "./service-fixture.ts";

const catalogue = createCatalogue({ seed: 1, metricCount: 2000 });
const market = createMarket({ speed: 1, nudges: () => [] });
const allOf = (chainId: string) => catalogue.listMetrics(chainId, {}, 0, 10_000) ?? [];

describe("the catalogue", () => {
  test("has exactly as many metrics as asked for, each under a key of its own that finds it again", () => {
    for (const metricCount of [100, 1003, 2000]) {
      const some = createCatalogue({ seed: 7, metricCount });
      const metrics = some.chainIds.flatMap((chainId) => some.listMetrics(chainId, {}, 0, 10_000) ?? []);
      expect(new Set(metrics.map(({ key }) => key)).size).toBe(metricCount);
      for (const metric of metrics) expect(some.findMetric(metric.key)?.key).toBe(metric.key);
    }
  });

  test("is the same for the same seed and another for another", () => {
    const keys = (seed: number) =>
      createCatalogue({ seed, metricCount: 200 })
        .listMetrics("eth", {}, 0, 10)
        ?.map(({ key }) => key);
    expect(keys(3)).toEqual(keys(3));
    expect(keys(3)).not.toEqual(keys(4));
  });

  test("a filter selects the union of what each part selects alone, without repeats, page by page", () => {
    const metrics = allOf("eth");
    const tokens = [...new Set(metrics.map(({ token }) => token.address))];
    const pools = [...new Set(metrics.flatMap(({ pool }) => pool?.address ?? []))];
    const keys = metrics.map(({ key }) => key);
    const some = (list: string[]) => fc.subarray(list, { maxLength: 4 });
    fc.assert(
      fc.property(some(tokens), some(pools), some(keys), (tokenAddresses, poolAddresses, wanted) => {
        const filter = { tokenAddresses, poolAddresses, keys: wanted };
        const expected = metrics.filter(
          ({ key, token, pool }) =>
            wanted.includes(key) ||
            (pool !== undefined && poolAddresses.includes(pool.address)) ||
            tokenAddresses.includes(token.address) ||
            (pool !== undefined && tokenAddresses.includes(pool.quote.address)),
        );
        const paged = [];
        for (let offset = 0; ; offset += 7) {
          const page = catalogue.listMetrics("eth", filter, offset, 7) ?? [];
          if (page.length === 0) break;
          paged.push(...page);
        }
        expect(paged.map(({ key }) => key)).toEqual(expected.map(({ key }) => key));
      }),
      { numRuns: 50 },
    );
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
    const again = createMarket({ speed: 1, nudges: () => [] });
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

  test("jumps now and then, and not all the time", () => {
    const metric = allOf("eth").find(({ kind }) => kind === "token_price");
    if (!metric) throw new Error("no metric");
    let jumps = 0;
    for (let minute = 0; minute < 7 * 1440; minute += 1) {
      const at = startAt + minute * 60_000;
      if (Math.abs(market.metricValue(metric, at + 60_000) / market.metricValue(metric, at) - 1) > 0.03) jumps += 1;
    }
    expect(jumps).toBeGreaterThan(5);
    expect(jumps).toBeLessThan(500);
  });
});

describe("history", () => {
  const metric = allOf("eth")[0];
  if (!metric) throw new Error("no metric");

  test("ends with what the metric was worth, and covers seven days", () => {
    const records = listRecords(market, metric, { now: startAt });
    expect(records).toHaveLength((7 * 24 * 60) / 5 + 1);
    expect(records.at(-1)).toEqual({ at: startAt, value: market.metricValue(metric, startAt) });
  });

  test("an average loses no record, whatever the bucket", () => {
    const records = listRecords(market, metric, { now: startAt });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_080 }), (minutes) => {
        const bucketMs = minutes * 60_000;
        const buckets = averageByBucket(records, bucketMs);
        const weighed = buckets.reduce((sum, { at, value }) => {
          const count = records.filter((record) => record.at >= at && record.at < at + bucketMs).length;
          return sum + value * count;
        }, 0);
        const total = records.reduce((sum, { value }) => sum + value, 0);
        expect(weighed / total).toBeCloseTo(1, 6);
        expect(new Set(buckets.map(({ at }) => at)).size).toBe(buckets.length);
      }),
      { numRuns: 20 },
    );
  });

  test.each([
    ["5m", 300_000],
    ["1h", 3_600_000],
    ["1d", 86_400_000],
    ["7d", 604_800_000],
  ])("reads the granularity %s", (text, ms) => {
    expect(parseGranularity(text)).toBe(ms);
  });

  test.each(["", "0m", "h", "5", "1.5h", "8d", "2w", "-1h", "5 m", "1y"])("refuses the granularity %j", (text) => {
    expect(parseGranularity(text)).toBeUndefined();
  });
});
