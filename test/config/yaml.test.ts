import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { secretTextsOf } from "../../src/config/secret-texts.ts";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import { Secret } from "../../src/core/secret.ts";
import { referTo } from "../../src/ground/shape/refusal.ts";
import { vendors } from "../../src/vendors/index.ts";
import { createCostMeter } from "../support/cpu-cost.ts";
import { expectWords } from "../support/expect-words.ts";
import { botEnv, botToken, errorOf, exampleEnv, load, mailEnv, problemsOf, whsec } from "./load.ts";

const example = readFileSync(new URL("../../tocsin.example.yaml", import.meta.url), "utf8");

describe("the example file", () => {
  const config = load(example, exampleEnv);

  test("loads, without a warning", () => {
    expect(config.warnings).toEqual([]);
    const types = new Set(config.rules.destinations.map(({ type }) => type));
    expect([...types]).toEqual(vendors.map(({ type }) => type));
    expect(config.rules.routes.map(({ name }) => name)).toEqual(["critical", "large-moves", "staging", "rest"]);
  });

  test("means what its comments say", () => {
    const [ops, desk, mail, hook] = config.rules.destinations;
    expect(ops).toMatchObject({ name: "ops", chatId: "-1001234567890", topicId: 42, timeZone: "Europe/Zurich" });
    expect(desk).toMatchObject({
      timeZone: "America/New_York",
      quietHours: { from: "22:00", to: "07:00", days: [1, 2, 3, 4, 5], except: ["critical"] },
    });
    expect(mail).toMatchObject({ onAmbiguous: "hold", from: "Tocsin <tocsin@example.com>" });
    expect(hook?.type === "webhook" && hook.headers.Authorization?.reveal()).toBe("Bearer canaryIncident");
    expect(hook?.type === "webhook" && hook.secret?.reveal()).toBe(whsec);
    expect(config.rules.routes[0]).toEqual({
      ...{ name: "critical", continue: true, isDefault: false, updates: "auto" },
      matchers: [
        { field: "severity", condition: { equals: ["critical"] } },
        { field: "chain", condition: { equals: ["eth", "arbitrum"] } },
      ],
      to: ["ops", "desk", "team-discord", "treasury-mail", "phones", "incident-hook", "on-call", "office"],
      fallback: { to: "everything-else", afterMs: 600_000 },
      definedAt: expect.stringMatching(/^tocsin\.yaml:\d+:5$/),
    });
    expect(config.rules.mutes[0]).toMatchObject({
      id: "configuration:1",
      endsAt: Date.parse("2026-12-02T05:00:00Z"),
      createdBy: "configuration",
    });
  });

  test("writes out the defaults of delivery exactly", () => {
    expect(config.delivery).toEqual(defaultDeliverySettings());
  });

  test("says for each destination how long it may be quiet until it is probed: an hour, as `prove` says, or never", () => {
    const telegram = (name: string, prove: string) =>
      `  ${name}: { type: telegram, chatId: -1${name.length}${prove} }\n`;
    const provenAfter = (yaml: string) =>
      Object.fromEntries(load(yaml, botEnv).rules.destinations.map(({ name, proveEveryMs }) => [name, proveEveryMs]));
    const destinations = `destinations:\n${telegram("a", "")}${telegram("bb", ", prove: off")}${telegram("ccc", ", prove: 2d")}`;
    const hour = 3_600_000;
    expect(provenAfter(destinations)).toEqual({ a: hour, bb: undefined, ccc: 48 * hour });
    expect(provenAfter(`defaults: { prove: off }\n${destinations}`)).toEqual({ ccc: 48 * hour });
    expect(problemsOf("defaults: { prove: 1m }", botEnv)).toMatchObject([
      { path: "defaults.prove", message: '"1m" is out of bounds', instead: "write 5m to 7d, or off" },
    ]);
  });

  test("says where a picture joins the messages: where the channel can show one, unless it is not wanted", () => {
    const destinations = `
destinations:
  desk: { type: telegram, chatId: -1001 }
  quiet: { type: telegram, chatId: -1002, chart: false }
  loud: { type: discord, url: "\${DISCORD_WEBHOOK_URL}", chart: true }
  hook: { type: webhook, url: "https://example.com/in" }
`;
    const chartsOf = (yaml: string) =>
      Object.fromEntries(load(yaml, exampleEnv).rules.destinations.map(({ name, chart }) => [name, chart]));
    expect(chartsOf(destinations)).toMatchObject({ desk: true, quiet: false, loud: true, hook: undefined });
    const none = { desk: false, quiet: false, loud: true, hook: undefined };
    expect(chartsOf(`defaults: { chart: false }${destinations}`)).toMatchObject(none);
    const yaml = 'destinations: { hook: { type: webhook, url: "https://example.com/in", chart: true } }';
    const message = "a destination of type webhook shows no pictures";
    const instead = expect.stringMatching(/^leave it out; telegram.* show them$/);
    const where = expect.stringMatching(/^tocsin\.yaml:1:/);
    expect(problemsOf(yaml)).toMatchObject([{ where, path: "destinations.hook.chart", message, instead }]);
  });

  test("takes the heartbeat's address from the environment alone, and knows the service by it", () => {
    const heartbeatTo = (url: string, more = "") =>
      load(`heartbeat: { url: "\${URL}"${more} }`, { ...botEnv, URL: url }).heartbeat;
    const plain = { service: "healthchecks", method: "GET", everyMs: 60_000, allowInternal: [] };
    expect(heartbeatTo("https://hc-ping.com/1b2c3d4e-aaaa")).toMatchObject(plain);
    for (const [url, service] of [
      ["https://checks.example.com/ping/1b2c3d4e-aaaa", "healthchecks"],
      ["https://kuma.example.com/api/push/Ab12?status=up&msg=OK&ping=", "uptime-kuma"],
      ["https://uptime.betterstack.com/api/v1/heartbeat/XYZ", "better-stack"],
      ["https://cronitor.link/p/KEY/tocsin", "cronitor"],
      ["https://example.com/alive", "other"],
    ])
      expect(heartbeatTo(String(url))?.service).toBe(service);
    const written = heartbeatTo("https://example.com/alive", ", service: healthchecks, every: 5m, method: POST");
    expect(written).toMatchObject({ service: "healthchecks", method: "POST", everyMs: 300_000 });
    const problems = (yaml: string) => problemsOf(yaml, botEnv).map(({ path, message }) => `${path} ${message}`);
    expect(problems("heartbeat: { url: https://hc-ping.com/secret }")).toEqual([
      "heartbeat.url is secret and does not belong in the file",
    ]);
    expect(problems("heartbeat: { every: 1s, method: PUT, to: x }")).toHaveLength(4);
  });

  test("shows no secret when it is printed, and lists each for those who must mask them", () => {
    expect(JSON.stringify(config)).not.toContain("canary");
    const server = { webhookSecret: new Secret("canaryHook"), adminToken: new Secret("canaryAdmin") };
    expect(secretTextsOf(config, server)).toEqual([
      "canaryHook",
      "canaryAdmin",
      exampleEnv.GITHUB_HOOK_SECRET,
      exampleEnv.GITHUB_HMAC,
      exampleEnv.TREASURY_API_KEY,
      exampleEnv.ALERTING_API_KEY,
      exampleEnv.HEARTBEAT_URL,
      botToken,
      "canarySmtpPassword",
      whsec,
      "Bearer canaryIncident",
      exampleEnv.SLACK_WEBHOOK_URL,
      exampleEnv.DISCORD_WEBHOOK_URL,
      exampleEnv.NTFY_TOKEN,
      exampleEnv.PAGERDUTY_ROUTING_KEY,
      exampleEnv.TEAMS_WORKFLOW_URL,
    ]);
  });
});

