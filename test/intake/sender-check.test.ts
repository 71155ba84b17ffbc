import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import type { CheckRule } from "../../src/core/source.ts";
import { createSenderCheck } from "../../src/intake/door/sender-check.ts";
import { checksOf } from "../config/load.ts";

const now = 1_614_265_330_000;
const minute = 60_000;
const secrets = (...texts: string[]) => texts.map((text) => new Secret(text));

function judge(rules: CheckRule | CheckRule[], headers: Record<string, string>, body = "", at = now, address = "::1") {
  return createSenderCheck([rules].flat())({ headers, body: Buffer.from(body), address: () => address, at });
}

const failure = (reason: string) => ({ ok: false, reason, detail: expect.any(String) });

describe("Standard Webhooks", () => {
  // The vector of its specification.
  const body = '{"test": 2432232314}';
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const own = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const other = `whsec_${Buffer.from("another-secret-of-24-bytes").toString("base64")}`;
  const rule = (...texts: string[]): CheckRule => ({
    type: "standard-webhooks",
    secrets: secrets(...texts),
    toleranceMs: 5 * minute,
  });

  it("takes the vector of the specification, under both names of the headers, and gives the signed id as its key", () => {
    expect(judge(rule(own), headers, body)).toEqual({ ok: true, key: "webhook-id:msg_p5jXN8AQM9LWM0D4loKWxJek" });
    const svix = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.replace("webhook", "svix"), value]),
    );
    expect(judge(rule(own), { ...svix, "webhook-id": "made-up" }, body)).toEqual({
      ok: true,
      key: "webhook-id:msg_p5jXN8AQM9LWM0D4loKWxJek",
    });
  });

  it("refuses a signed text that is cut in another place, so that a part of the body becomes the id", () => {
    const sign = (text: string) =>
      `v1,${createHmac("sha256", Buffer.from(own.slice(6), "base64"))
        .update(text)
        .digest("base64")}`;
    const time = String(now / 1000);
    const signed = `msg_1.${time}.note ${time}.the rest`;
    const whole = { "webhook-id": "msg_1", "webhook-timestamp": time, "webhook-signature": sign(signed) };
    expect(judge(rule(own), whole, `note ${time}.the rest`)).toEqual({ ok: true, key: "webhook-id:msg_1" });
    const dotted = `msg_1.${time}.note.${time}.the rest`;
    const cut = { ...whole, "webhook-id": `msg_1.${time}.note`, "webhook-signature": sign(dotted) };
    expect(judge(rule(own), cut, "the rest")).toEqual(failure("malformed_signature"));
    const usual = { ...whole, "webhook-id": "v2.order.7", "webhook-signature": sign(`v2.order.7.${time}.x`) };
    expect(judge(rule(own), usual, "x")).toMatchObject({ ok: true });
  });

  it("takes any of several signatures under any of several secrets, while one is replaced by the next", () => {
    const several = { ...headers, "webhook-signature": `v1a,AAAA v1,AAAA ${headers["webhook-signature"]}` };
    expect(judge(rule(other, own), several, body)).toMatchObject({ ok: true });
    expect(judge(rule(own, other), several, body)).toMatchObject({ ok: true });
    expect(judge(rule(other), several, body)).toEqual(failure("wrong_signature"));
  });

  it.each([
    ["another body", headers, `${body} `, "wrong_signature"],
    ["another id", { ...headers, "webhook-id": "msg_2" }, body, "wrong_signature"],
    ["another time", { ...headers, "webhook-timestamp": "1614265331" }, body, "wrong_signature"],
    ["no signature", { ...headers, "webhook-signature": "" }, body, "no_signature"],
    ["no id", { ...headers, "webhook-id": "" }, body, "no_signature"],
    ["another kind of signature", { ...headers, "webhook-signature": "v1a,AAAA" }, body, "wrong_signature"],
    ["a signature that is none", { ...headers, "webhook-signature": "v1,%%% v1, v1" }, body, "wrong_signature"],
  ])("refuses %s", (_what, changed, text, reason) => {
    expect(judge(rule(own), changed, text)).toEqual(failure(reason));
  });

  it("takes what is up to five minutes old or early, and says of more what it is", () => {
    for (const at of [now - 5 * minute, now + 5 * minute]) expect(judge(rule(own), headers, body, at).ok).toBe(true);
    expect(judge(rule(own), headers, body, now + 5 * minute + 1)).toEqual(failure("too_old"));
    expect(judge(rule(own), headers, body, now - 5 * minute - 1)).toEqual(failure("in_future"));
  });
});

