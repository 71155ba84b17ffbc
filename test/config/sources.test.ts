import { expect, it, test } from "vitest";
import { describeConfig } from "../../src/config/describe-config.ts";
import { botEnv, load, problemsOf } from "./load.ts";

const base = "destinations: { ops: { type: telegram, chatId: -1 } }\n";
const hookSecret = "canary-github-hook-kS93jdLwm2Pz";
const env = { ...botEnv, GITHUB_HOOK: hookSecret, WEAK: "short", ODD: "with/slash-with/slash-with/slash" };
const reference = (name: string) => `"\${${name}}"`;
const problems = (yaml: string, more: Record<string, string> = {}) =>
  problemsOf(base + yaml, { ...env, ...more }).map(({ path, message }) => [path, message]);

it("sources have their own secret, keys, mapping and silence, each with a default", () => {
  const { sources, silence } = load(
    `${base}sources:
  github:
    secret: ${reference("GITHUB_HOOK")}
    idempotency: [header:X-GitHub-Delivery, payload.delivery.id]
    mapping: { title: payload.head_commit.message }
    silence: 6h
  payments:
  quiet: { silence: off }`,
    env,
  );
  expect(sources.map(({ secret, ...source }) => ({ ...source, secret: secret?.reveal() }))).toMatchObject([
    {
      name: "github",
      secret: hookSecret,
      keyPlaces: [{ header: "x-github-delivery" }, { path: "payload.delivery.id" }],
      mapping: { title: ["payload.head_commit.message"] },
    },
    { name: "payments", secret: undefined, keyPlaces: [], mapping: {} },
    { name: "quiet" },
  ]);
  expect(silence).toEqual([{ of: "source", name: "github", after: 6 * 3_600_000 }]);
});

it("sources are described without their secrets", () => {
  const yaml = `${base}sources: { github: { secret: ${reference("GITHUB_HOOK")}, idempotency: header:X-Id }, other: {} }`;
  const { sources } = describeConfig(load(yaml, env));
  expect(sources).toMatchObject([
    { name: "github", secret: "given", idempotency: ["header:x-id"] },
    { name: "other", secret: "generated", idempotency: [] },
  ]);
  expect(JSON.stringify(sources)).not.toContain(hookSecret);
});

const odd = "is part of an address, so it may only have letters, digits, - and _, 22 to 256 of them";
const same = "is the same as another secret of this relay, so their senders could not be told apart";
const noPlace = '"$.delivery.id" is neither a path to one value of the body nor a header';
const called = "cannot be used in a source: what arrives at this hook is called a";
const noPath = '"$.x" is not a path to one value of the payload';
const github = `{ secret: ${reference("GITHUB_HOOK")} }`;
test.each([
  ["sources: [github]", "sources", "is a list, and a map belongs here"],
  ["sources: { GitHub: {} }", "sources.GitHub", "is not a name for a source"],
  ["sources: { ../x: {} }", 'sources["../x"]', "is not a name for a source"],
  ["sources: { hook: {} }", "sources.hook", "is the account's own hook"],
  [`sources: { a: ${github}, b: ${github} }`, "sources.b.secret", same],
  [
    "sources: { a: { silence: 6h } }\nsilence: { sources: { a: 2h } }",
    "silence.sources.a",
    "is said below sources.a already",
  ],
])("sources refuses %j", (yaml, path, message) => {
  expect(problems(yaml)).toEqual([[path, message]]);
});

test.each([
  ["secrets: x", "secrets", "is not known here"],
  ["secret: written-out-secret-kS93jdLwm2", "secret", "is secret and does not belong in the file"],
  [`secret: ${reference("ODD")}`, "secret", odd],
  ["idempotency: $.delivery.id", "idempotency", noPlace],
  ['idempotency: "header:"', "idempotency", '"header:" names no header'],
  ["mapping: { severities: { havoc: terrible } }", "mapping.severities.havoc", '"terrible" is not known'],
  ["mapping: { source: payload.x }", "mapping.source", called],
  ["mapping: { tilte: payload.x }", "mapping.tilte", "is not known here"],
  ["mapping: { title: $.x }", "mapping.title[0]", noPath],
])("sources refuses of a source: %s", (options, place, message) => {
  expect(problems(`sources: { a: { ${options} } }`)).toEqual([[`sources.a.${place}`, message]]);
});