describe("lines and words of mistakes", () => {
  test("all of a file are reported at once, in its order, with line, column, path and advice", () => {
    const problems = problemsOf(
      [
        "defaults: { timeZone: Europe/Zürich }", // 1
        "destinations:", // 2
        "  ops:", // 3
        "    type: telegram", // 4
        "    chatId: 1001234567890", // 5
        "    silnt: true", // 6
        "  desk: { type: telegrm }", // 7
        "routes:", // 8
        "  - name: a", // 9
        "    match: { severty: critical, severity: critcal, value: { gt: abc }, title: { matches: '(' } }", // 10
        "    to: [opps]", // 11
        "delivery: { schedule: [1s, 5] }", // 12
        "rutes: []", // 13
      ].join("\n"),
      botEnv,
    );
    const re2 = "patterns are in RE2 syntax, which has no look-ahead, look-behind or back-references";
    expect(problems.map(({ where, path, instead }) => [where, path, instead])).toEqual([
      ["tocsin.yaml:1:23", "defaults.timeZone", "write an IANA name, e.g. Europe/Zurich or UTC"],
      ["tocsin.yaml:5:13", "destinations.ops.chatId", "write -1001234567890; an id without '-' is a person's"],
      ["tocsin.yaml:6:5", "destinations.ops.silnt", "did you mean silent?"],
      ["tocsin.yaml:7:17", "destinations.desk.type", "did you mean telegram?"],
      ["tocsin.yaml:10:23", "routes[0].match.severty", "did you mean severity?"],
      ["tocsin.yaml:10:43", "routes[0].match.severity", "did you mean critical?"],
      ["tocsin.yaml:10:65", "routes[0].match.value.gt", "write e.g. 1000000 or 2.5"],
      ["tocsin.yaml:10:90", "routes[0].match.title.matches", re2],
      ["tocsin.yaml:11:10", "routes[0].to[0]", "did you mean ops?"],
      ["tocsin.yaml:12:28", "delivery.schedule[1]", "write a number with its unit, e.g. 90s, 15m, 2h or 7d"],
      ["tocsin.yaml:13:1", "rutes", "did you mean routes?"],
    ]);
  });

  test("the error as a whole is one text with every mistake", () => {
    const error = errorOf("destinations:\n  ops: { type: telegram, chatId: '@x' }\n", botEnv);
    expect(error.code).toBe("config_invalid");
    expect(error.message.split("\n").slice(0, 2)).toEqual([
      "the configuration has a mistake:",
      `  tocsin.yaml:2:34  destinations.ops.chatId: "@x": names can be given away to others, so the id is needed`,
    ]);
  });

  test.each([
    ["a: [\nb: 1", "tocsin.yaml:2:1"],
    ["routes:\n\t- {}", "tocsin.yaml:2:1"],
    ["routes: []\nroutes: []", "tocsin.yaml:2:1"],
    ["routes: []\n---\nroutes: []", "tocsin.yaml:2:1"],
  ])("broken YAML %j is reported with its line", (yaml, where) => {
    expect(problemsOf(yaml)[0]).toMatchObject({ where, message: expect.stringContaining("not YAML") });
  });

  test("a text that begins with * is said to need quotes, once", () => {
    const yaml = "routes: [{ match: { title: *tvl }, to: x }]\ndestinations: { x: { type: ntfy, topic: x } }";
    const message = "there is no anchor of this name above";
    const instead = "put a text that begins with * in quotes";
    const [where, path] = ["tocsin.yaml:1:28", "routes[0].match.title"];
    expect(problemsOf(yaml)).toEqual([{ where, path, message, instead }]);
  });

  test.each([
    ["destinations: []", "destinations"],
    ["destinations: { ops: }", "destinations.ops"],
    ["destinations: { ops: { chatId: -5 } }", "destinations.ops.type"],
    ["destinations: { 'a b': { type: ntfy, topic: x } }", 'destinations["a b"]'],
    ["routes: {}", "routes"],
    ["routes: [x]", "routes[0]"],
    ["routes: [{}]", "routes[0].to"],
    ["mutes: [{ match: {}, reason: x, until: 2027-01-01T00:00:00Z }]", "mutes[0].match"],
    ["mutes: [{ match: { token: x }, reason: x, until: 2027-01-01 }]", "mutes[0].until"],
    ["mutes: [{ match: { token: x }, until: 2027-01-01T00:00:00Z }]", "mutes[0].reason"],
    [
      "mutes: [{ match: token=x, reason: x, from: 2027-01-02T00:00:00Z, until: 2027-01-01T00:00:00Z }]",
      "mutes[0].until",
    ],
    ["intake: { idempotencyPaths: [eventId] }", "intake.idempotencyPaths[0]"],
    ["intake: { idempotencyPaths: ['payload.items[*].id'] }", "intake.idempotencyPaths[0]"],
    ["intake: { maxBodyBytes: 1MB }", "intake.maxBodyBytes"],
    ["mapping: [title]", "mapping"],
    ["mapping: { titel: payload.a }", "mapping.titel"],
    ["mapping: { title: rule.headline }", "mapping.title[0]"],
    ["mapping: { title: [payload.a, 'payload.items[*].id'] }", "mapping.title[1]"],
    ["mapping: { title: [payload.a, payload.a] }", "mapping.title[1]"],
    ["mapping: { title: payload }", "mapping.title[0]"],
    ["mapping: { title: }", "mapping.title"],
    [`mapping: { title: [${[...Array(17).keys()].map((at) => `payload.a${at}`)}] }`, "mapping.title[16]"],
    ["delivery: { breaker: { pase: 20m } }", "delivery.breaker.pase"],
    ["watch: yes please", "watch"],
    ["watch: { every: 5s }", "watch.every"],
    ["watch: { every: 2h }", "watch.every"],
    ["watch: { putBack: maybe }", "watch.putBack"],
    ["watch: { gaps: 10s }", "watch.gaps"],
    ["watch: { account: true }", "watch.account"],
    ["retention: soon", "retention.age"],
    ["retention: { age: 30 }", "retention.age"],
    ["retention: { age: 1h }", "retention.age"],
    ["retention: { size: 5 }", "retention.size"],
    ["retention: { size: 1 MB }", "retention.size"],
    ["retention: { days: 5 }", "retention.days"],
    ["- a", undefined],
    ["just text", undefined],
  ])("%s", (yaml, path) => {
    const problems = problemsOf(yaml);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.path).toBe(path);
  });

  test("options that have gone are warned of by their lines, and have no effect", () => {
    const yaml = "delivery:\n  jitter: 0.5\n  lease: 1s\n  shutdown: 1m\n  breaker: { pause: 20m, maxPause: 1s }\n";
    const { delivery, warnings } = load(yaml, { ...mailEnv, EMAIL_TO: "a@example.com" });
    expect(warnings.map(({ where, message }) => [where, message.split(":")[0]])).toEqual([
      ["tocsin.yaml:2:3", "jitter has no effect any more"],
      ["tocsin.yaml:3:3", "lease has no effect any more"],
      ["tocsin.yaml:4:3", "shutdown has no effect any more"],
      ["tocsin.yaml:5:26", "maxPause has no effect any more"],
    ]);
    const { jitter, leaseMs, shutdownMs, breaker } = defaultDeliverySettings();
    expect(delivery).toMatchObject({ jitter, leaseMs, shutdownMs });
    expect(delivery.breaker).toEqual({ ...breaker, firstPauseMs: 1_200_000, maxPauseMs: 24_000_000 });
  });

  test("options that have gone are proposed for no other", () => {
    expect(problemsOf("delivery: { jiter: 0.5, retries: 3 }")).toMatchObject([
      { path: "delivery.jiter", instead: expect.not.stringMatching(/jitter|lease|shutdown/) },
      { path: "delivery.retries", instead: expect.not.stringMatching(/jitter|lease|shutdown/) },
    ]);
  });

  test.each([
    ["retention: off", {}],
    ["retention: 30d", { maxAgeMs: 30 * 86_400_000 }],
    ["retention: { age: off }", {}],
    ["retention: { age: 30d, size: 20 GB }", { maxAgeMs: 30 * 86_400_000, maxBytes: 20 * 2 ** 30 }],
    ["retention: { size: 1.5g }", { maxAgeMs: 90 * 86_400_000, maxBytes: 1.5 * 2 ** 30 }],
    ["retention:", { maxAgeMs: 90 * 86_400_000 }],
  ])("%s", (yaml, expected) => {
    expect(load(yaml).retention).toEqual(expected);
  });

  test("the watch is on, asks every minute, and puts nothing back unless it is told to", () => {
    const plain = { enabled: true, everyMs: 60_000, putBack: false, gapsEveryMs: 900_000 };
    expect(load("").watch).toEqual(plain);
    expect(load("watch:").watch).toEqual(plain);
    const off = load("watch: { enabled: false, every: 30s }").watch;
    expect(off).toEqual({ ...plain, enabled: false, everyMs: 30_000 });
    expect(load("watch: { gaps: 1h }").watch).toEqual({ ...plain, gapsEveryMs: 3_600_000 });
    for (const never of ["off", "false"]) expect(load(`watch: { gaps: ${never} }`).watch.gapsEveryMs).toBeUndefined();
    const service = { ALERTING_URL: "https://service.example", ALERTING_API_KEY: "canary-key" };
    const yaml = "watch: { putBack: true }";
    const warnings = (env: Record<string, string>) => load(yaml, env).warnings.map(({ where }) => where);
    expect(load(yaml, service).watch).toEqual({ ...plain, putBack: true });
    expect(warnings(service)).not.toContain("tocsin.yaml:1:10");
    expect(warnings({})).toContain("tocsin.yaml:1:10");
  });

  test.each(["", "# nothing but a comment\n", "---\n", "destinations:\nroutes:\n", "defaults:\n"])(
    "a file of nothing is no mistake: %j",
    (yaml) => {
      expect(load(yaml).rules.destinations).toEqual([]);
    },
  );
});

