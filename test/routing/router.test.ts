import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AlertFacts, type AlertOrigin, severities } from "../../src/core/alert.ts";
import type { Matcher, Mute, Route, Rules } from "../../src/core/rules.ts";
import { createRouter } from "../../src/routing/router.ts";
import { alert, chat, is, mailbox, mute, noon, route, rules } from "./sample.ts";

const critical = is("severity", "critical");
const info = is("severity", "info");
const hourMs = 3_600_000;

/** What these rules make of an alert at noon. */
function decide(over: Partial<Rules>, facts: Partial<AlertFacts> = {}, mutes: Mute[] = [], now = noon) {
  return createRouter(rules(over)).route(alert(facts), mutes, now);
}
const destinationsOf = ({ deliveries }: ReturnType<typeof decide>) => deliveries.map(({ destination }) => destination);

describe("which routes an alert takes", () => {
  const routes = [
    route("critical", ["ops"], { matchers: [critical] }),
    route("info", ["desk"], { matchers: [info] }),
    route("rest", ["log"], { isDefault: true }),
  ];
  const destinations = [chat("ops"), chat("desk"), chat("log")];

  test("stops at the first that matches, and says of each other why it was not used", () => {
    const [reason, before] = ["severity is critical", "route critical has matched before it and does not continue"];
    const after = "the default route is not used: route critical has matched";
    const planned = { destination: "ops", channel: "telegram", recipient: "-1003", route: "critical", state: "queued" };
    const ring = { flapping: true, editsForMs: 60_000 };
    expect(decide({ destinations, routes })).toEqual({
      decisions: [
        { route: "critical", destination: "ops", result: "deliver", reason },
        { route: "info", result: "skipped", reason: `not asked: ${before}` },
        { route: "rest", result: "not_matched", reason: after },
      ],
      deliveries: [{ ...planned, reason, dueAt: noon, updates: "auto", ring }],
    });
  });

  test("takes the default route only when nothing else has matched, wherever it stands", () => {
    const world = { destinations, routes: [...routes.slice(2), ...routes.slice(0, 1)] };
    expect(destinationsOf(decide(world))).toEqual(["ops"]);
    const { decisions, deliveries } = decide(world, { severity: "info" });
    expect(deliveries.map((d) => d.route)).toEqual(["rest"]);
    const reasons = ["default route: no other route matched", "severity is info, not critical"];
    expect(decisions.map((d) => d.reason)).toEqual(reasons);
  });

  test("says why, when no route wants an alert", () => {
    expect(decide({ destinations, routes: routes.slice(0, 1) }, { severity: "warning" })).toEqual({
      decisions: [{ route: "critical", result: "not_matched", reason: "severity is warning, not critical" }],
      deliveries: [],
    });
  });
});

describe("to nobody, on purpose", () => {
  const drop = route("noise", [], { matchers: [info] });
  const destinations = [chat("ops"), chat("log")];
  const rest = route("rest", ["log"], { isDefault: true });

  test("a route without destinations takes an alert, ends the search and sends nothing", () => {
    const routes = [drop, route("all", ["ops"]), rest];
    const { decisions, deliveries } = decide({ destinations, routes }, { severity: "info" });
    expect(deliveries).toEqual([]);
    expect(decisions).toMatchObject([
      { route: "noise", result: "dropped", reason: "severity is info; dropped on purpose by route noise" },
      { route: "all", result: "skipped" },
      { route: "rest", result: "not_matched" },
    ]);
    expect(decisions[0]?.destination).toBeUndefined();
  });

  test("one that continues leaves the alert to later routes and to the default", () => {
    const taken = decide({ destinations, routes: [{ ...drop, continue: true }, rest] }, { severity: "info" });
    expect(taken.decisions.map(({ result }) => result)).toEqual(["dropped", "deliver"]);
    expect(destinationsOf(taken)).toEqual(["log"]);
  });
});

