import { expect, it } from "vitest";
import { readUpstreamEnv, requireAlerting, requirePricing } from "../../src/config/upstream-env.ts";

const alerting = { ALERTING_URL: "https://alerts.example/api/", ALERTING_API_KEY: " key\n" };

it("settings of the service trim what was pasted, and use the alerting key for pricing", () => {
  const settings = readUpstreamEnv({ ...alerting, PRICING_URL: "http://127.0.0.1:9" });
  expect(settings.alerting?.url).toBe("https://alerts.example/api");
  expect(settings.alerting?.apiKey.reveal()).toBe("key");
  expect(settings.pricing?.apiKey.reveal()).toBe("key");
  expect(settings.equitiesPricePath).toBe("/v1/equities/price");
});

it("settings of the service may be absent altogether", () => {
  expect(readUpstreamEnv({})).toMatchObject({ alerting: undefined, pricing: undefined });
});

it.each([
  [{}, "ALERTING_URL and ALERTING_API_KEY are not set"],
  [{ ALERTING_URL: "https://x" }, "ALERTING_API_KEY is not set"],
])("settings of the service name what is missing for alerting: %j", (env, message) => {
  expect(() => requireAlerting(env)).toThrow(expect.objectContaining({ code: "config_invalid", message }));
});

it.each([
  [{}, "PRICING_URL and PRICING_API_KEY are not set"],
  [alerting, "PRICING_URL is not set"],
  [{ PRICING_URL: "https://x" }, "PRICING_API_KEY is not set"],
])("settings of the service name what is missing for pricing: %j", (env, message) => {
  expect(() => requirePricing(env)).toThrow(expect.objectContaining({ code: "config_invalid", message }));
});

it.each([
  [{ ALERTING_URL: "alerts.example" }],
  [{ ALERTING_URL: "ftp://alerts.example" }],
  [{ ALERTING_URL: "https://user:canary@alerts.example" }],
  [{ ALERTING_URL: "https://alerts.example/?key=canary" }],
  [{ ALERTING_API_KEY: "canary line\nbreak" }],
  [{ PRICING_EQUITIES_PRICE_PATH: "v1/price" }],
  [{ PRICING_EQUITIES_PRICE_PATH: "/v1/price?a=1" }],
])("settings of the service refuse %j without quoting it", (env) => {
  expect(() => readUpstreamEnv(env)).toThrow(
    expect.objectContaining({ code: "config_invalid", message: expect.not.stringContaining("canary") }),
  );
});