test("a mapping takes a path or several for each fact, and says how one from the payload's beginning is written", () => {
  const { mapping } = load("mapping: { title: payload.rule.headline, token: [payload.a, 'payload[\"x.y\"][0]'] }");
  expect(mapping).toEqual({ title: ["payload.rule.headline"], token: ["payload.a", 'payload["x.y"][0]'] });
  expect(load("").mapping).toEqual({});
  const [problem] = problemsOf("mapping:\n  title: $.rule.headline\n");
  expect(problem).toMatchObject({ where: "tocsin.yaml:2:10", instead: "write payload.rule.headline" });
});

describe("secrets", () => {
  const hook = (options: string) => `destinations:\n  h: { type: webhook, url: https://x.example, ${options} }\n`;

  test.each([
    [`destinations: { t: { type: telegram, chatId: -5, botToken: "${botToken}" } }`],
    [`destinations: { t: { type: slack, url: "https://hooks.slack.com/services/T/B/canary" } }`],
    [`destinations: { t: { type: discord, url: "https://example.com/canary" } }`],
    [`destinations: { t: { type: teams, url: "https://example.com/?sig=canary" } }`],
    ["destinations: { t: { type: ntfy, topic: a, token: canarycanary } }"],
    [`destinations: { t: { type: email, to: a@example.com, smtpUrl: "smtp://u:canary@h" } }`],
    [`destinations: { t: { type: apprise, server: https://a.example, urls: ["json://canary"] } }`],
    [hook(`secret: ${whsec}`)],
    [hook("headers: { X-Api-Key: canary }")],
    [hook("headers: { Cookie: canary }")],
    [`mutes: [{ match: { token: x }, reason: "${botToken}", until: 2027-01-01T00:00:00Z }]`],
  ])("written in the file are refused and not repeated: %s", (yaml) => {
    const problems = problemsOf(yaml, { ...botEnv, ...mailEnv });
    expect(problems).toHaveLength(1);
    expect(problems[0]?.instead).toContain("${");
    expect(JSON.stringify(problems)).not.toContain("canary");
  });

  test("come from the environment, also as a part of a text; with a second $ nothing is replaced", () => {
    const headers = `headers: { Authorization: "Bearer ${referTo("T")}", X-Note: "a $${referTo("T")} b" }`;
    const [destination] = load(hook(headers), { T: "canary" }).rules.destinations;
    if (destination?.type !== "webhook") throw new Error("no webhook");
    expect(destination.headers.Authorization?.reveal()).toBe("Bearer canary");
    expect(destination.headers["X-Note"]?.reveal()).toBe(`a ${referTo("T")} b`);
  });

  test("that are missing are named with their line, once", () => {
    const yaml = `destinations:\n  s: { type: slack, url: '${referTo("SLACK_URL")}' }\n`;
    const message = "the environment variable SLACK_URL is not set";
    const instead = expect.stringContaining("set SLACK_URL");
    const [where, path] = ["tocsin.yaml:2:26", "destinations.s.url"];
    expect(problemsOf(yaml, { SLACK_URL: "" })).toEqual([{ where, path, message, instead }]);
  });

  test("in the wrong option are not repeated by the complaint about it", () => {
    const secret = referTo("SECRET");
    const yaml = `destinations: { t: { type: telegram, chatId: '${secret}' } }\nroutes: [{ to: '${secret}' }]`;
    expectWords(errorOf(yaml, { ...botEnv, SECRET: "canaryInTheWrongPlace" }).message, "***", { not: "canary" });
    const token = "canary-admin-token-0123456789";
    const swapped = errorOf(undefined, { ADMIN_TOKEN: token, EMAIL_TO: token, LOG_LEVEL: token });
    expect(swapped.message).not.toContain("canary");
  });

  test("a header cannot be broken in two, and those of the sender cannot be replaced", () => {
    expect(problemsOf(hook('headers: { X-A: "a\\r\\nX-B: c" }'))).toHaveLength(1);
    expect(problemsOf(hook('headers: { "X A": b }'))).toHaveLength(1);
    expect(problemsOf(hook("headers: { webhook-id: b }"))).toHaveLength(1);
  });
});

