import { describe, expect, test } from "vitest";
import { botEnv, load, mailEnv, problemsOf } from "./load.ts";

const two = "destinations: { ops: { type: telegram, chatId: -1 }, desk: { type: telegram, chatId: -2 } }\n";
const listOf = (...routes: string[]) => routes.map((route) => `  - { ${route} }\n`).join("");

const problems = (routes: string): [string, string | undefined, string][] =>
  problemsOf(`${two}routes:\n${routes}`, botEnv).map(({ where, path, message }) => [where, path, message]);

const warnings = (yaml: string, env: Record<string, string> = botEnv): string[] =>
  load(yaml, env).warnings.map(({ message }) => message);

test("without routes everything goes everywhere, to the destinations of both sources", () => {
  const { rules } = load(two, { ...botEnv, ...mailEnv, TELEGRAM_CHAT_IDS: "-3", EMAIL_TO: "a@example.com" });
  expect(rules.routes).toMatchObject([{ name: "everything", to: ["telegram:-3", "email", "ops", "desk"] }]);
});

test("a chat that the file and the environment both name gets each alert once, and the double is reported", () => {
  const config = load(two, { ...botEnv, TELEGRAM_CHAT_IDS: "-1,-3" });
  expect(config.rules.routes[0]?.to).toEqual(["telegram:-3", "ops", "desk"]);
  expect(config.warnings.map(({ message }) => message)).toEqual([
    "telegram:-1 and ops reach the same readers: an alert routed to both is sent twice",
  ]);
});

test("routes may name the environment's destinations", () => {
  const { rules } = load("routes: [{ to: [email, 'telegram:-3'] }]", {
    ...botEnv,
    ...mailEnv,
    TELEGRAM_CHAT_IDS: "-3",
    EMAIL_TO: "a@example.com",
  });
  expect(rules.routes[0]?.to).toEqual(["email", "telegram:-3"]);
});

test("a destination with a name that the environment has taken is refused", () => {
  const yaml = "destinations: { email: { type: email, to: b@example.com } }";
  expect(problemsOf(yaml, { ...mailEnv, EMAIL_TO: "a@example.com" })).toMatchObject([
    { path: "destinations.email", message: "is also the name of what EMAIL_TO makes" },
  ]);
});

describe("routes that cannot mean what they say", () => {
  test("a route after one that takes everything", () => {
    expect(problems(listOf("name: all, to: ops", "name: late, match: { chain: eth }, to: desk"))).toEqual([
      [
        "tocsin.yaml:4:5",
        "routes[1]",
        'can never match: route "all" (tocsin.yaml:3:5) takes every alert before it and does not continue',
      ],
    ]);
  });

  test("a route after one with fewer of the same conditions", () => {
    const narrow = "match: { severity: critical, chain: eth }, to: desk";
    const [problem] = problems(listOf("name: wide, match: { chain: eth }, to: ops", narrow));
    expect(problem?.[2]).toContain('route "wide" (tocsin.yaml:3:5) takes every alert that this one would match');
  });

  test.each([
    ["continue", listOf("to: ops, continue: true", "match: { chain: eth }, to: desk")],
    ["other values", listOf("match: { chain: eth }, to: ops", "match: { chain: bsc }, to: desk")],
    ["a default before the others", listOf("default: true, to: ops", "match: { chain: eth }, to: desk")],
  ])("a route below is not refused as unreachable for %s", (_what, routes) => {
    expect(load(`${two}routes:\n${routes}`, botEnv).rules.routes).toHaveLength(2);
  });

  test.each([
    ["two defaults", listOf("default: true, to: ops", "default: true, to: desk"), "[1].default"],
    ["a default that continues", listOf("default: true, continue: true, to: ops"), "[0].continue"],
    ["one name twice", listOf("name: a, match: { chain: eth }, to: ops", "name: a, to: desk"), "[1].name"],
    ["one destination twice", listOf("to: [ops, ops]"), "[0].to[1]"],
    ["an unknown destination", listOf("to: [ops, dsk]"), "[0].to[1]"],
    ["an unknown fallback", listOf("to: ops, fallback: { to: dsk }"), "[0].fallback.to"],
    ["a fallback to itself", listOf("to: ops, fallback: { to: ops }"), "[0].fallback.to"],
    ["bounds that exclude each other", listOf("to: ops, match: { value: { gt: 5, lt: 5 } }"), "[0].match.value"],
    ["a field that no alert has", listOf("to: ops, match: { pool.address: x }"), '[0].match["pool.address"]'],
    ["an empty list", listOf("to: ops, match: { chain: [] }"), "[0].match.chain"],
    ["a null", listOf("to: ops, match: { chain: }"), "[0].match.chain"],
    ["absent and equal", listOf("to: ops, match: { chain: { exists: false, equals: x } }"), "[0].match.chain"],
  ])("refuses %s", (_what, routes, path) => {
    expect(problems(routes).map((problem) => problem[1])).toEqual([`routes${path}`]);
  });
});

