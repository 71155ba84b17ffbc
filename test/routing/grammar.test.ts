import { describe, expect, test } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { composeAlert } from "../../src/rendering/compose-alert.ts";
import { createRouter } from "../../src/routing/router.ts";
import { botEnv, load, problemsOf } from "../config/load.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { alert, is, mute, noon, route, rules, tellRouting } from "./sample.ts";

/** What a route asks for, in the map form of the file. */
type Written = { [field: string]: unknown; any?: Written[]; all?: Written[]; not?: Written };
type Known = Partial<Record<string, string>>;

/* The brute force: it shares no line with the router, and says the meaning of the language once more. */

const percent = (part: number, whole: number) => Math.round((part / Math.abs(whole)) * 1e8) / 1e6;

function factOf(field: string, known: Known): string | number | undefined {
  const [value, before, limit] = [known.value, known.previousValue, known.threshold].map((text) => Number(text));
  if (field === "changePercent") return before ? percent((value ?? NaN) - before, before) : undefined;
  if (field !== "distancePercent") return known[field];
  return limit ? percent(Math.abs((value ?? NaN) - limit), limit) : undefined;
}

function fits(glob: string, text: string): boolean {
  if (glob === "") return text === "";
  if (glob[0] === "*") return fits(glob.slice(1), text) || (text !== "" && fits(glob, text.slice(1)));
  return glob[0] === text[0] && text !== "" && fits(glob.slice(1), text.slice(1));
}

function meets(wanted: unknown, fact: string | number | undefined): boolean {
  if (typeof wanted === "string") return fact === wanted;
  return Object.entries(wanted as object).every(([key, bound]) => {
    if (key === "exists") return (fact !== undefined) === bound;
    if (key === "not") return !(bound as string[]).includes(String(fact));
    if (fact === undefined || Number.isNaN(Number(fact)) !== (key === "glob")) return false;
    if (key === "glob") return (bound as string[]).some((glob) => fits(glob, String(fact)));
    const order = Number(fact) - bound;
    return { lt: order < 0, lte: order <= 0, gt: order > 0, gte: order >= 0 }[key] ?? false;
  });
}

function holds(match: Written, known: Known): boolean {
  return Object.entries(match).every(([field, wanted]) => {
    if (field === "any") return match.any?.some((one) => holds(one, known));
    if (field === "all") return match.all?.every((one) => holds(one, known));
    return field === "not" ? !holds(match.not ?? {}, known) : meets(wanted, factOf(field, known));
  });
}

const ops = "destinations: { ops: { type: telegram, chatId: -1 } }\n";
const routerOf = (file: string) => createRouter(load(file, botEnv).rules);
const planOf = (file: string, ...given: Parameters<typeof alert>) =>
  routerOf(file).route(alert(...given), [], noon).deliveries[0];

/* What is tried. */

const { next: random, below, pick } = createSeededRandom(27);
const tokens = ["USDC", "USDT", "DAI", "WETH", "aUSDb"];
const chains = ["eth", "base", "bsc"];
const numbers = ["0", "1", "2.5", "5", "10", "12.5", "100", "-4"];

function makeCondition(): [string, unknown] {
  switch (below(6)) {
    case 0:
      return ["token", { glob: [pick(["US*", "*USD*", "*", "D*I", "*C"]), pick(["W*H", "nothing*"])] }];
    case 1:
      return [
        "token",
        pick<unknown>([pick(tokens), { not: [pick(tokens), pick(tokens)] }, { exists: random() < 0.5 }]),
      ];
    case 2:
      return ["chain", pick(chains)];
    case 3:
      return ["severity", pick(["critical", "warning", "info"])];
    default: {
      const field = pick(["value", "changePercent", "distancePercent", "threshold"]);
      return [field, { [pick(["lt", "lte", "gt", "gte"])]: Number(pick(numbers)) * pick([1, 10, -10]) }];
    }
  }
}

function makeMatch(depth = 0): Written {
  const match: Written = Object.fromEntries(Array.from({ length: 1 + below(2) }, makeCondition));
  const list = () => Array.from({ length: 1 + below(3) }, () => makeMatch(depth + 1));
  if (depth < 3 && random() < 0.5) match.any = list();
  if (depth < 3 && random() < 0.2) match.all = list();
  if (depth < 3 && random() < 0.3) match.not = makeMatch(depth + 1);
  return match;
}

function makeFacts(): Known {
  const maybe = (text: string) => (random() < 0.8 ? text : undefined);
  return {
    severity: pick(["critical", "warning", "info", "unknown"]),
    token: maybe(pick(tokens)),
    chain: maybe(pick(chains)),
    value: maybe(pick(numbers)),
    previousValue: maybe(pick(numbers)),
    threshold: maybe(pick(numbers)),
  };
}

