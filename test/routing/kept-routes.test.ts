import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import type { Decision, Route } from "../../src/core/rules.ts";
import { createKeptRoutes, createTellDecisions } from "../../src/routing/kept-routes.ts";
import { createRouter } from "../../src/routing/router.ts";
import { createTestClock } from "../support/test-clock.ts";
import { alert, chat, is, route, rules } from "./sample.ts";

const states = new Map<string, unknown>();
let failures = 0;
const store = {
  loadWatchState: async (name: string) => structuredClone(states.get(name)),
  async saveWatchState({ name, state }: { name: string; state: unknown }) {
    if (failures > 0) {
      failures -= 1;
      throw new Error("the disk is full");
    }
    states.set(name, structuredClone(state));
  },
};

const routes: Route[] = [
  route("copy", ["desk"], { matchers: [is("severity", "critical")], continue: true }),
  route("small", ["desk"], { matchers: [{ field: "value", condition: { lt: 5 } }] }),
  route("rest", ["desk"], { isDefault: true }),
  route("pool", ["desk"], { matchers: [is("payload.pool", "a")] }),
  ...Array.from({ length: 8 }, (_, index) =>
    route(`eth ${index}`, ["desk"], { matchers: [is("chain", `eth${index}`)] }),
  ),
];
const rulesOf = (given: Route[]) => rules({ destinations: [chat("desk")], routes: given });
const router = createRouter(rulesOf(routes));

let clock = createTestClock();
let stopping = new AbortController();
beforeEach(() => {
  states.clear();
  failures = 0;
  clock = createTestClock();
  stopping = new AbortController();
});
afterEach(() => stopping.abort());

/** A relay that has just started with these routes. */
async function keep(given: Route[], log = silentLog) {
  const kept = createKeptRoutes({ store, routes: given, clock, log });
  void kept.run(stopping.signal);
  await clock.settle();
  return kept;
}

/** As it was stored, and as it is told. */
async function decide(input: ReturnType<typeof alert>, readAgain: typeof input.payload | "too large" = input.payload) {
  const { decisions } = router.route(input, [], 0, (await keep(routes)).name());
  const tell = createTellDecisions(store, () => (readAgain === "too large" ? readAgain : { payload: readAgain }));
  return { decisions, told: () => tell({ ...input, decisions, receivedAt: 0 }) };
}

describe("the routes that did not take an alert", () => {
  test.each([
    ["one took it", alert({ value: "3" })],
    ["two took it, one of which ends the search", alert({ severity: "critical" }, { payload: { pool: "a" } })],
    ["the default route took it", alert({ severity: "critical", value: "9", chain: "bsc" })],
    ["a test of the hook", alert({ value: "3" }, { origin: "test" })],
  ])("share a line, and are told as if each had one: %s", async (_, input) => {
    const { decisions, told } = await decide(input);
    const all = router.route(input, [], 0).decisions;
    expect(await told()).toEqual(all);
    expect(decisions.length).toBeLessThan(all.length);
    const reason = expect.stringMatching(/did not take it$/);
    expect(decisions.at(-1)).toMatchObject({ result: "not_matched", reason });
  });

  test("have their reasons of then when the configuration is another one", async () => {
    const input = alert({ value: "3" });
    const { told } = await decide(input);
    await keep(routes.slice(1));
    expect(await told()).toEqual(router.route(input, [], 0).decisions);
  });

  test("are kept once for all alerts of a configuration, with when it was used last", async () => {
    for (let turn = 0; turn < 3; turn += 1) await decide(alert());
    expect([...states.values()]).toMatchObject([{ usedAt: clock.now() }]);
    await clock.advance(3_600_000);
    expect([...states.values()]).toMatchObject([{ usedAt: clock.now() }]);
  });

  test("are told of a version that kept the routes alone", async () => {
    const input = alert({ value: "3" });
    const { told } = await decide(input);
    for (const [name, state] of states) states.set(name, (state as { routes: unknown }).routes);
    expect(await told()).toEqual(router.route(input, [], 0).decisions);
  });

  test("are not kept where they are so few that none ever share a line", async () => {
    expect((await keep(routes.slice(0, 8))).name()).toBeUndefined();
    expect(states.size).toBe(0);
  });

  test("have a line each until they can be kept, which is tried again", async () => {
    failures = 2;
    const error = vi.fn();
    const kept = await keep(routes, { ...silentLog, error });
    expect(kept.name()).toBeUndefined();
    await clock.advance(60_000);
    expect(kept.name()).toBeUndefined();
    await clock.advance(60_000);
    expect(kept.name()).toMatch(/^routes:/);
    expect(error.mock.calls).toEqual([["routing.routes_not_kept", { error: "Error: the disk is full" }]]);
  });
});

describe("says why the reasons are not known", () => {
  const last = (told: Decision[]) => told.at(-1)?.reason;

  test("when the body cannot be read again", async () => {
    const { decisions, told } = await decide(alert({ severity: "info", value: "9" }), "too large");
    expect(last(await told())).toMatch(/^11 routes did not take it; .*cannot be read again$/);
    expect((await told()).slice(0, -1)).toEqual(decisions.slice(0, -1));
  });

  test("when other routes would take what is read of the body now", async () => {
    const { told } = await decide(alert({ value: "9" }, { payload: { pool: "a" } }), { pool: "b" });
    expect(last(await told())).toMatch(/its body is read otherwise now$/);
  });

  test.each([{}, [{ name: "later", matchers: [{ field: "ofLater", condition: {} }] }]])(
    "when this version cannot read the routes: %j",
    async (state) => {
      const { told } = await decide(alert({ value: "3" }));
      for (const name of states.keys()) states.set(name, state);
      expect(last(await told())).toMatch(/this version cannot read the routes of that time$/);
    },
  );

  test("when the routes are gone", async () => {
    const { told } = await decide(alert({ value: "3" }));
    states.clear();
    expect(last(await told())).toMatch(/the routes of that time are not in the log$/);
  });
});

test("up to eight routes that did not take it have a line each", async () => {
  const few = createRouter(rulesOf(routes.slice(0, 9)));
  const input = alert({ value: "3", severity: "info" });
  expect(few.route(input, [], 0, "routes:few").decisions).toEqual(few.route(input, [], 0).decisions);
});

test("what was stored with a line for each route is told as it is", async () => {
  const { decisions } = router.route(alert(), [], 0);
  const told = await createTellDecisions(store, () => undefined)({ ...alert(), decisions, receivedAt: 0 });
  expect(told).toEqual(decisions);
});