describe("what one option cannot be beside another is said in the same run as a mistake of a third", () => {
  test.each([
    ["a fallback to itself", "to: ops, fallback: { to: ops }, freshness: 1s", "fallback.to freshness"],
    ["the same in one map", "to: ops, fallback: { to: ops, after: 1s }", "fallback.after fallback.to"],
    ["a name that is not known", "to: [ops, dsk, ops], fallback: { to: ops }", "fallback.to to[1] to[2]"],
    ["a default that continues", "to: ops, default: true, continue: true, updates: x", "continue updates"],
    ["an option that is not known", "match: { chain: eth }, silnt: info, updates: x", "silnt to updates"],
    ["no destination", "freshness: 1s", "freshness to"],
    ["a drop that cannot be read", "drop: maybe, freshness: 5m", "drop"],
    ["destinations that cannot be read", "to: 7, freshness: 5m, fallback: desk", "fallback to"],
  ])("%s", (_what, route, paths) => {
    const found = problems(listOf(route)).map((problem) => problem[1]);
    expect(found.sort()).toEqual(paths.split(" ").map((path) => `routes[0].${path}`));
  });

  test("also a second default route and a second route of the same name, whichever has other mistakes", () => {
    const routes = ["name: a, to: ops, default: true, freshness: 1s", "name: a, to: desk, default: true"];
    for (const lines of [routes, routes.toReversed()]) {
      const found = problems(listOf(...lines)).map((problem) => problem[1]);
      expect(found).toEqual(expect.arrayContaining(["routes[1].name", "routes[1].default"]));
      expect(found).toHaveLength(3);
    }
  });

  const hmac = "type: hmac, secret: [], header: X-S";
  const backwards = "from: 2027-01-02T00:00:00Z, until: 2027-01-01T00:00:00Z";
  const paths = "idempotencyPaths";
  test.each([
    ["destinations: { m: { type: email, to: foo } }", "destinations.m", "from smtpUrl to"],
    ["destinations: { h: { type: pagerduty, chart: true, prove: 1s } }", "destinations.h", "chart prove routingKey"],
    [`mutes: [{ match: chain=eth, ${backwards}, reason: "" }]`, "mutes[0]", "reason until"],
    [`intake: { maxBodyBytes: 1, ${paths}: [7, id] }`, "intake", `${paths}[0] ${paths}[1] maxBodyBytes`],
    ["mapping: { title: [7, name] }", "mapping", "title[0] title[1]"],
    [`sources: { a: { check: { ${hmac}, signs: '{x}', time: X-T } } }`, "sources.a.check", "secret signs"],
    [`sources: { a: { check: { ${hmac}, time: X-T } } }`, "sources.a.check", "secret time"],
    ["destinations: { o: { type: telegram, chatId: -1 } }\ncanary: { at: [7], days: mon }", "canary", "at[0]"],
  ])("in %s", (yaml, place, paths) => {
    const found = problemsOf(yaml, yaml.includes("type: email") ? {} : botEnv).map(({ path }) => path);
    expect(found.filter((path) => path !== place).sort()).toEqual(paths.split(" ").map((path) => `${place}.${path}`));
  });
});

test.each(["to: []", "drop: true", "to: [], drop: true"])("a route that drops on purpose is written as %s", (drop) => {
  const routes = `routes: [{ name: noise, match: { severity: info }, ${drop} }, { default: true, to: [ops, desk] }]`;
  const config = load(two + routes, botEnv);
  expect(config.rules.routes[0]).toMatchObject({ name: "noise", to: [] });
  expect(config.warnings).toEqual([]);
});

test.each([
  ["destinations as well", "{ drop: true, to: ops }", "routes[0].drop", "names destinations as well"],
  ["no drop", "{ drop: false, to: [] }", "routes[0].drop", "names no destination"],
  ["neither", "{ match: { chain: eth } }", "routes[0].to", "is missing"],
  ["a list that is not there", "{ to: }", "routes[0].to", "is empty"],
  ["a fallback", "{ to: [], fallback: { to: ops } }", "routes[0].fallback", "has no meaning"],
  ["a freshness", "{ drop: true, freshness: 5m }", "routes[0].freshness", "has no meaning"],
  ["updates", "{ drop: true, updates: new }", "routes[0].updates", "has no meaning"],
])("a route that drops on purpose is refused with %s", (_what, written, path, message) => {
  expect(problems(`  - ${written}\n`).map((problem) => problem.slice(1))).toEqual([
    [path, expect.stringContaining(message)],
  ]);
});

test("a route that drops on purpose names a destination of this configuration where one is missing", () => {
  const [problem] = problemsOf(`${two}routes: [{ match: { chain: eth } }]`, botEnv);
  expect(problem?.instead).toBe("write to: [ops], or drop: true to send it to nobody");
});