test("2,000 generated alerts by 200 generated routes go where a brute force says", () => {
  const matches = Array.from({ length: 200 }, () => makeMatch());
  const written = matches.map((match, id) => ({ name: `r${id}`, match, to: ["ops"], continue: true }));
  // YAML takes JSON.
  const file = JSON.stringify({ destinations: { ops: { type: "telegram", chatId: -1 } }, routes: written });
  const router = routerOf(file);
  let took = 0;
  for (let id = 0; id < 2_000; id += 1) {
    const known = makeFacts();
    const { decisions } = router.route(alert(known as Partial<AlertFacts>), [], noon);
    const actual = new Set(decisions.flatMap(({ route, result }) => (result === "not_matched" ? [] : [route])));
    const expected = matches.flatMap((match, index) => (holds(match, known) ? [`r${index}`] : []));
    expect([...actual], JSON.stringify(known)).toEqual(expected);
    took += expected.length;
  }
  // Neither nearly none nor nearly all.
  expect(took).toBeGreaterThan(20_000);
  expect(took).toBeLessThan(380_000);
});

describe("active hours", () => {
  const hours = { from: "22:00", to: "03:00", timeZone: "Europe/Zurich" };
  const chats = load(ops, botEnv).rules.destinations;
  const router = createRouter(
    rules({ destinations: chats, routes: [route("night", ["ops"], { activeHours: hours }), route("day", ["ops"])] }),
  );
  const routeAt = (at: string) => router.route(alert(), [], Date.parse(at)).decisions.map(({ result }) => result);

  test.each([
    // The clocks go from 03:00 back to 02:00 on 25 October 2026: the hour from 02:00 comes twice, 03:00 once.
    ["2026-10-24T19:59:59Z", false],
    ["2026-10-24T20:00:00Z", true],
    ["2026-10-25T00:30:00Z", true],
    ["2026-10-25T01:30:00Z", true],
    ["2026-10-25T02:00:00Z", false],
    // And from 02:00 to 03:00 on 29 March 2026.
    ["2026-03-28T21:00:00Z", true],
    ["2026-03-29T00:59:59Z", true],
    ["2026-03-29T01:00:00Z", false],
  ])("on nights when clocks change: %s is within: %s", (at, isWithin) => {
    expect(routeAt(at)).toEqual(isWithin ? ["deliver", "skipped"] : ["not_matched", "deliver"]);
  });

  test("are named where a route takes nothing for them", () => {
    const routes = [route("r", ["ops"], { activeHours: { ...hours, days: [1, 2] } })];
    const [decision] = createRouter(rules({ destinations: chats, routes })).route(alert(), [], noon).decisions;
    const reason = "outside its active hours 22:00 to 03:00 Europe/Zurich on Mon, Tue";
    expect(decision).toEqual({ route: "r", result: "not_matched", reason });
  });

  test("are read from the file, in the zone of the defaults", () => {
    const file = (options: string) =>
      `defaults: { timeZone: Asia/Tokyo }\n${ops}routes:\n  - { to: ops, ${options} }\n`;
    const read = (options: string) => load(file(options), botEnv).rules.routes[0]?.activeHours;
    const week = { from: "08:00", to: "18:00", days: [1, 2, 3, 4, 5], timeZone: "Asia/Tokyo" };
    expect(read('activeHours: { from: "08:00", to: "18:00", days: mon-fri }')).toEqual(week);
    expect(read('activeHours: { from: "08:00", to: "18:00", timeZone: UTC }')?.timeZone).toBe("UTC");
    expect(problemsOf(file('activeHours: { from: "8 am", to: "18:00" }'), botEnv)).toMatchObject([
      { where: "tocsin.yaml:4:37", path: "routes[0].activeHours.from" },
    ]);
    expect(problemsOf(file('silence: 6h, activeHours: { from: "08:00", to: "18:00" }'), botEnv)).toMatchObject([
      { path: "routes[0].silence", message: expect.stringContaining("no meaning beside activeHours") },
    ]);
  });
});

const disabled = `${ops}routes:
  - { name: off, to: ops, disabled: true }
  - { name: rest, to: ops }
mutes:
  - { match: token=USDC, reason: dust, until: 2127-01-01T00:00:00Z, disabled: true }
`;
const usdc = { token: "USDC" };

test("a mute beside one that is disabled still mutes", () => {
  const { deliveries } = routerOf(disabled).route(alert(usdc), [mute("m", [is("token", "USDC")])], noon);
  expect(deliveries).toMatchObject([{ state: "muted" }]);
});

test("a default route that is disabled gets no alert that cannot be read", () => {
  const file = disabled.replaceAll(", to: ops", ", default: true, to: ops");
  const { decisions } = routerOf(file).routeUnjudged("reading", "x", noon);
  expect(decisions).toMatchObject([{ route: "rest", result: "deliver" }]);
});

const silent = `${ops}routes: [{ to: ops, silent: [info] }]\n`;
const linked = (url: string) =>
  `${ops}routes:\n  - to: ops\n    note: Call the risk officer.\n    links: [{ label: Chart, url: "${url}" }]\n`;