describe("GitHub", () => {
  // The vector of its documentation.
  const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const rules = checksOf(`{ type: github, secret: ["\${A}", "\${B}"] }`, {
    A: "old-secret",
    B: "It's a Secret to Everybody",
  });

  it("takes the vector of its documentation", () => {
    expect(judge(rules, { "x-hub-signature-256": signature }, "Hello, World!")).toEqual({ ok: true });
  });

  it.each([
    ["another body", signature, "Hello, World", "wrong_signature"],
    ["a cut one", signature.slice(0, -2), "Hello, World!", "wrong_signature"],
    ["one without its prefix", signature.slice(7), "Hello, World!", "malformed_signature"],
    ["none", "", "Hello, World!", "no_signature"],
  ])("refuses %s", (_what, given, body, reason) => {
    expect(judge(rules, { "x-hub-signature-256": given }, body)).toEqual(failure(reason));
  });
});

describe("Stripe", () => {
  const time = now / 1000;
  const hex = (secret: string, body: string, at = time) =>
    createHmac("sha256", secret).update(`${at}.${body}`).digest("hex");
  const rule: CheckRule = { type: "stripe", secrets: secrets("first", "second"), toleranceMs: 5 * minute };
  const given = (text: string, body = "paid", at = now) => judge(rule, { "stripe-signature": text }, body, at);

  it("takes any v1 under any secret, and gives time and body as its key, whichever signature is left out", () => {
    const [first, right] = [hex("first", "paid"), hex("second", "paid")];
    const key = `stripe-signature:${time}.${createHash("sha256").update("paid").digest("hex")}`;
    for (const signatures of [
      `v1=${"0".repeat(64)},v1=${right.toUpperCase()},v0=junk`,
      `v1=${first},v1=${right}`,
      `v1=${right}`,
    ])
      expect(given(`t=${time},${signatures}`)).toEqual({ ok: true, key });
  });

  it.each([
    ["another secret", `t=${time},v1=${hex("third", "paid")}`, "wrong_signature"],
    ["another time", `t=${time + 1},v1=${hex("first", "paid")}`, "wrong_signature"],
    ["no time", `v1=${hex("first", "paid")}`, "malformed_signature"],
    ["no v1", `t=${time},v0=${hex("first", "paid")}`, "malformed_signature"],
    ["words", "let me in", "malformed_signature"],
    ["none", "", "no_signature"],
    ["what is 301 s old", `t=${time - 301},v1=${hex("first", "paid", time - 301)}`, "too_old"],
    ["what is of tomorrow", `t=${time + 86_400},v1=${hex("first", "paid", time + 86_400)}`, "in_future"],
  ])("refuses %s", (_what, text, reason) => {
    expect(given(text)).toEqual(failure(reason));
  });
});

