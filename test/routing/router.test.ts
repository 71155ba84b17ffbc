import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { severities } from "../../src/core/alert.ts";
import type { Matcher, Route } from "../../src/core/rules.ts";
import { createRouter } from "../../src/routing/router.ts";
import { alert, chat, is, mailbox, mute, noon, route, rules } from "./sample.ts";

const critical = is("severity", "critical");
const info = is("severity", "info");

describe("which routes an alert takes", () => {
  const three = [
    route("critical", ["ops"], { matchers: [critical] }),
    route("info", ["desk"], { matchers: [info] }),
    route("rest", ["log"], { isDefault: true }),
  ];
  const router = createRouter(rules({ destinations: [chat("ops"), chat("desk"), chat("log")], routes: three }));

  test("stops at the first that matches, and says of each other why it was not used", () => {
    expect(router.route(alert(), [], noon)).toEqual({
      decisions: [
        { route: "critical", destination: "ops", result: "deliver", reason: "severity is critical" },
        {
          route: "info",
          result: "skipped",
          reason: "not asked: route critical has matched before it and does not continue",
        },
        {
          route: "rest",
          result: "not_matched",
          reason: "the default route is not used: route critical has matched",
        },
      ],
      deliveries: [
        {
          destination: "ops",
          channel: "telegram",
          recipient: "-1003",
          route: "critical",
          state: "queued",
          reason: "severity is critical",
          dueAt: noon,
          updates: "auto",
          ring: { flapping: true, editsForMs: 60_000 },
        },
      ],
    });
  });

  test("takes the default route only when nothing else has matched, wherever it stands", () => {
    const first = createRouter(
      rules({ destinations: [chat("ops"), chat("log")], routes: [...three.slice(2), ...three.slice(0, 1)] }),
    );
    expect(first.route(alert(), [], noon).deliveries.map((d) => d.route)).toEqual(["critical"]);
    const { decisions, deliveries } = first.route(alert({ severity: "info" }), [], noon);
    expect(deliveries.map((d) => d.route)).toEqual(["rest"]);
    expect(decisions.map((d) => d.reason)).toEqual([
      "default route: no other route matched",
      "severity is info, not critical",
    ]);
  });

  test("says why, when no route wants an alert", () => {
    const router = createRouter(rules({ destinations: [chat("ops")], routes: three.slice(0, 1) }));
    expect(router.route(alert({ severity: "warning" }), [], noon)).toEqual({
      decisions: [{ route: "critical", result: "not_matched", reason: "severity is warning, not critical" }],
      deliveries: [],
    });
  });
});

describe("to nobody, on purpose", () => {
  const drop = route("noise", [], { matchers: [info] });
  const destinations = [chat("ops"), chat("log")];

  test("a route without destinations takes an alert, ends the search and sends nothing", () => {
    const routes = [drop, route("all", ["ops"]), route("rest", ["log"], { isDefault: true })];
    const { decisions, deliveries } = createRouter(rules({ destinations, routes })).route(
      alert({ severity: "info" }),
      [],
      noon,
    );
    expect(deliveries).toEqual([]);
    expect(decisions).toMatchObject([
      { route: "noise", result: "dropped", reason: "severity is info; dropped on purpose by route noise" },
      { route: "all", result: "skipped" },
      { route: "rest", result: "not_matched" },
    ]);
    expect(decisions[0]?.destination).toBeUndefined();
  });

  test("one that continues leaves the alert to later routes and to the default", () => {
    const routes = [{ ...drop, continue: true }, route("rest", ["log"], { isDefault: true })];
    const { decisions, deliveries } = createRouter(rules({ destinations, routes })).route(
      alert({ severity: "info" }),
      [],
      noon,
    );
    expect(decisions.map(({ result }) => result)).toEqual(["dropped", "deliver"]);
    expect(deliveries.map(({ destination }) => destination)).toEqual(["log"]);
  });
});

