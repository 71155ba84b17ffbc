import { createHash, createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { CheckRule } from "../../src/core/source.ts";
import { createSenderCheck } from "../../src/intake/door/sender-check.ts";
import { checksOf } from "../config/load.ts";

const now = 1_614_265_330_000;
const minute = 60_000;
const secrets = (...texts: string[]) => texts.map((text) => new Secret(text));
type Headers = Record<string, string>;
type Given = [what: string, headers: Headers, body?: string, at?: number, address?: string];

function judge(rules: CheckRule | CheckRule[], ...[, headers, body = "", at = now, address = "::1"]: Given) {
  return createSenderCheck([rules].flat())({ headers, body: Buffer.from(body), address: () => address, at });
}

/* Standard Webhooks: the vector of its specification. */
const text = '{"test": 2432232314}';
const vector: Headers = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": "1614265330",
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const vectorWith = (name: string, value: string): Headers => ({ ...vector, [`webhook-${name}`]: value });
const own = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const other = `whsec_${Buffer.from("another-secret-of-24-bytes").toString("base64")}`;
const standard = (...texts: string[]): CheckRule => {
  return { type: "standard-webhooks", secrets: secrets(...texts), toleranceMs: 5 * minute };
};
const svix = Object.fromEntries(
  Object.entries(vector).map(([name, value]) => [name.replace("webhook", "svix"), value]),
);
const several = vectorWith("signature", `v1a,AAAA v1,AAAA ${vector["webhook-signature"]}`);
const signed = (id: string, whole: string): Headers => {
  const mac = createHmac("sha256", Buffer.from(own.slice(6), "base64"))
    .update(whole)
    .digest("base64");
  return { "webhook-id": id, "webhook-timestamp": "1614265330", "webhook-signature": `v1,${mac}` };
};

/* GitHub: the vector of its documentation. */
const hub = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
const ofHub = (signature: string) => ({ "x-hub-signature-256": signature });
const github = checksOf(`{ type: github, secret: ["\${A}", "\${B}"] }`, {
  A: "old-secret",
  B: "It's a Secret to Everybody",
});

const time = now / 1000;
const v1 = (secret: string, at = time) => `v1=${createHmac("sha256", secret).update(`${at}.paid`).digest("hex")}`;
const stripe: CheckRule = { type: "stripe", secrets: secrets("first", "second"), toleranceMs: 5 * minute };
const paid = (what: string, signature: string): Given => [what, { "stripe-signature": signature }, "paid"];

const basic: CheckRule = { type: "basic", user: "desk", secrets: secrets("old:with:colons", "pässword") };
const bearer: CheckRule = { type: "bearer", secrets: secrets("token-1", "token-2") };
const encode = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
const credentials = (...all: string[]) => all.map((authorization): Given => [authorization, { authorization }]);
const ranges: CheckRule = { type: "addresses", ranges: ["203.0.113.0/24", "2001:db8::/32"] };
const from = (address: string, headers: Headers = {}): Given => [address, headers, "", now, address];

it.each<[string, CheckRule | CheckRule[], Given[]]>([
  [
    "Standard Webhooks",
    standard(own),
    [
      ["its vector", vector, text],
      ["its vector by the other names", { ...svix, "webhook-id": "made-up" }, text],
      ["an id with dots", signed("v2.order.7", `v2.order.7.${time}.x`), "x"],
      [
        "a body that begins with a time",
        signed("msg_1", `msg_1.${time}.note ${time}.the rest`),
        `note ${time}.the rest`,
      ],
      ["a part of the body as the id", signed(`msg_1.${time}.note`, `msg_1.${time}.note.${time}.the rest`), "the rest"],
      ["another body", vector, `${text} `],
      ["another id", vectorWith("id", "msg_2"), text],
      ["another time", vectorWith("timestamp", "1614265331"), text],
      ["no signature", vectorWith("signature", ""), text],
      ["no id", vectorWith("id", ""), text],
      ["another kind of signature", vectorWith("signature", "v1a,AAAA"), text],
      ["a signature that is none", vectorWith("signature", "v1,%%% v1, v1"), text],
      ["five minutes old", vector, text, now + 5 * minute],
      ["five minutes early", vector, text, now - 5 * minute],
      ["older", vector, text, now + 5 * minute + 1],
      ["earlier", vector, text, now - 5 * minute - 1],
    ],
  ],
  [
    "Standard Webhooks while a secret is replaced",
    standard(other, own),
    [["any of several signatures", several, text]],
  ],
  ["Standard Webhooks before it is replaced", standard(own, other), [["any of several signatures", several, text]]],
  ["Standard Webhooks after it was replaced", standard(other), [["none of several signatures", several, text]]],
  [
    "GitHub",
    github,
    [
      ["its vector", ofHub(hub), "Hello, World!"],
      ["another body", ofHub(hub), "Hello, World"],
      ["a cut one", ofHub(hub.slice(0, -2)), "Hello, World!"],
      ["one without its prefix", ofHub(hub.slice(7)), "Hello, World!"],
      ["none", ofHub(""), "Hello, World!"],
    ],
  ],
  [
    "Stripe",
    stripe,
    [
      paid(
        "any v1 under any secret",
        `t=${time},v1=${"0".repeat(64)},${v1("second").toUpperCase().replace("V1", "v1")},v0=junk`,
      ),
      paid("both", `t=${time},${v1("first")},${v1("second")}`),
      paid("one", `t=${time},${v1("second")}`),
      paid("another secret", `t=${time},${v1("third")}`),
      paid("another time", `t=${time + 1},${v1("first")}`),
      paid("no time", v1("first")),
      paid("no v1", `t=${time},${v1("first").replace("v1", "v0")}`),
      paid("words", "let me in"),
      paid("none", ""),
      paid("301 s old", `t=${time - 301},${v1("first", time - 301)}`),
      paid("of tomorrow", `t=${time + 86_400},${v1("first", time + 86_400)}`),
    ],
  ],
  [
    "a name and a password",
    basic,
    [
      ...credentials(encode("desk:pässword"), encode("desk:old:with:colons").replace("Basic", "basic")),
      ...credentials(encode("desk:other"), encode("other:pässword"), "Bearer token-1", ""),
    ],
  ],
  ["a token", bearer, credentials("Bearer token-2", "Bearer token-3", "Bearer token-22", "token-2")],
  ["addresses", ranges, ["203.0.113.9", "2001:db8::9", "203.0.114.9", "unknown"].map((address) => from(address))],
  [
    "addresses and a token",
    [ranges, bearer],
    [
      from("203.0.113.9", { authorization: "Bearer token-1" }),
      from("192.0.2.1", { authorization: "Bearer token-1" }),
      from("203.0.113.9"),
    ],
  ],
])("a sender is checked by %s", (_by, rules, cases) => {
  const lines = cases.map((given) => {
    const result = judge(rules, ...given);
    const became = result.ok ? `taken, key ${result.key ?? "none"}` : `${result.reason}: ${result.detail}`;
    return `${given[0]} → ${became}`;
  });
  for (const secret of ["token-1", "pässword", "old:with", own.slice(6)])
    expect(lines.map((line) => line.split(" → ")[1]).join()).not.toContain(secret);
  expect(`\n${lines.join("\n")}\n`).toMatchSnapshot();
});

it("the key of a message of Stripe is its time and body", () => {
  const key = `stripe-signature:${time}.${createHash("sha256").update("paid").digest("hex")}`;
  expect(judge(stripe, ...paid("one", `t=${time},${v1("second")}`))).toEqual({ ok: true, key });
});

it.each([
  ["sha1", "hex", ""],
  ["sha256", "base64", "v0="],
  ["sha512", "base64", ""],
  ["sha256", "hex", "HMAC "],
] as const)("an HMAC in a header is read as %s in %s behind %j", (algorithm, encoding, prefix) => {
  // The file's texts are trimmed.
  const options = { header: "x-sign", algorithm, encoding, prefix: prefix.trim() };
  const rule: CheckRule = { type: "hmac", secrets: secrets("s3cret"), ...options, signs: [{ body: "body" }] };
  const given = (text?: string, body = "body") => judge(rule, "", text === undefined ? {} : { "x-sign": text }, body);
  const right = createHmac(algorithm, "s3cret").update("body").digest(encoding);
  expect(given(prefix + right)).toEqual({ ok: true });
  expect(given(prefix + right, "bodY")).toMatchObject({ ok: false, reason: "wrong_signature" });
  expect(given()).toMatchObject({ ok: false, reason: "no_signature" });
  for (const text of [`${right}zz`, `${right}, ${right}`, `${right}!`, `${right} ${right}`, ""])
    expect(given(prefix + text).ok, text).toBe(false);
});

it("an HMAC is read in small and large hex, and in base64 of either alphabet with its end or without", () => {
  const options = { header: "x-sign", algorithm: "sha256", prefix: "", signs: [{ body: "body" }] } as const;
  const given = (encoding: "hex" | "base64", text: string) =>
    judge({ type: "hmac", secrets: secrets("s3cret"), encoding, ...options }, "", { "x-sign": text }, "body").ok;
  const digest = createHmac("sha256", "s3cret").update("body").digest();
  const base64 = digest.toString("base64");
  expect(given("hex", digest.toString("hex").toUpperCase())).toBe(true);
  for (const text of [base64, base64.replace(/=+$/, ""), digest.toString("base64url")])
    expect(given("base64", text), text).toBe(true);
  expect(given("hex", base64)).toBe(false);
  expect(given("base64", `${base64}====`)).toBe(false);
});
