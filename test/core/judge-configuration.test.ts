import { expect, it } from "vitest";
import { judgeConfiguration } from "../../src/core/judge-configuration.ts";

const relay = (configurationVersion: number, started: boolean) => ({
  configurationVersion,
  report: { ready: started, reasons: [], started, accepted: 0, hooks: {} },
});

it.each([
  [1, [relay(1, true), relay(2, false)], "newest"],
  [2, [relay(1, true), relay(2, false)], "starting"],
  [1, [relay(1, true), relay(2, true)], "older"],
  [2, [relay(1, true), relay(2, true)], "newest"],
  [2, [relay(1, false), relay(2, false)], "newest"],
  [1, [relay(1, false), relay(2, false)], "older"],
])("a relay with the configuration %i among %j is the %s", (configurationVersion, relays, state) => {
  expect(judgeConfiguration({ configurationVersion }, relays)).toBe(state);
});