test("numbers stay what was written: in matchers: amounts, trailing zeros, and addresses that YAML takes for hexadecimal numbers", () => {
  const match = "{ token: 0xAbCdEf, value: [1.10, 123456789012345678901], payload.ok: true, threshold: { gt: 1e6 } }";
  const { rules } = load(`destinations: { o: { type: ntfy, topic: o } }\nroutes: [{ to: o, match: ${match} }]`);
  expect(rules.routes[0]?.matchers).toEqual([
    { field: "token", condition: { equals: ["0xAbCdEf"] } },
    { field: "value", condition: { equals: ["1.10", "123456789012345678901"] } },
    { field: "payload.ok", condition: { equals: ["true"] } },
    { field: "threshold", condition: { gt: 1_000_000 } },
  ]);
});

test("numbers stay what was written: chat ids may be numbers or texts", () => {
  const yaml = 'destinations: { a: { type: telegram, chatId: -1001234567890 }, b: { type: telegram, chatId: "-7" } }';
  const { rules } = load(yaml, botEnv);
  expect(rules.destinations).toMatchObject([{ chatId: "-1001234567890" }, { chatId: "-7" }]);
});

test("a file of aliases within aliases is refused, not unfolded", () => {
  const nine = (index: number) => Array(9).fill(`*a${index}`).join(", ");
  const levels = Array.from({ length: 12 }, (_, at) => `a${at}: &a${at} [${at === 0 ? "x" : nine(at - 1)}]`);
  const read = () => problemsOf(levels.join("\n")).map((problem) => problem.message);
  expect(read()).toEqual(["the file has more than 20,000 values, with those of aliases"]);
  expect(createCostMeter().measure(read, 500)).toBeLessThan(500);
});

