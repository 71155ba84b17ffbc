import { describe, expect, it } from "vitest";
import { readFacts, translate } from "./describe-facts.ts";

const keyOf = (payload: unknown) => readFacts(payload).alertKey;
const ofPool = (state: string, value: string, before: string) =>
  `${state} kite988 on arbitrum: pool TVL ${value} USD (above 53470), before ${before}`;
const ofChange = (state: string, price: string, before: string) =>
  `${state} WETH on eth: price ${price} USD (moved 0.8 % or more), before ${before}`;
const ofTvl = (value: string, before: string) => `TVL of USDC on eth is ${value}M, was ${before}M, threshold 5M`;
const ofMonitor = (is: "Down" | "Up", alertDetails: string) => ({
  ...{ monitorID: "7", monitorFriendlyName: "quotes", alertTypeFriendlyName: is, alertDetails },
});
const ofMetric = (value: number, timestamp: number, more: object = {}) => ({
  ...{ metric: "eth_tvl", threshold: 5, value, timestamp, message: `eth_tvl is ${value}`, ...more },
});
const inText = (value: string, before: string) => ({
  ...{ title: "USDC TVL below 25000000", text: `It is ${value} USD, was ${before}` },
});
const drained = (more: object) => ({ title: "Drained", status: "firing", ...more });
const inTitle = (title: string, value: number, status: string) => ({ title, value, status });
const labelled = (shard: string) => ({ labels: { alertname: "A", shard }, status: "firing" });
const resolved = { status: "resolved" };