describe("a route that continues", () => {
  const archive = route("archive", ["log"], { continue: true });
  const rest = route("rest", ["ops"], { isDefault: true });
  const destinations = [chat("ops"), chat("log"), chat("desk")];

  test("keeps no alert from the default route", () => {
    const router = createRouter(rules({ destinations, routes: [archive, rest] }));
    const { decisions, deliveries } = router.route(alert(), [], noon);
    expect(deliveries.map(({ destination }) => destination)).toEqual(["log", "ops"]);
    expect(decisions[1]?.reason).toBe("default route: only routes that continue matched (archive)");
  });

  test("leaves the default route alone once another has ended the search", () => {
    const ending = route("critical", ["desk"], { matchers: [critical] });
    const router = createRouter(rules({ destinations, routes: [archive, ending, rest] }));
    const { decisions, deliveries } = router.route(alert(), [], noon);
    expect(deliveries.map(({ destination }) => destination)).toEqual(["log", "desk"]);
    expect(decisions.at(-1)?.reason).toBe("the default route is not used: route critical has matched");
  });
});

test("delivers once to a destination that two routes name, and says so", () => {
  const router = createRouter(
    rules({
      destinations: [chat("ops"), chat("desk")],
      routes: [
        route("a", ["ops"], { continue: true, matchers: [critical] }),
        route("b", ["ops", "desk"], { updates: "new" }),
      ],
    }),
  );
  const { decisions, deliveries } = router.route(alert(), [], noon);
  expect(deliveries.map((d) => [d.destination, d.route, d.updates])).toEqual([
    ["ops", "a", "auto"],
    ["desk", "b", "new"],
  ]);
  expect(decisions[1]).toEqual({
    route: "b",
    destination: "ops",
    result: "skipped",
    reason: "it takes every alert; route a already delivers it there",
  });
});

test("plans one mail for each mailbox", () => {
  const router = createRouter(
    rules({
      destinations: [mailbox("mail", ["a@x.example", "b@x.example", "a@x.example"])],
      routes: [route("all", ["mail"])],
    }),
  );
  const { decisions, deliveries } = router.route(alert(), [], noon);
  expect(deliveries.map((d) => d.recipient)).toEqual(["a@x.example", "b@x.example"]);
  expect(decisions).toHaveLength(1);
});

describe("a fallback", () => {
  const destinations = [chat("ops"), chat("backup")];
  const withFallback = route("all", ["ops"], { fallback: { to: "backup", afterMs: 600_000 } });

  test("waits, with the time after which it is notified", () => {
    const router = createRouter(rules({ destinations, routes: [withFallback] }));
    const { decisions, deliveries } = router.route(alert(), [], noon);
    expect(deliveries[0]?.fallback).toEqual({ to: "backup", at: noon + 600_000 });
    expect(decisions[1]).toEqual({
      route: "all",
      destination: "backup",
      result: "standby",
      reason: "fallback: used if a delivery of this route fails or takes longer than 10 min",
    });
  });

  test("is not planned where a later route delivers anyway", () => {
    const router = createRouter(
      rules({ destinations, routes: [{ ...withFallback, continue: true }, route("also", ["backup"])] }),
    );
    const { decisions, deliveries } = router.route(alert(), [], noon);
    expect(deliveries.map((d) => [d.destination, d.fallback])).toEqual([
      ["ops", undefined],
      ["backup", undefined],
    ]);
    expect(decisions.map((d) => d.result)).toEqual(["deliver", "skipped", "deliver"]);
  });

  test("counts from the end of quiet hours for a delivery that is held", () => {
    const quiet = chat("ops", { quietHours: { from: "11:00", to: "13:00", except: [] } });
    const router = createRouter(rules({ destinations: [quiet, chat("backup")], routes: [withFallback] }));
    const [delivery] = router.route(alert(), [], noon).deliveries;
    expect(delivery?.dueAt).toBe(noon + 3_600_000);
    expect(delivery?.fallback?.at).toBe(noon + 3_600_000 + 600_000);
  });
});