test("many aliases, and many mistakes, cost no more than as many values", () => {
  const entries = Array.from({ length: 1_000 }, (_, at) => `{ name: r${at}, match: { token: t${at} }, to: x }`);
  const files = { aliases: `x: &a 1\nroutes: [${"*a, ".repeat(5_000)}]`, routes: `routes: [${entries.join()}]` };
  expect(problemsOf(files.aliases)).toHaveLength(5_001);
  for (const file of Object.values(files)) {
    const read = () => problemsOf(file);
    expect(createCostMeter().measure(read, 150)).toBeLessThan(150);
  }
});

test("an alias means the last anchor of its name above it, within other anchors as well", () => {
  const file = `defaults: { timeZone: &z Mars }\nmutes: &x [&z Io, *z]\nroutes: [*z, *x]`;
  const messages = problemsOf(file).map(({ path, message }) => `${path}: ${message.split(",")[0]}`);
  expect(messages).toEqual([
    'defaults.timeZone: "Mars" is not a time zone',
    'mutes[0]: is the value "Io"',
    'mutes[1]: is the value "Io"',
    'routes[0]: is the value "Io"',
    "routes[1]: is a list",
  ]);
});

test("a file that is nested too deep to be read says so", () => {
  const tooDeep = { message: "its values are nested too deep to be read", instead: "nest at most 40 levels" };
  for (const open of ["[", "{a: ", "- "])
    expect(problemsOf(`routes:\n ${open.repeat(300)}`)).toMatchObject([{ where: /^tocsin.yaml:2:/, ...tooDeep }]);
});