describe("a route that continues", () => {
  const archive = route("archive", ["log"], { continue: true });
  const rest = route("rest", ["ops"], { isDefault: true });
  const destinations = [chat("ops"), chat("log"), chat("desk")];

  test.each([
    ["keeps no alert from the default route", [], "ops", "default route: only routes that continue matched (archive)"],
    [
      "leaves the default route alone once another has ended the search",
      [route("critical", ["desk"], { matchers: [critical] })],
      "desk",
      "the default route is not used: route critical has matched",
    ],
  ])("%s", (_what, between, second, reason) => {
    const taken = decide({ destinations, routes: [archive, ...between, rest] });
    expect(destinationsOf(taken)).toEqual(["log", second]);
    expect(taken.decisions.at(-1)?.reason).toBe(reason);
  });
});

test("delivers once to a destination that two routes name, and says so", () => {
  const routes = [
    route("a", ["ops"], { continue: true, matchers: [critical] }),
    route("b", ["ops", "desk"], { updates: "new" }),
  ];
  const { decisions, deliveries } = decide({ destinations: [chat("ops"), chat("desk")], routes });
  expect(deliveries.map((d) => [d.destination, d.route, d.updates])).toEqual([
    ["ops", "a", "auto"],
    ["desk", "b", "new"],
  ]);
  const reason = "it takes every alert; route a already delivers it there";
  expect(decisions[1]).toEqual({ route: "b", destination: "ops", result: "skipped", reason });
});

test("plans one mail for each mailbox", () => {
  const destinations = [mailbox("mail", ["a@x.example", "b@x.example", "a@x.example"])];
  const { decisions, deliveries } = decide({ destinations, routes: [route("all", ["mail"])] });
  expect(deliveries.map((d) => d.recipient)).toEqual(["a@x.example", "b@x.example"]);
  expect(decisions).toHaveLength(1);
});

describe("a fallback", () => {
  const destinations = [chat("ops"), chat("backup")];
  const withFallback = route("all", ["ops"], { fallback: { to: "backup", afterMs: 600_000 } });

  test("waits, with the time after which it is notified", () => {
    const { decisions, deliveries } = decide({ destinations, routes: [withFallback] });
    expect(deliveries[0]?.fallback).toEqual({ to: "backup", at: noon + 600_000 });
    const reason = "fallback: used if a delivery of this route fails or takes longer than 10 min";
    expect(decisions[1]).toEqual({ route: "all", destination: "backup", result: "standby", reason });
  });

  test("is not planned where a later route delivers anyway", () => {
    const routes = [{ ...withFallback, continue: true }, route("also", ["backup"])];
    const { decisions, deliveries } = decide({ destinations, routes });
    expect(deliveries.map((d) => [d.destination, d.fallback])).toEqual([
      ["ops", undefined],
      ["backup", undefined],
    ]);
    expect(decisions.map((d) => d.result)).toEqual(["deliver", "skipped", "deliver"]);
  });

  test("counts from the end of quiet hours for a delivery that is held", () => {
    const quiet = chat("ops", { quietHours: { from: "11:00", to: "13:00", except: [] } });
    const { deliveries } = decide({ destinations: [quiet, chat("backup")], routes: [withFallback] });
    expect(deliveries).toMatchObject([{ dueAt: noon + hourMs, fallback: { at: noon + hourMs + 600_000 } }]);
  });
});

