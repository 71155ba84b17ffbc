import { expect, test } from "vitest";
import { describeConfig } from "../../src/config/describe-config.ts";
import { botEnv, load, problemsOf } from "./load.ts";

const base = "destinations: { ops: { type: telegram, chatId: -1 } }\n";
const service = { ...botEnv, ALERTING_URL: "https://alerting.example.com", ALERTING_API_KEY: "k-1" };

test.each([
  ["", true, true],
  ["market: on", true, true],
  ["market: true", true, true],
  ["market: {}", true, true],
  ["market: { context: true }", true, true],
  ["market: off", false, false],
  ["market: false", false, false],
  ["market: { context: false }", false, true],
  ["market: { symbols: false }", true, false],
])("market is read from %j", (yaml, context, symbols) => {
  expect(load(base + yaml, botEnv).market).toEqual({ context, symbols });
});

test.each([
  ["market: { contexts: true }", "market.contexts"],
  ["market: { context: perhaps }", "market.context"],
  ["market: 7", "market"],
])("market is refused in %j, with its place", (yaml, path) => {
  expect(problemsOf(base + yaml, botEnv)).toMatchObject([{ path, instead: expect.any(String) }]);
});

test("check says of the market what is asked, and nothing where nothing is", () => {
  const said = (yaml: string, env = service) => describeConfig(load(base + yaml, env)).market;
  expect(said("")).toEqual(["context", "symbols"]);
  expect(said("market: { context: false }")).toEqual(["symbols"]);
  expect(said("market: off")).toEqual([]);
  expect(said("watch: { enabled: false }")).toEqual([]);
  expect(said("", { ...botEnv } as typeof service)).toEqual([]);
});
