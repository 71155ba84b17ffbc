import { describe, expect, test } from "vitest";
import type { Condition, Matcher } from "../../src/core/rules.ts";
import { compileMatchers as compile, type MatchInput } from "../../src/matching/judge.ts";
import { createMissingAdvice } from "../../src/matching/near-path.ts";
import { alert, type facts, json } from "../routing/sample.ts";
import { createCostMeter } from "../support/cpu-cost.ts";

const payload = json(`{
  "pool": {"address": "0xAbCdEf01", "tvl": 1000.5, "hot": true, "note": null},
  "x.y": "dotted", "tags": ["a", "b"], "items": [{"id": 1}, {"id": 22}, {"name": "no id"}], "__proto__": {"evil": "1"}
}`);

function compileMatchers(...asked: Parameters<typeof compile>) {
  const match = compile(...asked);
  return (input: MatchInput) => ({ matched: match.holds(input), reason: match.reason(input) });
}

function ask(field: string, condition: Condition, over: Parameters<typeof facts>[0] = {}) {
  return compileMatchers([{ field, condition }])(alert(over, { payload }));
}

test("looks at the first 10,000 values of a long list, and says so", () => {
  const look = (condition: Condition) =>
    compileMatchers([{ field: "payload.ids[*]", condition }])(
      alert({}, { payload: { ids: Array.from({ length: 20_000 }, (_, id) => String(id)) } }),
    );
  expect(look({ equals: ["9999"] })).toEqual({ matched: true, reason: "payload.ids[*] is 9999" });
  const no = "payload.ids[*] is 0, not 10000, nor does any of the first 10,000 of its 20,000 values fit";
  expect(look({ equals: ["10000"] })).toEqual({ matched: false, reason: no });
  const yes = "payload.ids[*] is not 10000 in the first 10,000 of its values";
  expect(look({ not: ["10000"] })).toEqual({ matched: true, reason: yes });
});

test("compares a key whole, and as its sender wrote it", () => {
  const over = { alertKey: "incident:0x:42" };
  for (const key of ["incident:0x:42", "0x:42"]) expect(ask("alertKey", { equals: [key] }, over).matched).toBe(true);
  const reason = "alertKey is incident:0x:42, not 42 or incident";
  expect(ask("alertKey", { equals: ["42", "incident"] }, over)).toEqual({ matched: false, reason });
  expect(ask("alertKey", { not: ["0x:42"] }, over).matched).toBe(false);
});

describe("what holds, and the words for it", () => {
  test.each<[string, Condition, string]>([
    ["severity", { equals: ["critical"] }, "severity is critical"],
    ["severity", { equals: ["warning", "critical"] }, "severity is critical"],
    ["severity", { not: ["info"] }, "severity is not info"],
    ["title", { matches: "^TVL .*drop" }, "title matches /^TVL .*drop/"],
    ["title", { matches: "(?i)usdc" }, "title matches /(?i)usdc/"],
    ["title", { notMatches: "^USDC" }, "title does not match /^USDC/"],
    ["unit", { notMatches: "^usd" }, "unit is missing"],
    ["value", { gt: 5, lt: 20 }, "value 12.5 is above 5 and 12.5 is below 20"],
    ["value", { gte: 12.5, lte: 12.5 }, "value 12.5 is at least 12.5 and 12.5 is at most 12.5"],
    ["value", { equals: ["12.50"] }, "value is 12.5"],
    ["metric", { exists: false }, "metric is missing"],
    ["metric", { not: ["tvl"] }, "metric is missing"],
    ["value", { exists: true }, "value is present"],
    ["origin", { equals: ["hook"] }, "origin is hook"],
    ["payload.pool.tvl", { gt: 1000 }, "payload.pool.tvl 1000.5 is above 1000"],
    ["payload.pool.address", { equals: ["0xabcdef01"] }, "payload.pool.address is 0xAbCdEf01"],
    ["payload.pool.hot", { equals: ["true"] }, "payload.pool.hot is true"],
    ["payload.pool.note", { exists: false }, "payload.pool.note is missing"],
    ['payload["x.y"]', { equals: ["dotted"] }, 'payload["x.y"] is dotted'],
    ["payload.tags[1]", { equals: ["b"] }, "payload.tags[1] is b"],
    ["payload.items[*].id", { equals: ["22.0"] }, "payload.items[*].id is 22"],
    ["payload.items[*].id", { gt: 20, lt: 30 }, "payload.items[*].id 22 is above 20 and 22 is below 30"],
    ["payload.items", { exists: true }, "payload.items is present"],
  ])("%s %j", (field, condition, words) => {
    expect(ask(field, condition, { value: "12.5" })).toEqual({ matched: true, reason: words });
  });
});

