import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AlertFacts, type AlertOrigin, canaryMark, severities } from "../../src/core/alert.ts";
import type { Matcher, Mute, Route, Rules } from "../../src/core/rules.ts";
import { createRouter } from "../../src/routing/router.ts";
import type { WebhookDestination } from "../../src/vendors/webhook/vendor.ts";
import { alert, chat, is, json, mailbox, mute, noon, route, rules, tellRouting } from "./sample.ts";

const critical = is("severity", "critical");
const info = is("severity", "info");
const hourMs = 3_600_000;

/** What these rules make of an alert at noon. */
function tell(
  over: Partial<Rules>,
  facts?: Partial<AlertFacts>,
  mutes?: Mute[],
  now?: number,
  origin: AlertOrigin = "hook",
  body?: object,
) {
  const payload = body && json(JSON.stringify(body));
  return tellRouting(createRouter(rules(over)), alert(facts, { origin, payload }), mutes, now);
}

const routes = [
  route("critical", ["ops"], { matchers: [critical] }),
  route("info", ["desk"], { matchers: [info] }),
  route("rest", ["log"], { isDefault: true }),
];
const [first, , last] = routes as [Route, Route, Route];
const destinations = [chat("ops"), chat("desk"), chat("log"), chat("backup")];
const drop = route("noise", [], { matchers: [info] });
const archive = route("archive", ["log"], { continue: true });
const toOps = route("rest", ["ops"], { isDefault: true });
const urgent = route("critical", ["desk"], { matchers: [critical] });
const twice = [
  route("a", ["ops"], { continue: true, matchers: [critical] }),
  route("b", ["ops", "desk"], { updates: "new" }),
];
const mails = [mailbox("mail", ["a@x.example", "b@x.example", "a@x.example"])];
const withFallback = route("all", ["ops"], { fallback: { to: "backup", afterMs: 600_000 } });
const hours = { from: "11:00", to: "13:00", except: [] };
const atNoon = { ...hours, except: ["critical" as const] };
const muted = {
  destinations,
  routes: [withFallback],
  mutes: [mute("config:1", [is("token", "USDC")], { endsAt: noon + 60_000 })],
};
const longer = mute("m2", [critical], { startsAt: noon, endsAt: noon + 120_000 });
const untilOver = mute("m4", [is("token", "USDC")], { endsAt: noon + 60_000, untilOver: "tvl:usdc" });
const ofKey = (more: Partial<AlertFacts>) => ({ token: "USDC", alertKey: "tvl:usdc", ...more });
const unread = mute("m3", [{ field: "title", condition: { matches: "(" } }]);
const quiet = {
  destinations: [chat("ops", { quietHours: atNoon }), chat("desk")],
  routes: [route("all", ["ops", "desk"])],
};
const onCall = { ...chat("oncall", { quietHours: atNoon }), type: "pagerduty" };
const paging = { destinations: [onCall], routes: [route("all", ["oncall"])] };
const allDay = chat("ops", { quietHours: { from: "00:00", to: "23:59", except: [] } });
const nightly = { destinations: [allDay], routes: [route("all", ["ops"])] };
const resolved = { status: "resolved" } as const;
const usual = { destinations, routes: [route("all", ["desk"])] };
const ping = { zen: "Design for failure.", hook_id: 7, hook: { events: ["push"] }, repository: { full_name: "a/b" } };
const { bot: _, chatId: __, silent: ___, ...common } = chat("hook");
const program = { ...common, type: "webhook" } as unknown as WebhookDestination;
const ringing = (over: Partial<Route> = {}): Partial<Rules> => ({
  destinations: [chat("desk"), mailbox("mail", ["a@b.example", "c@d.example"]), program],
  routes: [route("all", ["desk", "mail", "hook"], over)],
});
const asTest: [Partial<AlertFacts>, Mute[], number, AlertOrigin] = [{}, [], noon, "test"];