describe("mutes", () => {
  const world = {
    destinations: [chat("ops"), chat("backup")],
    routes: [route("all", ["ops"], { fallback: { to: "backup", afterMs: 1 } })],
    mutes: [mute("config:1", [is("token", "USDC")], { endsAt: noon + 60_000 })],
  };

  test("keep the delivery and say until when, why, and what matched", () => {
    const { decisions, deliveries } = decide(world, { token: "USDC" });
    const reason = "it takes every alert; muted until 2026-11-21 12:01 UTC: maintenance (token is USDC)";
    expect(deliveries).toMatchObject([{ state: "muted", reason, dueAt: noon }]);
    expect(deliveries[0]?.fallback).toBeUndefined();
    expect(decisions).toMatchObject([
      { destination: "ops", result: "muted", muteId: "config:1", reason },
      { destination: "backup", result: "skipped" },
    ]);
  });

  test.each([
    [-1, "config:1"],
    [0, "m2"],
    [119_999, "m2"],
    [120_000, undefined],
  ])("begin and end on time, and the longest is named: %i ms after noon %s", (afterMs, muteId) => {
    const later = mute("m2", [critical], { startsAt: noon, endsAt: noon + 120_000 });
    expect(decide(world, { token: "USDC" }, [later], noon + afterMs).decisions[0]?.muteId).toBe(muteId);
  });

  test("a mute until it is over says so, and lets the end of its key through", () => {
    const muted = mute("m4", [is("token", "USDC")], { endsAt: noon + 60_000, untilOver: "tvl:usdc" });
    const take = (changes: object) =>
      decide({ ...world, mutes: [] }, { token: "USDC", alertKey: "tvl:usdc", ...changes }, [muted]).deliveries[0];
    expect(take({})?.reason).toContain("muted until it is over, at the latest 2026-11-21 12:01 UTC");
    expect(take({ status: "resolved" })).toMatchObject({ state: "queued" });
    expect(take({ status: "resolved", alertKey: "another" })).toMatchObject({ state: "muted" });
  });

  test("a mute that cannot be read silences nothing, and the decision says so", () => {
    const broken = mute("m3", [{ field: "title", condition: { matches: "(" } }]);
    expect(decide(world, {}, [broken]).deliveries).toMatchObject([
      { state: "queued", reason: expect.stringContaining("mute m3 was ignored") },
    ]);
  });
});

describe("quiet hours", () => {
  const quietHours = { from: "11:00", to: "13:00", except: ["critical"] };
  const destinations = [chat("ops", { quietHours }), chat("desk")];
  const world = { destinations, routes: [route("all", ["ops", "desk"])] };
  const words = "held until 2026-11-21 13:00 UTC by quiet hours 11:00 to 13:00 UTC";

  test.each([
    ["what is not urgent until they end", { severity: "info" }, new RegExp(`${words}$`)],
    ["what is over", { status: "resolved" }, /; resolved: waits for the end of the quiet hours$/],
  ] as const)("hold %s, for their destination only, and say so", (_what, facts, reason) => {
    const { decisions, deliveries } = decide(world, facts);
    expect(deliveries.map((d) => [d.state, d.dueAt])).toEqual([
      ["held", noon + hourMs],
      ["queued", noon],
    ]);
    expect(decisions[0]).toMatchObject({ result: "held", reason: expect.stringMatching(reason) });
  });

  test.each(["firing", "unknown"] as const)("let an excepted severity through that is %s", (status) => {
    expect(decide(world, { status }).deliveries[0]?.state).toBe("queued");
  });

  test.each([
    [{ status: "resolved", severity: "info" }, "queued"],
    [{ severity: "info" }, "held"],
    [{ severity: "critical" }, "queued"],
  ] as const)("hold nothing that ends an incident, and of what opens one all but the excepted: %j", (facts, state) => {
    const onCall = { ...chat("oncall", { quietHours }), type: "pagerduty" };
    const paging = { destinations: [onCall], routes: [route("all", ["oncall"])] };
    expect(decide(paging, facts).deliveries[0]?.state).toBe(state);
  });

  test("say for what is held already until when they hold it now", () => {
    const { findHold } = createRouter(rules(world));
    const warning = { severity: "info", status: "firing" } as const;
    expect(findHold("ops", warning, noon)).toEqual({ until: noon + hourMs, words });
    expect(findHold("ops", { ...warning, severity: "critical" }, noon)).toBeUndefined();
    expect(findHold("ops", warning, noon + hourMs)).toBeUndefined();
    expect(findHold("desk", warning, noon)).toBeUndefined();
    expect(findHold("gone", warning, noon)).toBeUndefined();
  });
});

test("a test alert travels the same routes, and is neither muted nor held; a notice is not routed by rules", () => {
  const quietHours = { from: "00:00", to: "23:59", except: [] };
  const router = createRouter(rules({ destinations: [chat("ops", { quietHours })], routes: [route("all", ["ops"])] }));
  const take = (origin: AlertOrigin) => router.route(alert({}, { origin }), [mute("m", [])], noon);
  expect(take("test").deliveries).toMatchObject([{ state: "queued" }]);
  expect(take("hook").deliveries).toMatchObject([{ state: "muted" }]);
  expect(take("notice")).toEqual({ decisions: [], deliveries: [] });
});