test("compares amounts as alerts in words have them", () => {
  const reason = "value “$4,012.3” is above 4000";
  expect(ask("value", { gt: 4000 }, { value: "$4,012.3" })).toEqual({ matched: true, reason });
  expect(ask("value", { lt: 3_200_000 }, { value: "3.2M" }).matched).toBe(false);
  // Only the bounds: a text is equal to itself alone.
  expect(ask("value", { equals: ["3200000"] }, { value: "3.2M" }).matched).toBe(false);
});

describe("what does not hold, and the words for it", () => {
  const items = "payload.items[*].id";
  test.each<[string, Condition, string]>([
    ["severity", { equals: ["info", "warning"] }, "severity is critical, not info or warning"],
    ["severity", { not: ["critical"] }, "severity is critical, which is excluded"],
    ["value", { gt: 12.5 }, "value 12.5 is not above 12.5"],
    ["metric", { equals: ["tvl"] }, "metric is missing"],
    ["metric", { exists: true }, "metric is missing"],
    ["metric", { lt: 3 }, "metric is missing"],
    ["metric", { not: ["tvl"], exists: true }, "metric is missing"],
    ["value", { exists: false }, "value is present"],
    ["title", { gt: 1 }, "title is “TVL of USDC dropped”, which is not a number"],
    ["title", { matches: "^USDC" }, "title does not match /^USDC/"],
    ["title", { notMatches: "^TVL" }, "title matches /^TVL/, which is excluded"],
    ["title", { equals: ["tvl of usdc dropped"] }, "title is “TVL of USDC dropped”, not “tvl of usdc dropped”"],
    ["payload.tags", { equals: ["a"] }, "payload.tags is a list (its elements are reached with [*])"],
    ["payload.pool", { matches: "." }, "payload.pool is an object, not a value"],
    ["payload.nowhere.deep", { equals: ["a"] }, "payload.nowhere.deep is missing"],
    ["payload.tags[7]", { equals: ["a"] }, "payload.tags[7] is missing"],
    ["payload.pool.constructor", { exists: true }, "payload.pool.constructor is missing"],
    // 1 is below 20 and 22 is above 5, but no single id is both.
    ["payload.items[*].id", { gt: 5, lt: 20 }, `${items} 1 is not above 5, nor does any other of its 2 values fit`],
    ["payload.items[*].id", { not: ["22"] }, "payload.items[*].id is 22, which is excluded"],
  ])("%s %j", (field, condition, words) => {
    expect(ask(field, condition, { value: "12.5" })).toEqual({ matched: false, reason: words });
  });
});

test("a key that only a prototype has is missing, an own key of that name is there", () => {
  const own = json(`{"constructor": "mine", "toString": 1}`);
  const read = compileMatchers([{ field: "payload.constructor", condition: { equals: ["mine"] } }]);
  expect(read(alert({}, { payload: own })).matched).toBe(true);
});

test("compares amounts that a JavaScript number cannot tell apart", () => {
  const wei = compileMatchers([{ field: "value", condition: { equals: ["123456789012345678901"] } }]);
  expect(wei(alert({ value: "123456789012345678901.0" })).matched).toBe(true);
  expect(wei(alert({ value: "123456789012345678902" })).matched).toBe(false);
  const above = compileMatchers([{ field: "value", condition: { gt: 5 } }]);
  expect(above(alert({ value: "5.00000000000000000001" })).matched).toBe(true);
});

test("names every condition that held, and the first that did not", () => {
  const match = compileMatchers([
    { field: "severity", condition: { equals: ["critical"] } },
    { field: "value", condition: { gt: 5 } },
    { field: "chain", condition: { equals: ["eth"] } },
  ]);
  const { reason } = match(alert({ value: "9", chain: "eth" }));
  expect(reason).toBe("severity is critical; value 9 is above 5; chain is eth");
  const no = { matched: false, reason: "value 3 is not above 5" };
  expect(match(alert({ value: "3", chain: "bsc" }))).toEqual(no);
});

test("a pattern that would stall JavaScript's engine costs little, and a hostile value stays short in the reason", () => {
  const match = compileMatchers([{ field: "text", condition: { matches: "^(a+)+$", exists: true } }]);
  const stalling = () => match(alert({ text: `${"a".repeat(19_000)}!` }));
  expect(stalling().matched).toBe(false);
  expect(createCostMeter().measure(stalling, 100)).toBeLessThan(100);

  const equals = compileMatchers([{ field: "text", condition: { equals: ["x"] } }]);
  const { reason } = equals(alert({ text: `line one\nline two ${"z".repeat(5_000)}` }));
  expect(reason.length).toBeLessThan(150);
  expect(reason).not.toContain("\n");
});

test.each(["(?=a)", "a(b", "[z-a]"])("refuses the pattern %s", (pattern) => {
  expect(() => compileMatchers([{ field: "title", condition: { matches: pattern } }])).toThrow(/Pattern/);
});

test("refuses a field that no alert has", () => {
  expect(() => compileMatchers([{ field: "severty", condition: {} }])).toThrow(/severty/);
});

