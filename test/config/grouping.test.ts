import { expect, test } from "vitest";
import { createRouter } from "../../src/routing/router.ts";
import { alert, noon } from "../routing/sample.ts";
import { botEnv, load, problemsOf } from "./load.ts";

const two = "destinations: { ops: { type: telegram, chatId: -1 }, desk: { type: telegram, chatId: -2 } }\n";
const grouped = (group: string) => `${two}routes: [{ name: all, to: [ops, desk], group: ${group} }]`;
const rule = (written: string) =>
  `${two}inhibit: [{ name: bridge down, while: metric=halted, hold: metric=pool, ${written} }]`;

test("a group is read with its defaults, and a cause with its facts", () => {
  expect(load(grouped("{ by: token }"), botEnv).rules.routes[0]?.group).toEqual({
    ...{ by: ["token"], waitMs: 20_000, againMs: 300_000, waitCriticalMs: 0 },
  });
  expect(load(rule("equal: [chain]"), botEnv).rules.inhibit).toMatchObject([
    { name: "bridge down", equal: ["chain"], atMostMs: 24 * 3_600_000 },
  ]);
  expect(load(two, botEnv).rules.inhibit).toBeUndefined();
});

test.each([
  [grouped("{}"), "routes[0].group.by", "is missing"],
  [grouped("{ by: [tokn] }"), "routes[0].group.by[0]", '"tokn" is not known'],
  [grouped("{ by: token, wait: 1h }"), "routes[0].group.wait", "out of bounds"],
  [grouped("{ by: token, wait: 0s, again: 0s }"), "routes[0].group.wait", "makes no group"],
  [grouped("{ by: token, again: 0s, waitCritical: 1m }"), "routes[0].group.waitCritical", "is longer than wait"],
  [`${two}routes: [{ drop: true, group: { by: token } }]`, "routes[0].group", "has no meaning"],
  [rule("equal: [chane]"), "inhibit[0].equal[0]", '"chane" is not known'],
  [`${two}inhibit: [{ name: a, while: metric=x, hold: metric=x }]`, "inhibit[0].hold", "is the same as while"],
  [`${two}inhibit: [{ name: a, while: metric=x }]`, "inhibit[0].hold", ""],
  [
    `${two}inhibit: [{ name: a, while: metric=x, hold: metric=y }, { name: a, while: metric=x, hold: metric=z }]`,
    "inhibit[1].name",
    "is also the name",
  ],
])("refuses %s", (yaml, path, message) => {
  const found = problemsOf(yaml, botEnv).find((one) => one.path === path);
  expect(found?.message).toContain(message);
  expect(found?.where).toMatch(/:\d+:\d+$/);
});

function groupsOf(yaml: string, over: Parameters<typeof alert>[0], more: Parameters<typeof alert>[1] = {}) {
  const { deliveries } = createRouter(load(yaml, botEnv).rules).route(alert(over, more), [], noon);
  return deliveries.map(({ group }) => group);
}

test("an alert is of the group of its facts, also where it lacks one, but not where it lacks all of them", () => {
  const yaml = grouped("{ by: [token, chain] }");
  const names = (over: Parameters<typeof alert>[0]) => groupsOf(yaml, over).map((group) => group?.group?.name);
  expect(names({ token: "USDC", chain: "eth" })).toEqual(Array(2).fill('["group","all","token","USDC","chain","eth"]'));
  expect(names({ chain: "eth" })[0]).toBe('["group","all","token","","chain","eth"]');
  expect(names({})).toEqual([undefined, undefined]);
  expect(groupsOf(yaml, { token: "USDC" }, { origin: "test" })).toEqual([undefined, undefined]);
});

test("an alert is a cause or held back where the facts are equal, and an end may end any cause", () => {
  const yaml = rule("equal: [chain]");
  const name = '["cause","bridge down","chain","eth"]';
  const [cause] = groupsOf(yaml, { metric: "halted", chain: "eth" });
  expect(cause).toMatchObject({ holds: [{ name, atMostMs: 86_400_000 }] });
  expect(groupsOf(yaml, { metric: "pool", chain: "eth" })[0]).toMatchObject({ heldBy: [name] });
  expect(groupsOf(yaml, { metric: "pool" })[0]).toBeUndefined();
  expect(groupsOf(yaml, { metric: "other", chain: "eth" })[0]).toBeUndefined();
  // An end belongs to what it ends by its key, whatever it says of itself.
  const [end] = groupsOf(yaml, { status: "resolved" });
  expect(end).toMatchObject({ holds: [], heldBy: [] });
});

test("says of two rules of one name also where one has another mistake", () => {
  const found = problemsOf(
    `${two}inhibit: [{ name: a, while: metric=x }, { name: a, while: metric=x, hold: metric=z }]`,
    botEnv,
  );
  expect(found.map(({ path }) => path)).toEqual(["inhibit[0].hold", "inhibit[1].name"]);
});

test.each([
  [
    `${two}inhibit: [{ name: a, while: metric=x, hold: metric=y }, { name: b, while: metric=y, hold: metric=x }]`,
    '"b" and "a" hold back each other: what fires first holds the other',
  ],
  [
    `destinations: { page: { type: webhook, url: "https://a.example/x" } }
routes: [{ name: all, to: page, group: { by: token } }]`,
    "group of the route all does nothing: programs get each alert at once",
  ],
])("warns of what does not do what it says", (yaml, message) => {
  expect(load(yaml, botEnv).warnings.find((one) => one.message === message)?.where).toMatch(/:\d+:\d+$/);
});
