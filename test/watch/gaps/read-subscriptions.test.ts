import { describe, expect, it } from "vitest";
import { readSubscriptions } from "../../../src/watch/gaps/read-subscriptions.ts";

const key = "eth_token_price_0x00aa11bb22cc33dd44ee55ff66aa77bb88cc99dd";

const readOne = (subscription: unknown, metric: unknown = { key }) => readSubscriptions([{ subscription, metric }]);

describe("what subscriptions are called by services", () => {
  const windowMs = 900_000;
  const change = { kind: "change", windowMs };
  it.each<[string, unknown, object]>([
    ["the sandbox's form", { condition: { kind: "above", threshold: 3300 } }, { kind: "above", threshold: 3300 }],
    ["below", { condition: { kind: "below", threshold: "12.5" } }, { kind: "below", threshold: 12.5 }],
    ["an operator", { operator: ">=", value: 3300 }, { kind: "above", threshold: 3300 }],
    ["words for an operator", { type: "PRICE_LESS_THAN", targetValue: "3,300" }, { kind: "below", threshold: 3300 }],
    ["a bound by its name", { bounds: { upper: 4000 } }, { kind: "above", threshold: 4000 }],
    ["a phrase", { rule: "price > $3,300.50" }, { kind: "above", threshold: 3300.5 }],
    ["a change", { condition: { kind: "change_percent", percent: 2.5, windowMs } }, { ...change, threshold: 2.5 }],
    ["a change with its window in words", { type: "pct_change", percentage: 5, window: "15m" }, change],
  ])("%s", (_what, subscription, expected) => {
    const { rules, unread } = readOne({ id: "sub_1", ...(subscription as object) });
    expect(unread).toEqual([]);
    expect(rules).toEqual([
      expect.objectContaining({ name: "sub_1", metricKey: key, from: "subscription", ...expected }),
    ]);
  });

  it("takes both bounds of one subscription as two rules", () => {
    const { rules } = readOne({ id: "s", upper: 10, lower: 5 });
    expect(rules.map(({ kind, threshold }) => `${kind} ${threshold}`)).toEqual(["above 10", "below 5"]);
  });

  it("finds the key by its form, and takes the metric's present value for no threshold", () => {
    const { rules } = readOne({ id: 7, metricRef: key, op: "gt", limit: 2 }, { value: 1, threshold: 9 });
    expect(rules).toMatchObject([{ name: "7", metricKey: key, kind: "above", threshold: 2 }]);
  });

  it("finds the key of a token without an address of that form, and takes a named condition for no pair of name and value", () => {
    const solana = "solana_token_price_EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
    const condition = { name: "too high", operator: ">", value: 2 };
    const { rules } = readOne({ metricRef: solana, conditions: [condition] }, {});
    expect(rules).toMatchObject([{ metricKey: solana, kind: "above", threshold: 2 }]);
  });

  it("knows since when, in whatever form", () => {
    const at = Date.UTC(2026, 10, 20);
    for (const createdAt of [new Date(at).toISOString(), at, at / 1000, String(at)])
      expect(readOne({ op: ">", value: 1, createdAt }).rules[0]?.since).toBe(at);
  });

  it("expects nothing of what is switched off", () => {
    for (const off of [{ enabled: false }, { status: "paused" }, { isMuted: true }])
      expect(readOne({ op: ">", value: 1, ...off })).toEqual({ rules: [], unread: [], off: 1 });
  });
});

describe("what cannot be read says why", () => {
  const two = [
    { op: ">", value: 1 },
    { op: "<", value: 2 },
  ];
  const [named, change] = [
    { condition: "hot", value: 3 },
    { kind: "change_percent", percent: 3 },
  ];
  const timeless = "the time over which it compares is not among its members";
  it.each<[string, unknown, unknown, string]>([
    ["nothing", {}, { key }, "it cannot be read which condition it has"],
    ["no key", { op: ">", value: 1 }, {}, "the key of its metric is not among its members"],
    ["no threshold", { op: ">" }, { key, value: 3 }, "its threshold is not among its members"],
    ["an unknown condition", named, { key }, 'it cannot be read what its condition "hot" means'],
    ["two conditions", { conditions: two }, { key }, "it has more than one condition"],
    ["two thresholds", { op: ">", value: [1, 2] }, { key }, "it has more than one threshold"],
    ["no window", change, { key }, timeless],
  ])("%s", (_what, subscription, metric, why) => {
    expect(readOne(subscription, metric)).toMatchObject({
      rules: [],
      unread: [{ what: "subscription 1 of the list", why }],
    });
  });

  it("takes anything without falling over", () => {
    const deep = { condition: {} as Record<string, unknown> };
    let at = deep.condition;
    for (let depth = 0; depth < 5000; depth += 1) at = at.condition = {};
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`a${index}`, index]));
    const members = [
      { subscription: null, metric: null },
      { subscription: [], metric: 5 },
    ];
    const entries = [null, 7, "text", [], {}, deep, wide, ...members];
    const { rules, unread } = readSubscriptions(entries);
    expect(rules).toEqual([]);
    expect(unread).toHaveLength(entries.length);
  });
});