test("a key of PagerDuty that is none, or stands in the file, is refused without being shown", () => {
  const file = (key: string) => `destinations: { oncall: { type: pagerduty, routingKey: "${key}", region: mars } }`;
  expect(problemsOf(file(referTo("KEY")), { KEY: "canaryTooShort" })).toMatchObject([
    { path: "destinations.oncall.routingKey", message: expect.stringContaining("(it is not shown)") },
    { path: "destinations.oncall.region", message: '"mars" is not known' },
  ]);
  expect(problemsOf(file("canaryRoutingKeyOf32Characters00"))).toMatchObject([
    { path: "destinations.oncall.routingKey", message: "is secret and does not belong in the file" },
    { path: "destinations.oncall.region" },
  ]);
});

test("an address of Teams without its signature is refused without being shown, and it says what to copy", () => {
  const file = `destinations: { team: { type: teams, url: "${referTo("TEAMS")}" } }`;
  for (const url of ["https://x.webhook.office.com/webhookb2/canary", "https://x.logic.azure.com/canary?sig="]) {
    const problems = problemsOf(file, { TEAMS: url });
    expect(problems).toMatchObject([
      { path: "destinations.team.url", message: expect.stringContaining("it has no sig= (it is not shown)") },
    ]);
    expect(problems[0]?.instead).toContain("copy the whole address");
    expect(JSON.stringify(problems)).not.toContain("canary");
  }
});