describe("mutes", () => {
  const router = createRouter(
    rules({
      destinations: [chat("ops"), chat("backup")],
      routes: [route("all", ["ops"], { fallback: { to: "backup", afterMs: 1 } })],
      mutes: [mute("config:1", [is("token", "USDC")], { endsAt: noon + 60_000 })],
    }),
  );

  test("keep the delivery and say until when, why, and what matched", () => {
    const { decisions, deliveries } = router.route(alert({ token: "USDC" }), [], noon);
    const reason = "it takes every alert; muted until 2026-11-21 12:01 UTC: maintenance (token is USDC)";
    expect(deliveries).toMatchObject([{ state: "muted", reason, dueAt: noon }]);
    expect(deliveries[0]?.fallback).toBeUndefined();
    expect(decisions).toMatchObject([
      { destination: "ops", result: "muted", muteId: "config:1", reason },
      { destination: "backup", result: "skipped" },
    ]);
  });

  test("begin and end on time, and the longest is named", () => {
    const later = mute("m2", [is("severity", "critical")], { startsAt: noon, endsAt: noon + 120_000 });
    const muteIdAt = (now: number): string | undefined =>
      router.route(alert({ token: "USDC" }), [later], now).decisions[0]?.muteId;
    expect(muteIdAt(noon - 1)).toBe("config:1");
    expect(muteIdAt(noon)).toBe("m2");
    expect(muteIdAt(noon + 119_999)).toBe("m2");
    expect(muteIdAt(noon + 120_000)).toBeUndefined();
  });

  test("a mute until it is over says so, and lets the end of its key through", () => {
    const facts = { token: "USDC", alertKey: "tvl:usdc" };
    const muted = mute("m4", [is("token", "USDC")], { endsAt: noon + 60_000, untilOver: "tvl:usdc" });
    const router = createRouter(rules({ destinations: [chat("ops")], routes: [route("all", ["ops"])] }));
    const take = (changes: object) => router.route(alert({ ...facts, ...changes }), [muted], noon);
    expect(take({}).deliveries[0]?.reason).toContain("muted until it is over, at the latest 2026-11-21 12:01 UTC");
    expect(take({ status: "resolved" }).deliveries).toMatchObject([{ state: "queued" }]);
    expect(take({ status: "resolved", alertKey: "another" }).deliveries).toMatchObject([{ state: "muted" }]);
  });

  test("a mute that cannot be read silences nothing, and the decision says so", () => {
    const broken = mute("m3", [{ field: "title", condition: { matches: "(" } }]);
    const { deliveries } = router.route(alert(), [broken], noon);
    expect(deliveries[0]?.state).toBe("queued");
    expect(deliveries[0]?.reason).toContain("mute m3 was ignored");
  });
});