const chart = linked("https://dex.example/{chain}/{token}");
const titled = (title: string) =>
  `destinations: { ops: { timeZone: Europe/Zurich, type: telegram, chatId: -1 } }
routes:\n  - to: ops\n    title: ${JSON.stringify(title)}\n`;
const [info, moved] = [{ severity: "info" } as const, { value: "94.3", previousValue: "100", threshold: "25000000" }];
const hostile = { chain: "eth", token: "x/../?a=b&#\u202e\ud800", ...moved };
const known = { chain: "eth", token: "usdc", ...moved };

test.each<[string, string, Partial<AlertFacts>?, object?]>([
  ["that is disabled takes and mutes nothing", disabled, usdc],
  ["makes no sound for its silent severities", silent, info],
  ["makes one for others", silent],
  ["makes one for a person's test", silent, info, { origin: "test" }],
  ["fills its links, percent-encoded", linked("https://dex.example/{chain}/{token}?q={changePercent}"), hostile],
  ["leaves a link out that lacks a fact", chart, { chain: "eth" }],
  ["leaves a link out that leads nowhere", chart, { chain: "..", token: "x" }],
  ["leaves a link out that is too long", chart, { chain: "eth", token: "x".repeat(3_000) }],
  ["has a title of facts", titled("{token|upper} {changePercent|percent} in {chain}"), known],
  ["has one of changes", titled("{changePercent|percent}, {distancePercent|percent}"), { ...known, value: "112.5" }],
  ["has a title of numbers", titled("{value|number} of {threshold|short}"), { ...known, value: "1,234,567.891" }],
  ["rounds no value onto its limit", titled("{value|short}, below {threshold|short}"), { ...known, value: "24999999" }],
  ["shortens an address", titled("{token|short}"), { token: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48" }],
  ["shortens and raises words", titled("{token|short|upper}"), { token: "a token of many words and letters" }],
  ["writes a time in the zone of its destination", titled("at {occurredAt|time}"), { occurredAt: noon }],
  // What a stranger wrote: neither a template nor a line of its own, and nothing that turns ours or says that it is over.
  ["takes no fact for a template", titled("{token}: {chain}"), { token: "{chain}$&", chain: "a\n\nb\u202e\u0000" }],
  ["lets no title say that it is over", titled("{title}"), { title: "Resolved: all is well" }],
  ["fences off what runs from right to left", titled("{token} {chain}"), { token: "שקל", chain: "eth" }],
  ["cuts a title", titled("{text}"), { text: "x".repeat(2_000) }],
  ["leaves one out without a change", titled("{token} {changePercent|percent}"), { token: "USDC", value: "94.3" }],
  ["leaves its title out without a fact", titled("{token}"), { token: "\u200b" }],
  ["leaves its title out for no number", titled("{value|percent}"), { value: "much" }],
  ["leaves its title out for no share", titled("{value|short|percent}"), { value: "25000000" }],
])("a route %s", (_what, file, ...given) => {
  expect(tellRouting(routerOf(file), alert(...given))).toMatchSnapshot();
});

test("a note and links stand in the message before the page", () => {
  const { extras } = planOf(chart, known) ?? {};
  const context = { now: noon, purpose: "alert", possibleRepeat: false, extras } as const;
  const { blocks } = composeAlert({ ...alert(), id: "a", seq: 1, receivedAt: noon }, context, "https://t.example");
  const inlines = blocks.slice(-3).flatMap((block) => ("inlines" in block ? block.inlines : []));
  expect(inlines).toEqual([
    { kind: "text", text: "Call the risk officer." },
    { kind: "link", text: "Chart", href: "https://dex.example/eth/usdc" },
    { kind: "link", text: "Open in Tocsin", href: "https://t.example/alerts/a" },
  ]);
});

test("a title with a filter that this version does not know gives way to the built-in one", () => {
  const { rules } = load(titled("{token}"), botEnv);
  const routes = rules.routes.map((one) => ({ ...one, title: "{token|constructor}" }));
  expect(tellRouting(createRouter({ ...rules, routes }), alert(known))).toContain(
    "title left out: constructor is no filter",
  );
});

test.each([
  ["silent where everything is dropped", silent.replace("to: ops", "drop: true")],
  ["a title where everything is dropped", titled("{token}").replace("to: ops", "drop: true")],
  ...["http://dex.example/{token}", "https://{chain}.example/{token}", "https://dex.example{token}"].map((url) => [
    url,
    linked(url),
  ]),
  ...["https://me@dex.example/", "https://dex.example/{tokn}", "https://dex.example/{token"].map((url) => [
    url,
    linked(url),
  ]),
  ...["{tokn}", "{}", "{payload.x}", "{token|uper}", "{token|percent}", "{value|time}"].map((title) => [
    title,
    titled(title),
  ]),
  ...["{token", "token}", " ", "x".repeat(301)].map((title) => [title, titled(title)]),
] as [string, string][])("%s is refused at its place, with what to write", (_what, file) => {
  expect(problemsOf(file, botEnv)).toMatchSnapshot();
});
