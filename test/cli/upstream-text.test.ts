import { describe, expect, it } from "vitest";
import { parseDuration, parseInstant, parseList, parsePair } from "../../src/cli/shell/arguments.ts";
import { maskWebhookUrl } from "../../src/cli/upstream/mask-webhook-url.ts";
import { formatDistance, formatNumber, formatPrice, formatUsd } from "../../src/cli/upstream/number-text.ts";

const now = Date.UTC(2026, 10, 21, 12);

describe("an instant", () => {
  it.each([
    ["2026-11-21T12:00:00Z", now],
    ["2026-11-21T12:00", now],
    ["2026-11-21 12:00", now],
    ["2026-11-21T13:00+01:00", now],
    ["2026-11-21", now - 12 * 3_600_000],
    [String(now / 1000), now],
    [String(now), now],
    ["now", now],
    ["-6h", now - 6 * 3_600_000],
    ["-1d12h", now - 36 * 3_600_000],
    ["-1.5h", now - 5_400_000],
  ])("can be written %s", (text, at) => {
    expect(parseInstant(text, now)).toBe(at);
  });

  it.each(["yesterday", "-6", "6h", "21.11.2026", "2026-11-21T25:00", "", "1e9"])(
    "cannot be written %j",
    (text) => {
      expect(() => parseInstant(text, now)).toThrow("like -6h");
    },
  );
});

describe("other arguments", () => {
  it("are read as people write them", () => {
    expect(parseList(" a, b ,,c")).toEqual(["a", "b", "c"]);
    expect(parseDuration("1h30m")).toBe(5_400_000);
    expect(parsePair("ETH/USD")).toBe("ETH/USD");
  });

  it.each([
    [() => parseList(" , ")],
    [() => parseDuration("5")],
    [() => parseDuration("h")],
    [() => parsePair("ETH/USD/EUR")],
  ])("are refused when they mean nothing", (parse) => {
    expect(parse).toThrow();
  });
});

describe("numbers for people", () => {
  it.each([
    [formatNumber(1234567.891), "1,234,567.891"],
    [formatNumber(1e-12), "1e-12"],
    [formatNumber(null), "–"],
    [formatUsd(1234.567), "$1,234.57"],
    [formatUsd(-0.5), "-$0.5"],
    [formatUsd(0), "$0.00"],
    [formatPrice(1.000213), "$1.000213"],
    [formatPrice(91204.159), "$91,204.16"],
    [formatPrice(0.000012345678), "$0.0000123457"],
    [formatPrice(1), "$1.00"],
    [formatDistance(now + 90 * 60_000, now), "in 1 hour"],
    [formatDistance(now - 60_000, now), "1 minute ago"],
    [formatDistance(now + 23.9 * 86_400_000, now), "in 23 days"],
  ])("%s", (text, expected) => {
    expect(text).toBe(expected);
  });
});

describe("a webhook's address", () => {
  it.each([
    ["https://relay.example/hooks/canary", "https://relay.example/hooks/***"],
    ["https://relay.example/base/hooks/canary/x?canary=1", "https://relay.example/base/hooks/***?canary=***"],
    ["https://user:canary@relay.example/in", "https://***@relay.example/in"],
    ["https://chat.example/services/T0/canarycanarycanary", "https://chat.example/services/T0/***"],
    ["https://other.example:8443/alerts/in", "https://other.example:8443/alerts/in"],
    ["canary", "*** (not an address)"],
  ])("%s is shown as %s", (url, shown) => {
    expect(maskWebhookUrl(url)).toBe(shown);
  });
});