const unmatched = "an alert that matches no route is kept and shown on the page, and sent to nobody";
const dropsAll = "every route drops what it takes: alerts are kept and shown on the page, and sent to nobody";
const [opsAlone, deskAlone] = ["ops", "desk"].map((name) => `no route sends to the destination ${name}`) as [
  string,
  string,
];
test.each<[string, string[]]>([
  ["{ match: { chain: eth }, to: ops }", [unmatched, deskAlone]],
  [
    "{ name: all, to: ops }, { name: rest, default: true, to: desk }",
    ["the default route rest is never used: route all takes every alert"],
  ],
  ["{ name: all, to: ops, continue: true }, { name: rest, default: true, to: desk }", []],
  ["{ match: chain=eth, to: [] }, { default: true, drop: true }", [dropsAll, opsAlone, deskAlone]],
])("warns of what works and may not be meant in %s", (routes, words) => {
  expect(warnings(`${two}routes: [${routes}]`)).toEqual(words);
});

test("warns of no destination that takes notices", () => {
  const notified = `${two}routes: [{ to: ops }]`.replace(/desk: \{/, "desk: { notices: true,");
  expect(notified).toContain("notices");
  expect(warnings(notified)).toEqual([]);
});

test("a default pace slows channels down and never drives them beyond what they bear", () => {
  const yaml = `
defaults: { pace: { perSecond: 0.5, perMinute: 60 } }
destinations:
  t: { type: telegram, chatId: -1 }
  n: { type: ntfy, topic: x }
  own: { type: telegram, chatId: -2, pace: { perMinute: 20 } }`;
  expect(load(yaml, botEnv).rules.destinations.map(({ pace }) => pace)).toEqual([
    { perSecond: 0.5, perMinute: 18 },
    { perSecond: 0.5, perMinute: 60 },
    { perMinute: 20 },
  ]);
});

describe("what rings", () => {
  const ringingOf = (written: string) =>
    load(`${two}routes: [{ to: [ops, desk], ${written} }]`, botEnv).rules.routes[0]?.ringing;

  test("is read as percentages, numbers, times and a switch", () => {
    expect(ringingOf("again: { furtherBy: 5% }, rearm: { backBy: 0.5 }, cooldown: 30m, flapping: off")).toEqual({
      again: { furtherBy: { percent: 5 } },
      rearm: { backBy: { absolute: 0.5 } },
      cooldownMs: 1_800_000,
      flapping: false,
    });
    const again = { furtherBy: { percent: 2.5 } };
    expect(ringingOf("again: { furtherBy: 2.5 % }, flapping: true")).toEqual({ again, flapping: true });
    expect(ringingOf("updates: new")).toBeUndefined();
  });

  test.each([
    ["again: { furtherBy: -5% }", "again.furtherBy", '"-5%" is not above 0', "write a percentage or a number"],
    ["again: { furtherBy: 0 }", "again.furtherBy", "0 is not above 0", "write a percentage or a number"],
    ["again: { furtherBy: 1001% }", "again.furtherBy", '"1001%" is more than 1000 %', "write at most 1000%"],
    ["again: { furtherBy: far }", "again.furtherBy", '"far" is neither a percentage nor a number', "e.g. 5% or 0.5"],
    ["again: { furtherBy: }", "again.furtherBy", "neither a percentage nor a number", "e.g. 5% or 0.5"],
    ["again: {}", "again.furtherBy", "neither a percentage nor a number", "e.g. 5% or 0.5"],
    ["again: 3%", "again", 'is the value "3%", and a map belongs here', "write { furtherBy: 3% }"],
    ["rearm: soon", "rearm", 'is the value "soon", and a map belongs here', "write { backBy: 2% }"],
    ["rearm: { furtherBy: 3% }", "rearm.backBy", "neither", "e.g. 5% or 0.5"],
    ["cooldown: 9s", "cooldown", '"9s" is out of bounds', "write 10s to 7d"],
    ["cooldown: 8d", "cooldown", '"8d" is out of bounds', "write 10s to 7d"],
    ["flapping: never", "flapping", '"never" is neither on nor off', "write on or off"],
  ])("refuses %s with what to write", (written, path, message, instead) => {
    const [problem] = problemsOf(`${two}routes: [{ to: [ops, desk], ${written} }]`, botEnv);
    expect(problem).toMatchObject({ path: `routes[0].${path}` });
    expect(problem?.message).toContain(message);
    expect(problem?.instead).toContain(instead);
  });

  test.each(["again: { furtherBy: 5% }", "rearm: { backBy: 5% }", "cooldown: 1h", "flapping: off"])(
    "has no meaning where everything is dropped: %s",
    (written) => {
      const path = `routes[0].${written.split(":")[0]}`;
      const message = "has no meaning for a route that drops what it takes";
      expect(problems(listOf(`drop: true, ${written}`))).toMatchObject([[expect.anything(), path, message]]);
    },
  );
});

test("of active hours both ends are asked for", () => {
  expect(problems('  - { to: ops, activeHours: { from: "08:00" } }\n')).toEqual([
    ["tocsin.yaml:3:29", "routes[0].activeHours.to", "is missing"],
  ]);
});

test.each([
  ["{ label: Chart, url: https://example.com }", "is a map, and a list belongs here"],
  ["https://example.com", 'is the value "https://example.com", and a list belongs here'],
])("links that are no list are refused as that: %s", (written, message) => {
  expect(problems(`  - { to: ops, links: ${written} }\n`)).toEqual([["tocsin.yaml:3:23", "routes[0].links", message]]);
});
