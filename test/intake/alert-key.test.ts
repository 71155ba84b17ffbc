import { describe, expect, it } from "vitest";
import { translateRequest } from "../../src/intake/translate.ts";

function keyOf(payload: unknown): string | undefined {
  const body = typeof payload === "string" ? payload : JSON.stringify(payload);
  return translateRequest(Buffer.from(body), undefined)[0]?.facts.alertKey;
}

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
    [
      "metric and threshold",
      { metric: "eth_tvl", threshold: 5, value: 3, timestamp: 1795219200, message: "eth_tvl is 3" },
      {
        metric: "eth_tvl",
        threshold: 5,
        value: 6,
        timestamp: 1795219260,
        message: "eth_tvl is 6",
        status: "resolved",
      },
    ],
    ["the metric alone", { metric: "eth_tvl", value: 3 }, { metric: "eth_tvl", value: 6 }],
    [
      "the title",
      { title: "[FIRING:1] TVL fell", status: "firing", text: "a" },
      { title: "[RESOLVED] TVL fell", status: "resolved", text: "b" },
    ],
    [
      "a title with its reading",
      { title: "TVL is 3.25 now", value: 3.25, status: "firing" },
      { title: "TVL is 7.5 now", value: 7.5, status: "ok" },
    ],
    ["a text's first line", "[ALERTING] TVL fell", "[OK] TVL fell"],
  ])("stays the same when a thing fires and resolves, by %s", (_, firing, resolved) => {
    expect(keyOf(firing)).toBe(keyOf(resolved));
  });

  it.each([
    ["tokens under one rule", { ruleId: 5, token: "ETH" }, { ruleId: 5, token: "BTC" }],
    ["thresholds on one metric", { metric: "eth_tvl", threshold: 5 }, { metric: "eth_tvl", threshold: 6 }],
    ["hosts with one metric", { metric: "cpu", host: "a", value: 1 }, { metric: "cpu", host: "b", value: 1 }],
    [
      "texts under one title",
      { title: "Price alert", text: "ETH above 3000" },
      { title: "Price alert", text: "BTC above 9" },
    ],
    [
      "messages about one metric",
      { metric: "tvl", message: "Pool A drained" },
      { metric: "tvl", message: "Pool B drained" },
    ],
    [
      "pools under one title",
      { title: "Drained", status: "firing", pool: { address: "0x1" } },
      { title: "Drained", status: "firing", pool: { address: "0x2" } },
    ],
    ["unknown members under one title", { title: "Drained", vault: "a" }, { title: "Drained", vault: "b" }],
    ["limits in a title", "ETH crossing 3000", "ETH crossing 4000"],
    [
      "transfers under one rule",
      { rule: { name: "Big transfer" }, tx: "0x1" },
      { rule: { name: "Big transfer" }, tx: "0x2" },
    ],
    [
      "labels of one alert name",
      { labels: { alertname: "A", shard: "1" }, status: "firing" },
      { labels: { alertname: "A", shard: "2" }, status: "firing" },
    ],
  ])("tells apart two %s", (_, one, other) => {
    expect(keyOf(one)).not.toBe(keyOf(other));
  });

  it("cannot be forged by a title, and stays short", () => {
    expect(keyOf({ title: "fingerprint:f1" })).not.toBe(keyOf({ fingerprint: "f1" }));
    expect(keyOf({ fingerprint: "f".repeat(5_000) })?.length).toBeLessThanOrEqual(200);
    expect(keyOf({ fingerprint: `${"f".repeat(5_000)}1` })).not.toBe(
      keyOf({ fingerprint: `${"f".repeat(5_000)}2` }),
    );
  });

  it("of an alert in a group is not the group's", () => {
    const group = { groupKey: "g", alerts: [{ labels: { alertname: "A" } }, { labels: { alertname: "B" } }] };
    const keys = translateRequest(Buffer.from(JSON.stringify(group)), undefined).map(
      ({ facts }) => facts.alertKey,
    );
    expect(new Set(keys).size).toBe(2);
  });
});