describe("groups", () => {
  const low = { field: "value", condition: { lt: 5 } };
  const eth = { field: "chain", condition: { equals: ["eth"] } };
  const usd = { field: "token", condition: { glob: ["US*"] } };
  const over = { value: "7", chain: "bsc", token: "USDC" };

  test("say which held, or why none did", () => {
    const fits = "token is USDC, which fits US*; not excluded: chain is bsc, not eth";
    for (const [group, matched, reason] of [
      [{ any: [[low], [usd, { not: [eth] }]] }, true, `one of the 2 held: ${fits}`],
      [{ any: [[usd, low], [eth]] }, false, "none of the 2 held: value 7 is not below 5; chain is bsc, not eth"],
      [{ not: [usd, { not: [eth] }] }, false, `excluded: ${fits}`],
    ] as [Matcher, boolean, string][])
      expect(compileMatchers([group])(alert(over))).toEqual({ matched, reason });
  });

  test("of many tell the first reasons and how many more there are", () => {
    const any = Array.from({ length: 40 }, (_, id) => [{ field: "token", condition: { equals: [`T${id}`] } }]);
    const { reason } = compileMatchers([{ any }])(alert(over));
    expect(reason).toMatch(/^none of the 40 held: token is USDC, not T0; .*not T4; and 35 more$/);
  });

  test("advise on each path that is a slip away", () => {
    const any = ["payload.tvl", "payload.pools.tvl"].map((field) => [{ field, condition: { gt: 1 } }]);
    const { reason } = compileMatchers([{ any }], { adviseOnMissing: createMissingAdvice() })(alert({}, { payload }));
    const advised = (path: string) => `${path} is missing; there is payload.pool.tvl`;
    expect(reason).toBe(`none of the 2 held: ${advised("payload.tvl")}; ${advised("payload.pools.tvl")}`);
  });
});

describe("globs", () => {
  test.each<[string, string, boolean]>([
    ["US*", "USDC", true],
    ["US*", "US", true],
    ["US*", "usdc", false],
    ["US*", "xUSDC", false],
    ["*USD*", "aUSDb", true],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "acb", false],
    ["ab*ba", "aba", false],
    ["ab*ba", "abba", true],
    ["a*a", "a", false],
    ["*", "", true],
    ["a**b", "a\nb", true],
    ["1.*", "12", false],
    ["0xAB*cd", "0xab12CD", true],
    ["eth_*_tvl", "eth_pool_tvl", true],
  ])("%s of %s is %s", (glob, text, fits) => {
    expect(ask("token", { glob: ["never*", glob] }, { token: text }).matched).toBe(fits);
  });

  test("cost little for a hostile text", () => {
    const match = compileMatchers([{ field: "text", condition: { glob: [`${"*a".repeat(30)}*b`] } }]);
    const stalling = () => match(alert({ text: "a".repeat(20_000) }));
    expect(stalling().matched).toBe(false);
    expect(createCostMeter().measure(stalling, 100)).toBeLessThan(100);
  });
});

describe("computed facts", () => {
  test.each([
    ["94.3", "100", "-5.7"],
    ["0.95", "1", "-5"],
    ["100", "-50", "300"],
    ["$4,012.3", "4k", "0.3075"],
    ["1", "3", "-66.666667"],
    ["123456789012345678902", "123456789012345678901", "0"],
    ["5", "0", undefined],
    ["5", "much", undefined],
    ["1e900", "1e-900", undefined],
    ["5", undefined, undefined],
  ])("the change of %s after %s is %s", (value, previousValue, percent) => {
    const { matched, reason } = ask("changePercent", { equals: ["x"] }, { value, previousValue });
    expect(matched).toBe(false);
    expect(reason).toBe(percent === undefined ? "changePercent is missing" : `changePercent is ${percent}, not x`);
  });

  const below = { fields: [{ name: "condition", value: "below" }] };
  test.each<[string | undefined, Parameters<typeof facts>[0]]>([
    ["2.8", { value: "24.3", threshold: "25" }],
    ["2.8", { value: "25.7", threshold: "25" }],
    ["2.8", { value: "24.3", threshold: "25", ...below }],
    ["-2.8", { value: "25.7", threshold: "25", ...below, status: "resolved" }],
    ["-2.8", { value: "25.7M", threshold: "25M", title: "TVL is below 25,000,000", status: "resolved" }],
    [undefined, { value: "25.7", threshold: "25", status: "resolved" }],
    ["0", { value: "25.0", threshold: "25", status: "resolved" }],
    [undefined, { value: "24.3", threshold: "25", unit: "M USD" }],
    [undefined, { value: "3305", threshold: "2.5", title: "ETH moved 2.5 % or more" }],
    [undefined, { value: "3", threshold: "0" }],
    [undefined, { value: "3" }],
  ])("the distance is %s of %j", (percent, over) => {
    const { reason } = ask("distancePercent", { exists: true, gt: -1000 }, over);
    expect(reason).toBe(`distancePercent ${percent === undefined ? "is missing" : `${percent} is above -1000`}`);
  });
});
