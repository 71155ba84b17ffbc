import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatDuration, parseDuration } from "../../src/config/duration.ts";
import { parseMatchText } from "../../src/config/match-text.ts";
import { parseMatch } from "../../src/config/read-match.ts";
import { suggest } from "../../src/config/suggest.ts";
import { createRouter } from "../../src/routing/router.ts";

describe("durations", () => {
  test.each([
    ["90s", 90_000],
    ["15m", 900_000],
    ["2h", 7_200_000],
    ["7d", 604_800_000],
    ["1h30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["250ms", 250],
    ["0s", 0],
  ])("%s is %i ms", (text, durationMs) => {
    expect(parseDuration(text)).toBe(durationMs);
  });

  test.each(["", "5", "5 m", "m", "-5m", "5y", "1e3s", "5m!", `${"9".repeat(30)}d`])("%j is none", (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  test("are written so that they read the same", () => {
    fc.assert(
      fc.property(fc.nat(), (durationMs) => {
        expect(parseDuration(formatDuration(durationMs))).toBe(durationMs);
      }),
    );
  });
});

test.each([
  ["chatid", "chatId"],
  ["chta_id", "chatId"],
  ["timezone", "timeZone"],
  ["quiet_hours", "quietHours"],
  ["banana", undefined],
  ["", undefined],
])("%j is taken for %j", (word, meant) => {
  expect(suggest(word, ["chatId", "timeZone", "quietHours", "silent"])).toBe(meant);
});

describe("matchers of a command line", () => {
  test.each([
    ["severity=critical", "severity", { equals: ["critical"] }],
    ["chain=eth, base", "chain", { equals: ["eth", "base"] }],
    ["token!=USDC", "token", { not: ["USDC"] }],
    ["value>=5", "value", { gte: 5 }],
    ["value < 1e6", "value", { lt: 1_000_000 }],
    ["title=~^TVL=", "title", { matches: "^TVL=" }],
    ["link=https://x.example/?a=b", "link", { equals: ["https://x.example/?a=b"] }],
    ['payload["a=b"].c=d', 'payload["a=b"].c', { equals: ["d"] }],
    ["payload.items[*].id>3", "payload.items[*].id", { gt: 3 }],
  ])("%s", (text, field, condition) => {
    expect(parseMatchText(text)).toEqual({ field, condition });
  });

  test.each(["", "severity", "=critical", "severty=critical", "severity=critcal", "value>x", "title=~("])(
    "%j is wrong usage",
    (text) => {
      expect(() => parseMatchText(text)).toThrow(expect.objectContaining({ code: "usage" }));
    },
  );
});

test("a matcher of the API is refused with all that is wrong", () => {
  expect(parseMatch({ severity: "critical", value: { gt: 5 } })).toEqual([
    { field: "severity", condition: { equals: ["critical"] } },
    { field: "value", condition: { gt: 5 } },
  ]);
  expect(() => parseMatch({ severty: "x", value: { gt: "y" } })).toThrow(/severty.*value\.gt/s);
  for (const nothing of [undefined, null, [], "x", {}]) {
    expect(() => parseMatch(nothing)).toThrow(expect.objectContaining({ code: "invalid_request" }));
  }
});

test("whatever the configuration takes as a matcher, the router can run", () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.boolean());
  const condition = fc.record(
    {
      equals: fc.oneof(value, fc.array(value)),
      not: fc.array(value),
      gt: fc.oneof(fc.double(), fc.string()),
      exists: fc.boolean(),
      matches: fc.string(),
    },
    { requiredKeys: [] },
  );
  const name = fc.oneof(
    fc.constantFrom("title", "value", "payload"),
    fc.string().map((text) => `payload${text}`),
  );
  fc.assert(
    fc.property(fc.dictionary(name, fc.oneof(condition, value)), (match) => {
      let matchers: ReturnType<typeof parseMatch>;
      try {
        matchers = parseMatch(match);
      } catch {
        return;
      }
      const route = {
        name: "r",
        matchers,
        to: [],
        continue: false,
        isDefault: false,
        updates: "auto" as const,
        definedAt: "here",
      };
      const router = createRouter({ destinations: [], routes: [route], mutes: [] });
      const facts = {
        title: "t",
        severity: "unknown" as const,
        status: "firing" as const,
        format: "json" as const,
        alertKey: "k",
        fields: [],
        notes: [],
        value: "5",
      };
      router.route({ facts, payload: ["x"], origin: "hook", receivedAt: 0 }, [], 0);
    }),
    { numRuns: 300 },
  );
});