test.each<[string, ...Parameters<typeof tell>]>([
  ["the first that matches, and why each other was not used", { destinations, routes }],
  ["no default route where another matches behind it", { destinations, routes: [last, first] }],
  ["the default route when nothing else has matched", { destinations, routes: [last, first] }, { severity: "info" }],
  ["none, and why, when no route wants it", { destinations, routes: [first] }, { severity: "warning" }],
  ["one that drops it and ends the search", { destinations, routes: [drop, archive, last] }, { severity: "info" }],
  [
    "one that drops it and continues, and the default",
    { destinations, routes: [{ ...drop, continue: true }, last] },
    { severity: "info" },
  ],
  ["one that continues, and the default", { destinations, routes: [archive, toOps] }],
  ["one that continues, and another that ends the search", { destinations, routes: [archive, urgent, toOps] }],
  ["one once to a destination that two name", { destinations, routes: twice }],
  ["one with a mail for each mailbox", { destinations: mails, routes: [route("all", ["mail"])] }],
  ["one with a fallback that waits", { destinations, routes: [withFallback] }],
  [
    "one whose fallback a later route delivers to anyway",
    { destinations, routes: [{ ...withFallback, continue: true }, route("also", ["backup"])] },
  ],
  [
    "one with a fallback that counts from the end of quiet hours",
    { destinations: [chat("ops", { quietHours: hours }), chat("backup")], routes: [withFallback] },
  ],
  ["one that is muted, until when, why, and what matched", muted, { token: "USDC" }],
  ["one by the only mute before another begins", muted, { token: "USDC" }, [longer], noon - 1],
  ["one by the longest, when that begins", muted, { token: "USDC" }, [longer], noon],
  ["one by the longest until it ends", muted, { token: "USDC" }, [longer], noon + 119_999],
  ["none when both have ended", muted, { token: "USDC" }, [longer], noon + 120_000],
  ["one that is muted until it is over", { ...muted, mutes: [] }, ofKey({}), [untilOver]],
  ["one that lets the end of its key through", { ...muted, mutes: [] }, ofKey(resolved), [untilOver]],
  [
    "one that mutes the end of another",
    { ...muted, mutes: [] },
    ofKey({ ...resolved, alertKey: "another" }),
    [untilOver],
  ],
  ["one for which a mute that cannot be read silences nothing", muted, {}, [unread]],
  ["one that quiet hours hold for one destination, until they end", quiet, { severity: "info" }],
  ["one that they hold though it is over", quiet, resolved],
  ["one that they let through as excepted", quiet],
  ["one that they let through as excepted, though nobody knows its state", quiet, { status: "unknown" }],
  ["one that ends an incident in a mute", { ...paging, mutes: [mute("m", [])] }, resolved],
  ["one that opens none in a mute", { ...paging, mutes: [mute("m", [])] }],
  ["one that ends an incident in them", paging, { ...resolved, severity: "info" }],
  ["one that opens none in them", paging, { severity: "info" }],
  ["one that opens an excepted one", paging],
  ["one of a test, neither muted nor held", nightly, {}, [mute("m", [])], noon, "test"],
  ["one of an alert, both muted and held", nightly, {}, [mute("m", [])]],
  ["none of a notice", nightly, {}, [mute("m", [])], noon, "notice"],
  ["none of a canary, whatever the routes say", usual, ...asTest, canaryMark],
  ["one to where a canary is configured to go", { ...usual, canaryTo: ["log"] }, ...asTest, canaryMark],
  ["one of an alert with the words of a canary", usual, {}, [], noon, "hook", canaryMark],
  ["one of another test", usual, ...asTest, { tocsin: "other" }],
  ["one of a test that is a list", usual, ...asTest, ["canary"]],
  ["none of GitHub's ping, with the reason", usual, {}, [], noon, "hook", ping],
  ["one of what only has the words of a ping", usual, {}, [], noon, "hook", { ...ping, hook: "none" }],
  ["one that is held back when it flaps where people read it, and programs get everything", ringing()],
  ["one that flaps and is only answered", ringing({ updates: "reply" })],
  ["one that flaps and is only edited", ringing({ updates: "edit" })],
  // What holds nothing back is remembered: another route may send there as well.
  ["one that is never held back, as its route says", ringing({ ringing: { flapping: false } })],
  ["one with a cooldown, as its route says, for programs too", ringing({ ringing: { cooldownMs: 5 } })],
  ["one that is held back from programs, as its route says", ringing({ ringing: { flapping: true } })],
  ["one of a test that is not judged", ringing(), ...asTest],
  ["one of a canary that is not judged", { ...ringing(), canaryTo: ["desk"] }, ...asTest, canaryMark],
  ["one that is muted, and remembered as others are", ringing(), {}, [mute("m1", [critical])]],
])("an alert takes %s", (_what, ...asked) => {
  expect(tell(...asked)).toMatchSnapshot();
});

test("quiet hours say for what is held already until when they hold it now", () => {
  const { findHold } = createRouter(rules(quiet));
  const warning = { severity: "info", status: "firing" } as const;
  const words = "held until 2026-11-21 13:00 UTC by quiet hours 11:00 to 13:00 UTC";
  expect(findHold("ops", warning, noon)).toEqual({ until: noon + hourMs, words });
  expect(findHold("ops", { ...warning, severity: "critical" }, noon)).toBeUndefined();
  expect(findHold("ops", warning, noon + hourMs)).toBeUndefined();
  for (const name of ["desk", "gone"]) expect(findHold(name, warning, noon)).toBeUndefined();
});

test("what no rule could judge is not judged to ring either", () => {
  const { deliveries } = createRouter(rules(ringing({ isDefault: true }))).routeUnjudged("reading", "why", noon);
  expect(deliveries[0]).not.toHaveProperty("ring", expect.anything());
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