describe("an HMAC in a header", () => {
  it.each([
    ["sha1", "hex", ""],
    ["sha256", "base64", "v0="],
    ["sha512", "base64", ""],
    ["sha256", "hex", "HMAC "],
  ] as const)("is read as %s in %s behind %j", (algorithm, encoding, prefix) => {
    // The file's texts are trimmed.
    const options = { header: "x-sign", algorithm, encoding, prefix: prefix.trim() };
    const rule: CheckRule = { type: "hmac", secrets: secrets("s3cret"), ...options, signs: [{ body: "body" }] };
    const right = createHmac(algorithm, "s3cret").update("body").digest(encoding);
    expect(judge(rule, { "x-sign": `${prefix}${right}` }, "body")).toEqual({ ok: true });
    expect(judge(rule, { "x-sign": `${prefix}${right}` }, "bodY")).toEqual(failure("wrong_signature"));
    expect(judge(rule, {}, "body")).toEqual(failure("no_signature"));
    for (const given of [`${right}zz`, `${right}, ${right}`, `${right}!`, `${right} ${right}`, ""])
      expect(judge(rule, { "x-sign": `${prefix}${given}` }, "body").ok, given).toBe(false);
  });

  it("is read in small and large hex, and in base64 of either alphabet with its end or without", () => {
    const options = { header: "x-sign", algorithm: "sha256", prefix: "", signs: [{ body: "body" }] } as const;
    const given = (encoding: "hex" | "base64", text: string) =>
      judge({ type: "hmac", secrets: secrets("s3cret"), encoding, ...options }, { "x-sign": text }, "body").ok;
    const digest = createHmac("sha256", "s3cret").update("body").digest();
    const base64 = digest.toString("base64");
    expect(given("hex", digest.toString("hex").toUpperCase())).toBe(true);
    for (const text of [base64, base64.replace(/=+$/, ""), digest.toString("base64url")])
      expect(given("base64", text), text).toBe(true);
    expect(given("hex", base64)).toBe(false);
    expect(given("base64", `${base64}====`)).toBe(false);
  });
});

describe("credentials", () => {
  const basic: CheckRule = { type: "basic", user: "desk", secrets: secrets("old:with:colons", "pässword") };
  const bearer: CheckRule = { type: "bearer", secrets: secrets("token-1", "token-2") };
  const encode = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

  it.each([
    [basic, encode("desk:pässword"), undefined],
    [basic, encode("desk:old:with:colons").replace("Basic", "basic"), undefined],
    [basic, encode("desk:other"), "wrong_credentials"],
    [basic, encode("other:pässword"), "wrong_credentials"],
    [basic, "Bearer token-1", "wrong_credentials"],
    [basic, "", "no_credentials"],
    [bearer, "Bearer token-2", undefined],
    [bearer, "Bearer token-3", "wrong_credentials"],
    [bearer, "Bearer token-22", "wrong_credentials"],
    [bearer, "token-2", "wrong_credentials"],
  ] as const)("%# are taken or refused", (rule, authorization, reason) => {
    expect(judge(rule, { authorization })).toEqual(reason === undefined ? { ok: true } : failure(reason));
  });

  it("are never repeated by what is said of them", () => {
    const said = JSON.stringify([
      judge(basic, { authorization: encode("desk:guess-of-a-stranger") }),
      judge(bearer, { authorization: "Bearer guess-of-a-stranger" }),
    ]);
    for (const text of ["guess", "token-1", "pässword", "old:with"]) expect(said).not.toContain(text);
  });
});

describe("addresses", () => {
  const rule: CheckRule = { type: "addresses", ranges: ["203.0.113.0/24", "2001:db8::/32"] };

  it.each([
    ["203.0.113.9", true],
    ["2001:db8::9", true],
    ["203.0.114.9", false],
    ["unknown", false],
  ])("%s is %s", (address, ok) => {
    expect(judge(rule, {}, "", now, address).ok).toBe(ok);
  });

  it("and another check have both to be passed", () => {
    const both: CheckRule[] = [rule, { type: "bearer", secrets: secrets("token-1") }];
    const authorization = "Bearer token-1";
    expect(judge(both, { authorization }, "", now, "203.0.113.9")).toEqual({ ok: true });
    expect(judge(both, { authorization }, "", now, "192.0.2.1")).toEqual(failure("wrong_address"));
    expect(judge(both, {}, "", now, "203.0.113.9")).toEqual(failure("no_credentials"));
  });
});