describe("the alert key", () => {
  it.each([
    [{ fingerprint: "f1", title: "x" }, "fingerprint:f1"],
    [{ payload: { dedup_key: "d1" }, title: "x" }, "dedupkey:d1"],
    [{ incident: { id: 9 }, title: "x" }, "incident.id:9"],
    [{ title: "x", groupKey: "g1" }, "groupkey:g1"],
  ])("is the sender's own in %j", (payload, key) => {
    expect(keyOf(payload)).toBe(key);
  });

  it.each([
    ["a fingerprint", { fingerprint: "f", title: "TVL fell" }, { fingerprint: "f", title: "All good" }],
    [
      "a rule",
      { ruleId: 5, token: "ETH", value: 1, status: "firing" },
      { ruleId: 5, token: "ETH", value: 9, status: "ok" },
    ],
    ["metric and threshold", ofMetric(3, 1795219200), ofMetric(6, 1795219260, resolved)],
    ["a monitor of UptimeRobot", ofMonitor("Down", "Timeout"), ofMonitor("Up", "OK")],
    ["the metric alone", { metric: "eth_tvl", value: 3 }, { metric: "eth_tvl", value: 6 }],
    [
      "the title",
      { title: "[FIRING:1] TVL fell", text: "a" },
      { title: "[RESOLVED] TVL fell", ...resolved, text: "b" },
    ],
    ["a title with its reading", inTitle("TVL is 3.25 now", 3.25, "firing"), inTitle("TVL is 7.5 now", 7.5, "ok")],
    ["a text's first line", "[ALERTING] TVL fell", "[OK] TVL fell"],
    ["a sentence", ofPool("CRITICAL", "54563.484", "52763.04"), ofPool("RESOLVED", "52000.1", "54563.484")],
    ["a sentence about a change", ofChange("WARNING", "3200.12", "3100"), ofChange("RESOLVED", "3100", "3200.12")],
    [
      "a limit that is crossed back",
      "ETH crossed above $4,000 (now $4,012.3)",
      "RESOLVED: ETH back below $4,000 (now $3,990)",
    ],
    ["it without a value", "ETH price crossed above $4,000", "✅ Resolved: ETH price is back below $4,000"],
    ["a threshold without a side", ofTvl("3.2", "4"), `[OK] ${ofTvl("5.2", "3.2")}`],
    [
      "its title, acknowledged meanwhile",
      { title: "TVL of GHO is 1.09, below 1.1", status: "acknowledged" },
      { title: "TVL of GHO is 1.2, below 1.1", ...resolved },
    ],
    ["words at the end", "[FIRING] ETH RPC", "ETH RPC has recovered"],
    ["a status and what differs", "[FIRING] 5.2% errors on rpc-2 at 21:35", "[OK] 0.1% errors on rpc-2 at 21:41"],
  ])("stays the same when a thing fires and resolves, by %s", (_, firing, resolved) => {
    expect(keyOf(firing)).toBe(keyOf(resolved));
  });

  it.each([
    ["tokens under one rule", { ruleId: 5, token: "ETH" }, { ruleId: 5, token: "BTC" }],
    ["thresholds on one metric", { metric: "eth_tvl", threshold: 5 }, { metric: "eth_tvl", threshold: 6 }],
    ["hosts with one metric", { metric: "cpu", host: "a", value: 1 }, { metric: "cpu", host: "b", value: 1 }],
    ["texts under one title", { title: "Price", text: "ETH above 3000" }, { title: "Price", text: "BTC above 9" }],
    [
      "messages about a metric",
      { metric: "tvl", message: "Pool A drained" },
      { metric: "tvl", message: "Pool B drained" },
    ],
    ["pools under one title", drained({ pool: { address: "0x1" } }), drained({ pool: { address: "0x2" } })],
    ["unknown members under one title", { title: "Drained", vault: "a" }, { title: "Drained", vault: "b" }],
    ["limits in a title", "ETH crossing 3000", "ETH crossing 4000"],
    [
      "transfers under one rule",
      { rule: { name: "Big transfer" }, tx: "0x1" },
      { rule: { name: "Big transfer" }, tx: "0x2" },
    ],
    ["labels of one alert name", labelled("1"), labelled("2")],
  ])("tells apart two %s", (_, one, other) => {
    expect(keyOf(one)).not.toBe(keyOf(other));
  });

  it.each([
    ["values as in Europe", "FIRING: ETH auf 3.912,20 € (unter 4.000 €)", "FIRING: ETH auf 3.802,10 € (unter 4.000 €)"],
    ["values behind a colon", "TVL of USDC: 24.3M", "TVL of USDC: 23.9M"],
    ["values in a sentence", ofPool("CRITICAL", "54563.484", "52763.04"), ofPool("WARNING", "1.2e5", "99")],
    [
      "values in a title",
      { title: "TVL is 24318772.10, below 25000000" },
      { title: "TVL is 24000001, below 25000000" },
    ],
    ["values in a text below the title", inText("24318772.10", "25.1M"), inText("24318000.00", "25.3M")],
    ["a share", "Utilisation of DAI is 95.3 % (above 95 %)", "Utilisation of DAI is 97 % (above 95 %)"],
    ["a change", "ONYX504 TVL down 8.2% to 18.6k", "ONYX504 TVL down 9.1% to 17.2k"],
    [
      "times and counters",
      "[FIRING] disk 91% for 5m at 21:35 (2nd time)",
      "[FIRING] disk 92% for 10m at 21:40 (3rd time)",
    ],
    ["a block", "Oracle lag on base is 312 s at block 19283746", "Oracle lag on base is 400 s at block 19283999"],
  ])("stays the same at other numbers: %s", (_, one, other) => {
    expect(keyOf(one)).toBe(keyOf(other));
  });

  it.each([
    ["pools by a number", "Pool 3 TVL is 5M below 6M", "Pool 4 TVL is 5M below 6M"],
    ["pools by their fee", "USDC/WETH 0.05% price 3 above 2", "USDC/WETH 0.3% price 3 above 2"],
    ["vaults by a long number", "Vault 12,001 ratio 150% below 160%", "Vault 12,002 ratio 150% below 160%"],
    ["strikes", "FIRING: ETH near strike 4,000", "FIRING: ETH near strike 5,000"],
    ["expiries", "2026-11-28 expiry: open interest 5M above 4M", "2026-12-25 expiry: open interest 5M above 4M"],
    ["symbols with digits", "kite988 on eth: price 3 USD (above 2)", "kite989 on eth: price 3 USD (above 2)"],
    ["hosts", "[FIRING] 5.2% errors on rpc-2", "[FIRING] 5.2% errors on rpc-3"],
    ["chains", "TVL of USDC on eth is 3M, threshold 5M", "TVL of USDC on base is 3M, threshold 5M"],
    ["windows", "USDC 24h volume is 3M below 5M", "USDC 7d volume is 3M below 5M"],
    ["limits in a sentence", "ETH price is 3990 below 4000", "ETH price is 3490 below 3500"],
    ["sides of one limit", "ETH price 3990 (below 4000)", "ETH price 4010 (above 4000)"],
    ["limits of a change", "FIRING: ETH price moved 0.8 % or more", "FIRING: ETH price moved 2.5 % or more"],
    [
      "transfers, which have no end",
      "CRITICAL: Large transfer: 5,000,000 USDC",
      "CRITICAL: Large transfer: 9,000,000 USDC",
    ],
    ["ranges", "[FIRING] price outside 0.98 and 1.02", "[FIRING] price outside 0.95 and 1.05"],
    ["bare numbers", "[FIRING] 5%", "[FIRING] 6%"],
  ])("tells apart by what a sentence names: %s", (_, one, other) => {
    expect(keyOf(one)).not.toBe(keyOf(other));
  });

  it("of a payload that names its rule or metric is made as it always was", () => {
    const flat = {
      eventId: "evt_1",
      title: "USDC total TVL: below 25000000",
      subscriptionId: "sub_1",
      metricKey: "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
      tokenSymbol: "USDC",
      chain: "eth",
      condition: "below",
      value: 24318772.1,
      threshold: 25000000,
      status: "firing",
    };
    expect(keyOf({ ruleId: 5, token: "ETH", title: "ETH is 4012.3 above 4000", status: "firing" })).toBe(
      "rule:ruleid=5|ETH",
    );
    expect(keyOf(flat)).toBe(keyOf({ ...flat, value: 1, title: "another" }));
    expect(keyOf({ metric: "eth_tvl", threshold: 5, value: 3 })).toBe("metric:eth_tvl|threshold=5");
    expect(keyOf({ title: "[FIRING] TVL fell", token: "USDC", status: "firing" })).toBe("title:tvl fell|USDC");
    expect(keyOf({ ticker: "ETH/USD", price: 2999.99, limit: 3000, state: "firing" })).toBe(
      "title:eth/usd is …, threshold 3000|ETH/USD",
    );
  });

  it("cannot be forged by a title, and stays short", () => {
    expect(keyOf({ title: "fingerprint:f1" })).not.toBe(keyOf({ fingerprint: "f1" }));
    expect(keyOf({ fingerprint: "f".repeat(5_000) }).length).toBeLessThanOrEqual(200);
    expect(keyOf({ fingerprint: `${"f".repeat(5_000)}1` })).not.toBe(keyOf({ fingerprint: `${"f".repeat(5_000)}2` }));
  });

  it("of an alert in a group is not the group's", () => {
    const group = { groupKey: "g", alerts: [{ labels: { alertname: "A" } }, { labels: { alertname: "B" } }] };
    const keys = translate(group).map(({ facts }) => facts.alertKey);
    expect(new Set(keys).size).toBe(2);
  });
});