test.each([{ to: ["nobody"] }, { to: ["a"], fallback: { to: "nobody", afterMs: 1 } }])(
  "refuses rules that name an unknown destination: %j",
  ({ to, ...more }) => {
    const world = rules({ destinations: [chat("a")], routes: [route("all", to, more)] });
    expect(() => createRouter(world)).toThrow(/nobody/);
  },
);

describe("for every alert and every set of routes", () => {
  const names = ["a", "bb", "ccc", "dddd"];
  const destinations = names.map((name) =>
    name === "bb" ? mailbox(name, ["x@x.example", "y@x.example"]) : chat(name),
  );
  const eth = is("chain", "eth");
  const anyMatchers = fc.constantFrom<Matcher[]>([], [critical], [info], [eth], [critical, eth]);
  const anyRoute = fc.record({
    to: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }),
    matchers: anyMatchers,
    continue: fc.boolean(),
    isDefault: fc.boolean(),
    fallbackTo: fc.option(fc.constantFrom(...names), { nil: undefined }),
  });
  const anyRoutes = fc.array(anyRoute, { maxLength: 6 }).map((all) =>
    all.map(({ fallbackTo, to, ...rest }, index): Route => {
      const fallback = fallbackTo === undefined || to.includes(fallbackTo) ? undefined : { to: fallbackTo, afterMs: 1 };
      return route(`r${index}`, to, fallback === undefined ? rest : { ...rest, fallback });
    }),
  );
  const anyAlert = fc.record({
    severity: fc.constantFrom(...severities),
    chain: fc.constantFrom("eth", "bsc", undefined),
  });
  const anyMutes = fc.subarray([mute("m1", [critical]), mute("m2", [eth])]);

  test("each pair of route and destination has exactly one decision, and each destination at most one delivery", () => {
    fc.assert(
      fc.property(anyRoutes, anyAlert, anyMutes, (routes, over, mutes) => {
        const result = createRouter(rules({ destinations, routes })).route(alert(over), mutes, noon);
        for (const { name, to, fallback } of routes) {
          const own = result.decisions.filter((decision) => decision.route === name);
          const used = own[0]?.destination !== undefined;
          const wanted = fallback === undefined ? to : [...to, fallback.to];
          expect(own.map((decision) => decision.destination)).toEqual(used ? wanted : [undefined]);
          for (const decision of own) expect(decision.reason).not.toBe("");
        }
        const recipients = result.deliveries.map((d) => `${d.destination} ${d.recipient}`);
        expect(new Set(recipients).size).toBe(recipients.length);
        const planned = new Set(result.deliveries.map((d) => `${d.route} ${d.destination}`));
        const decided = result.decisions
          .filter((d) => d.result === "deliver" || d.result === "muted" || d.result === "held")
          .map((d) => `${d.route} ${d.destination}`);
        expect([...planned].sort()).toEqual(decided.sort());
        for (const delivery of result.deliveries) {
          const standby = delivery.fallback?.to;
          if (standby !== undefined) expect(result.deliveries.some((d) => d.destination === standby)).toBe(false);
        }
      }),
    );
  });

  test("a default route is used exactly when no route that ends the search has matched", () => {
    fc.assert(
      fc.property(anyRoutes, anyAlert, (routes, over) => {
        const { decisions } = createRouter(rules({ destinations, routes })).route(alert(over), [], noon);
        const used = new Set(decisions.filter((d) => d.destination !== undefined).map((d) => d.route));
        const usedDefault = routes.some((r) => r.isDefault && used.has(r.name));
        const isEnded = routes.some((r) => !r.isDefault && !r.continue && used.has(r.name));
        expect(usedDefault && isEnded).toBe(false);
        if (routes.some((r) => r.isDefault && r.matchers.length === 0)) {
          expect(usedDefault || isEnded).toBe(true);
        }
      }),
    );
  });
});
