import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/core/json.ts";
import { describeMatchers } from "../../src/matching/describe-match.ts";
import { compileField } from "../../src/matching/judge.ts";
import { createMissingAdvice } from "../../src/matching/near-path.ts";
import { listPayloadNodes } from "../../src/matching/path.ts";
import { parseMatch } from "../../src/matching/read-match.ts";
import { createRouter } from "../../src/routing/router.ts";
import { alert, chat, json, noon, route, rules } from "../routing/sample.ts";

const payload = json(
  JSON.stringify({
    event: "fired",
    data: {
      subscription: { condition: { kind: "below" }, owner: { id: "u1" } },
      pool: { address: "0xab", poolTvl: 5 },
      legs: [{ token: { id: "t1" } }, { token: { id: "t2" } }],
      "a.b": null,
    },
  }),
);

describe("the near path of one that is missing", () => {
  const adviseOn = (field: string, value: Json | undefined = payload) =>
    createMissingAdvice()(field, alert({}, { payload: value }));

  test.each([
    ["payload.subscription.condition.kind", "payload.data.subscription.condition.kind"],
    ["payload.data.subscription.conditon.kind", "payload.data.subscription.condition.kind"],
    ["payload.pool.pool_tvl", "payload.data.pool.poolTvl"],
    ["payload.pool.adress", "payload.data.pool.address"],
    ["payload.legs.token.id", "payload.data.legs[*].token.id"],
    ["payload.owner.id", "payload.data.subscription.owner.id"],
    ["payload.pool", "payload.data.pool"],
  ])("%s → %s", (field, near) => {
    expect(adviseOn(field)).toBe(`there is ${near}`);
  });

  test.each(["payload.nothing.like.it", "unit", "payload", 'payload["a.b"]'])("%s has none", (field) => {
    expect(adviseOn(field)).toBeUndefined();
  });

  test("is not looked for where there is no payload, which is said", () => {
    const advice = createMissingAdvice()("payload.a", alert());
    expect(advice).toContain("no payload");
  });

  test("ends the reason of a route, and only where it was asked for", () => {
    const matchers = parseMatch("payload.pool.address=0xab");
    const all = rules({ destinations: [chat("ops")], routes: [route("pools", ["ops"], { matchers })] });
    const input = alert({}, { payload });
    const reasonOf = (router: ReturnType<typeof createRouter>) => router.route(input, [], noon).decisions[0]?.reason;
    expect(reasonOf(createRouter(all, { adviseOnMissing: createMissingAdvice() }))).toBe(
      "payload.pool.address is missing; there is payload.data.pool.address",
    );
    expect(reasonOf(createRouter(all))).toBe("payload.pool.address is missing");
  });
});

describe("the places of a payload", () => {
  const anyJson = fc.json().map((text) => json(text));

  test("are named so that a matcher finds them, in both forms", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        for (const node of listPayloadNodes(value, 50)) {
          const found = compileField(node.path)(alert({}, { payload: node.value === null ? undefined : value }));
          expect(found).toHaveLength(node.value === null ? 0 : 1);
          const matchers = [{ field: node.path, condition: { exists: true } }];
          expect(parseMatch(describeMatchers(matchers))).toEqual(matchers);
        }
      }),
    );
  });

  test("are never more than asked for, nor deeper or longer than anybody writes", () => {
    const wide = json(JSON.stringify({ ["k".repeat(5_000)]: 1, list: Array.from({ length: 5_000 }, () => [1]) }));
    expect(listPayloadNodes(wide, 100)).toHaveLength(100);
    expect(listPayloadNodes(wide, 100).every(({ path }) => path.length <= 300)).toBe(true);
    let deep: Json = "x";
    for (let depth = 0; depth < 1_000; depth += 1) deep = [deep];
    expect(listPayloadNodes(deep, 5_000).length).toBeLessThan(50);
  });
});