it("sources may have several secrets of the address while one is replaced, each judged as one alone is", () => {
  const list = (...names: string[]) => `sources: { a: { secret: [${names.map(reference).join(", ")}] } }`;
  const more = { NEXT: "canary-next-hook-kS93jdLwm2Pz" };
  const [source] = load(base + list("NEXT", "GITHUB_HOOK"), { ...env, ...more }).sources;
  expect([source?.secret?.reveal(), ...(source?.formerSecrets ?? []).map((one) => one.reveal())]).toEqual([
    more.NEXT,
    hookSecret,
  ]);
  expect(problems(list("NEXT", "ODD"), more)).toEqual([
    ["sources.a.secret[1]", expect.stringContaining("part of an address")],
  ]);
  expect(problems(list("NEXT", "NEXT"), more)).toEqual([
    ["sources.a.secret", expect.stringContaining("is the same as another secret")],
  ]);
  expect(problems("sources: { a: { secret: [] } }")).toEqual([["sources.a.secret", "is empty"]]);
});

it("sources refuses a weak secret where others can reach the hook, and the secret of the account's hook", () => {
  const weak = `sources: { a: { secret: ${reference("WEAK")} } }`;
  expect(load(base + weak, env).warnings.map(({ message }) => message)).toEqual([
    expect.stringContaining("has 5 characters"),
  ]);
  expect(problems(weak, { HOST: "0.0.0.0" })).toEqual([
    ["sources.a.secret", expect.stringContaining("has 5 characters")],
  ]);
  const same = `sources: { a: { secret: ${reference("GITHUB_HOOK")} } }`;
  expect(problems(same, { WEBHOOK_SECRET: hookSecret })).toEqual([
    ["sources.a.secret", expect.stringContaining("is the same as another secret")],
  ]);
});

it("sources say of a header as the key that nobody signs that it is not looked at", () => {
  const yaml = (check: string) => `${base}sources:
  shop: { idempotency: [header:X-Id, payload.id], check: { type: ${check}, secret: ${reference("GITHUB_HOOK")} } }`;
  expect(load(yaml("github"), env).warnings).toEqual([]);
  expect(load(yaml("stripe"), env).warnings).toMatchObject([
    { where: expect.stringContaining(":3"), message: "header:x-id is not signed by stripe, so it is not looked at" },
  ]);
});

it("sources may have another account of the service, whose key is secret", () => {
  const more = {
    OTHER_KEY: "canary-other-key",
    ALERTING_URL: "https://api.example.com",
    ALERTING_API_KEY: "canary-key",
  };
  const yaml = (account: string, rest = "") => `sources: { desk: { account: { ${account} }${rest} } }`;
  const key = `apiKey: ${reference("OTHER_KEY")}`;
  const config = load(base + yaml(`url: "https://api.example.com/", ${key}`), { ...env, ...more });
  expect(config.sources[0]?.account).toMatchObject({ url: "https://api.example.com" });
  expect(describeConfig(config).sources[0]).toMatchObject({ account: "https://api.example.com" });
  expect(JSON.stringify(config)).not.toContain("canary-");
  const own = `url: "https://api.example.com", apiKey: ${reference("ALERTING_API_KEY")}`;
  expect(problems(yaml(own), more)).toEqual([
    ["sources.desk.account.apiKey", expect.stringContaining("opens the account of ALERTING_API_KEY")],
  ]);
  expect(problems(yaml(`url: "https://a.example", apiKey: written-out`), more)).toEqual([
    ["sources.desk.account.apiKey", "is secret and does not belong in the file"],
  ]);
  expect(problems(yaml(key), more)).toEqual([["sources.desk.account.url", "is missing"]]);
  const check = `, check: { type: bearer, token: ${reference("GITHUB_HOOK")} }`;
  expect(problems(yaml(`url: "https://a.example", ${key}`, check), more)).toEqual([
    ["sources.desk.check", expect.stringContaining("asks for what the service does not send (bearer)")],
  ]);
  const addresses = ", check: { type: addresses, ranges: [203.0.113.0/24] }";
  expect(load(base + yaml(`url: "https://a.example", ${key}`, addresses), { ...env, ...more }).sources).toHaveLength(1);
});

it("sources refuses more of them than a path is compared with", () => {
  const names = Array.from({ length: 51 }, (_none, index) => `s${index}: {}`);
  expect(problems(`sources: { ${names.join(", ")} }`)).toEqual([["sources", "has 51 sources, and 50 are the most"]]);
});
