import { expect, it, test } from "vitest";
import { describeConfig } from "../../src/config/describe-config.ts";
import { secretTextsOf } from "../../src/config/secret-texts.ts";
import { Secret } from "../../src/core/secret.ts";
import { botEnv, load, problemsOf, whsec } from "./load.ts";

const env = { ...botEnv, OLD: "canary-old-secret", NEW: "canary-new-secret", WHSEC: whsec, SHORT: "short" };
const old = `"\${OLD}"`;
const fileOf = (check: string) =>
  `destinations: { ops: { type: telegram, chatId: -1 } }\nsources: { forge: { check: ${check} } }`;
const checksOf = (check: string) => load(fileOf(check), env).sources[0]?.checks;
const problems = (check: string) => problemsOf(fileOf(check), env).map(({ path, message }) => [path, message]);

const oneSecret = [expect.any(Secret)];

test.each([
  [`{ type: standard-webhooks, secret: "\${WHSEC}" }`, { type: "standard-webhooks", toleranceMs: 300_000 }],
  [`{ type: github, secret: ${old} }`, { type: "github" }],
  [`{ type: stripe, secret: ${old}, tolerance: 1m }`, { type: "stripe", toleranceMs: 60_000 }],
  [
    `{ type: hmac, secret: ${old}, header: X-Sign }`,
    { type: "hmac", header: "x-sign", algorithm: "sha256", encoding: "hex", prefix: "", signs: [{ body: "body" }] },
  ],
  [
    `{ type: hmac, secret: ${old}, header: X-Sign, signs: "{header:X-Id}.{header:X-Time}.{body}", time: x-time }`,
    {
      type: "hmac",
      signs: [{ header: "x-id" }, { text: "." }, { header: "x-time" }, { text: "." }, { body: "body" }],
      time: { header: "x-time", toleranceMs: 300_000 },
    },
  ],
  [
    `{ type: quicknode, secret: ${old}, tolerance: 1m }`,
    { type: "quicknode", header: "x-qn-signature", time: { header: "x-qn-timestamp", toleranceMs: 60_000 } },
  ],
  [`{ type: alchemy, secret: ${old} }`, { type: "alchemy", header: "x-alchemy-signature" }],
  [
    `{ type: hmac, secret: ${old}, header: X-Sign, algorithm: sha1, encoding: base64, prefix: "v0=" }`,
    { type: "hmac", header: "x-sign", algorithm: "sha1", encoding: "base64", prefix: "v0=" },
  ],
  [`{ type: basic, user: desk, password: ${old} }`, { type: "basic", user: "desk" }],
  [`{ type: bearer, token: ${old} }`, { type: "bearer" }],
])("the check of a source %s is read with one secret", (check, expected) => {
  const [rule, ...more] = checksOf(check) ?? [];
  expect(rule).toMatchObject(expected);
  expect(rule).toMatchObject({ secrets: oneSecret });
  expect(more).toEqual([]);
});

it("the check of a source may be several, which are all to be passed, and have several secrets, of which one is enough", () => {
  const check = `[{ type: addresses, ranges: [203.0.113.0/24, "2001:db8::1"] }, { type: github, secret: [${old}, "\${NEW}"] }]`;
  const rules = checksOf(check);
  expect(rules).toMatchObject([{ type: "addresses", ranges: ["203.0.113.0/24", "2001:db8::1"] }, { type: "github" }]);
  const config = load(fileOf(check), env);
  const [source] = describeConfig(config).sources;
  expect(source?.checks).toEqual(["addresses 203.0.113.0/24 2001:db8::1", "github"]);
  const server = { webhookSecret: new Secret("h"), adminToken: new Secret("a") };
  expect(secretTextsOf(config, server)).toEqual(expect.arrayContaining([env.OLD, env.NEW]));
  expect(JSON.stringify(config)).not.toContain("canary-");
});

const hmac = `type: hmac, secret: ${old}, header: X-Sign`;
const secretInFile = "is secret and does not belong in the file";
const bound = "is out of bounds";
const itself = "signs X-Sign, which holds the signature itself and so cannot be a part of it";
const unsigned = "is not among what is signed, so anybody could change it";
test.each([
  ["github", "", 'is the value "github", and a map belongs here'],
  ["[]", "", "is empty"],
  ["{ secret: x }", ".type", "is missing"],
  ["{ type: git }", ".type", '"git" is not a type of check'],
  ["{ type: github }", ".secret", "is missing"],
  ["{ type: github, secret: [] }", ".secret", "is empty"],
  ["{ type: github, secret: written-out-secret }", ".secret", secretInFile],
  [`[{ type: github, secret: [${old}, written-out] }]`, "[0].secret[1]", secretInFile],
  [`{ type: github, secret: "\${SHORT}" }`, ".secret", "has 5 characters; 8 are the least"],
  [`{ type: github, secret: ${old}, tolerance: 5m }`, ".tolerance", "is not known here"],
  [`{ type: stripe, secret: ${old}, tolerance: 13h }`, ".tolerance", `"13h" ${bound}`],
  [`{ type: stripe, secret: ${old}, tolerance: 1s }`, ".tolerance", `"1s" ${bound}`],
  [`{ type: standard-webhooks, secret: ${old} }`, ".secret", "is no secret of Standard Webhooks"],
  [`{ type: bearer, token: "Bearer \${OLD}" }`, ".token", "holds a space or a character that no such header carries"],
  [`{ type: basic, user: "a:b", password: ${old} }`, ".user", "holds a colon, after which the password would begin"],
  [`{ ${hmac}, signs: "{header:X-Id}" }`, ".signs", "leaves the body out, so anybody could change it"],
  [`{ ${hmac}, signs: "{header:x-sign}{body}" }`, ".signs", itself],
  [`{ ${hmac}, signs: "{body" }`, ".signs", "{body has no } at its end"],
  [`{ ${hmac}, signs: "{headers:X-Id}{body}" }`, ".signs", "{headers:X-Id} is no part of a request"],
  [`{ ${hmac}, signs: "{header:X-Id}{body}", time: X-Time }`, ".time", unsigned],
  [`{ ${hmac}, tolerance: 5m }`, ".tolerance", "needs the header that has the time"],
  [`{ type: hmac, secret: ${old} }`, ".header", "is missing"],
  [`{ type: hmac, secret: ${old}, header: "a b" }`, ".header", '"a b" is no name of a header'],
  [`{ type: hmac, secret: ${old}, header: x, algorithm: md5 }`, ".algorithm", '"md5" is not known'],
  ["{ type: addresses, ranges: example.com }", ".ranges", '"example.com" is neither an address nor a range'],
])("the check of a source refuses %s", (check, place, message) => {
  expect(problems(check)).toEqual([[`sources.forge.check${place}`, message]]);
});