describe("quiet hours", () => {
  const quietHours = { from: "11:00", to: "13:00", except: ["critical"] };
  const router = createRouter(
    rules({
      destinations: [chat("ops", { quietHours }), chat("desk")],
      routes: [route("all", ["ops", "desk"])],
    }),
  );

  test("hold what is not urgent until they end, for their destination only", () => {
    const { decisions, deliveries } = router.route(alert({ severity: "info" }), [], noon);
    expect(deliveries.map((d) => [d.state, d.dueAt])).toEqual([
      ["held", noon + 3_600_000],
      ["queued", noon],
    ]);
    expect(decisions[0]).toMatchObject({
      result: "held",
      reason: "it takes every alert; held until 2026-11-21 13:00 UTC by quiet hours 11:00 to 13:00 UTC",
    });
  });

  test("let excepted severities through", () => {
    expect(router.route(alert(), [], noon).deliveries[0]?.state).toBe("queued");
  });

  test("hold what is over, whatever its severity, and say why", () => {
    const { decisions, deliveries } = router.route(alert({ status: "resolved" }), [], noon);
    expect(deliveries.map((d) => [d.state, d.dueAt])).toEqual([
      ["held", noon + 3_600_000],
      ["queued", noon],
    ]);
    expect(decisions[0]?.reason).toMatch(/; resolved: waits for the end of the quiet hours$/);
  });

  test("hold nothing that ends an incident, and of what opens one all but the excepted", () => {
    const onCall = { ...chat("oncall", { quietHours }), type: "pagerduty" };
    const paging = createRouter(rules({ destinations: [onCall], routes: [route("all", ["oncall"])] }));
    const stateOf = (facts: Parameters<typeof alert>[0]) => paging.route(alert(facts), [], noon).deliveries[0]?.state;
    expect(stateOf({ status: "resolved", severity: "info" })).toBe("queued");
    expect(stateOf({ severity: "info" })).toBe("held");
    expect(stateOf({ severity: "critical" })).toBe("queued");
  });

  test("say for what is held already until when they hold it now", () => {
    expect(router.findHold("ops", { severity: "info", status: "firing" }, noon)).toEqual({
      until: noon + 3_600_000,
      words: "held until 2026-11-21 13:00 UTC by quiet hours 11:00 to 13:00 UTC",
    });
    expect(router.findHold("ops", { severity: "critical", status: "firing" }, noon)).toBeUndefined();
    expect(router.findHold("ops", { severity: "info", status: "firing" }, noon + 3_600_000)).toBeUndefined();
    expect(router.findHold("desk", { severity: "info", status: "firing" }, noon)).toBeUndefined();
    expect(router.findHold("gone", { severity: "info", status: "firing" }, noon)).toBeUndefined();
  });

  test.each(["firing", "unknown"] as const)("let an excepted severity through that is %s", (status) => {
    expect(router.route(alert({ status }), [], noon).deliveries[0]?.state).toBe("queued");
  });
});

test("a test alert travels the same routes, and is neither muted nor held", () => {
  const quietHours = { from: "00:00", to: "23:59", except: [] };
  const router = createRouter(rules({ destinations: [chat("ops", { quietHours })], routes: [route("all", ["ops"])] }));
  const all = mute("m", []);
  expect(router.route(alert({}, { origin: "test" }), [all], noon).deliveries).toMatchObject([{ state: "queued" }]);
  expect(router.route(alert(), [all], noon).deliveries).toMatchObject([{ state: "muted" }]);
});

test("a notice is not routed by rules", () => {
  const router = createRouter(rules({ destinations: [chat("ops")], routes: [route("all", ["ops"])] }));
  expect(router.route(alert({}, { origin: "notice" }), [], noon)).toEqual({ decisions: [], deliveries: [] });
});

test("refuses rules that name an unknown destination", () => {
  expect(() => createRouter(rules({ routes: [route("all", ["nobody"])] }))).toThrow(/nobody/);
  const fallback = { to: "nobody", afterMs: 1 };
  expect(() => createRouter(rules({ destinations: [chat("a")], routes: [route("all", ["a"], { fallback })] }))).toThrow(
    /nobody/,
  );
});

describe("for every alert and every set of routes", () => {
  const names = ["a", "bb", "ccc", "dddd"];
  const destinations = names.map((name) =>
    name === "bb" ? mailbox(name, ["x@x.example", "y@x.example"]) : chat(name),
  );
  const anyMatchers = fc.constantFrom<Matcher[]>(
    [],
    [critical],
    [info],
    [is("chain", "eth")],
    [critical, is("chain", "eth")],
  );
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
  const anyMutes = fc.subarray([mute("m1", [critical]), mute("m2", [is("chain", "eth")])]);

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

  test("the order of the alert's fields changes nothing", () => {
    fc.assert(
      fc.property(anyRoutes, anyAlert, (routes, over) => {
        const router = createRouter(rules({ destinations, routes }));
        const plain = alert(over);
        const reversed = Object.fromEntries(Object.entries(plain.facts).reverse()) as typeof plain.facts;
        expect(router.route({ ...plain, facts: reversed }, [], noon)).toEqual(router.route(plain, [], noon));
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
