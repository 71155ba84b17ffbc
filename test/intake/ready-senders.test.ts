import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { readySenders } from "../../src/core/ready-senders.ts";
import { parseSignedText, type SignedPart } from "../../src/core/signed-text.ts";
import { signsBodyAlone } from "../../src/core/source.ts";
import { createSenderCheck } from "../../src/intake/door/sender-check.ts";
import { botEnv, checksOf, load } from "../config/load.ts";
import { createSeededRandom } from "../support/seeded-random.ts";

const secret = "c7ad9ef4276dac354cb51d3aa9b1e4c7";
const checkOf = (written: string) => createSenderCheck(checksOf(written, { KEY: secret }));
const named = (type: string) => checkOf(`{ type: ${type}, secret: "\${KEY}" }`);
const sign = (text: string) => createHmac("sha256", secret).update(text).digest("hex");
const failure = (reason: string) => ({ ok: false, reason, detail: expect.any(String) });

interface Signed {
  headers: Record<string, string>;
  body: string;
  at: number;
}

const at = Date.parse("2026-03-02T10:00:00Z");
const body = '{"id":"whevt_1","event":{"value":"12.50"}}';
const iso = "2026-03-02T09:59:59.115Z";
const asGoPrints = "2026-03-02 09:59:58.386157172 +0000 UTC m=+3512798.196320121";

/** As each signs by its documents. The example of Defender's SDK was checked once by hand: its body is not ours to keep. */
const requests: Record<Exclude<keyof typeof readySenders, "github">, Signed> = {
  quicknode: {
    headers: {
      "x-qn-nonce": "216820ba6d45d2271eb80a0afe957cc7",
      "x-qn-timestamp": String(at / 1000),
      "x-qn-signature": sign(`216820ba6d45d2271eb80a0afe957cc7${at / 1000}${body}`),
    },
    body,
    at,
  },
  tenderly: { headers: { date: asGoPrints, "x-tenderly-signature": sign(body + asGoPrints) }, body, at },
  alchemy: { headers: { "x-alchemy-signature": sign(body) }, body, at },
  defender: {
    headers: {
      "defender-signature": sign(JSON.stringify({ ...JSON.parse(body), timestamp: iso })),
      "defender-timestamp": iso,
    },
    body,
    at,
  },
};

function judge(check: ReturnType<typeof named>, { headers, body, at }: Signed) {
  return check({ headers, body: Buffer.from(body, "latin1"), address: () => "::1", at });
}

describe.each(Object.entries(requests))("%s", (type, request) => {
  const check = named(type);
  const [rule] = checksOf(`{ type: ${type}, secret: "\${KEY}" }`, { KEY: secret });

  it("is taken as its documents say, and known by what it has signed", () => {
    const result = judge(check, request);
    expect(result).toMatchObject({ ok: true });
    expect(rule && signsBodyAlone([rule])).toBe(type === "alchemy");
    expect("key" in result).toBe(type !== "alchemy");
  });

  it("is refused with one bit off, wherever that is", () => {
    const flip = (text: string, bit: number) => {
      const bytes = Buffer.from(text, "latin1");
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return bytes.toString("latin1");
    };
    const taken: string[] = [];
    for (const [name, value] of Object.entries(request.headers)) {
      for (let bit = 0; bit < value.length * 8; bit += 1) {
        const changed = flip(value, bit);
        // Node refuses such headers; a digit in the other case is the same signature.
        if (/[^\x20-\x7e]/.test(changed) || changed.trim() !== changed || changed.toLowerCase() === value) continue;
        if (judge(check, { ...request, headers: { ...request.headers, [name]: changed } }).ok) taken.push(name);
      }
    }
    for (let bit = 0; bit < request.body.length * 8; bit += 1)
      if (judge(check, { ...request, body: flip(request.body, bit) }).ok) taken.push(`bit ${bit}`);
    expect(taken).toEqual([]);
    for (const name of Object.keys(request.headers))
      expect(judge(check, { ...request, headers: { ...request.headers, [name]: "" } })).toEqual(
        failure("no_signature"),
      );
  });

  it("is refused when it is a day old, or a day early, where it says its time", () => {
    const judged = [86_400_000, -86_400_000].map((ms) => judge(check, { ...request, at: request.at + ms }));
    // Alchemy signs no time.
    if (type === "alchemy") expect(judged).toMatchObject([{ ok: true }, { ok: true }]);
    else expect(judged).toEqual([failure("too_old"), failure("in_future")]);
  });
});

it("reads the time as seconds, milliseconds, ISO 8601, the date of HTTP and as Go prints it", () => {
  const check = checkOf(
    `{ type: hmac, secret: "\${KEY}", header: X-Sign, signs: "{header:X-Time}{body}", time: X-Time }`,
  );
  const judged = (time: string) =>
    judge(check, { headers: { "x-time": time, "x-sign": sign(`${time}x`) }, body: "x", at: at + 60_000 });
  for (const time of [
    String(at / 1000),
    String(at),
    "2026-03-02T10:00:00.000Z",
    "2026-03-02T12:30:00+02:30",
    "Mon, 02 Mar 2026 10:00:00 GMT",
    asGoPrints,
    "2026-03-02 12:00:00.1 +0200 EET",
  ])
    expect(judged(time)).toMatchObject({ ok: true });
  for (const time of ["now", "2026", "1e12", "2026-13-02T10:00:00Z", "Mon GMT", "2026-03-02T10:00:00", "-1"])
    expect(judged(time).ok).toBe(false);
});

it("takes nothing behind the brace before which the time is signed", () => {
  const { headers, body, at } = requests.defender;
  for (const changed of [`${body} `, `${body}x`, `${body}}`, body.slice(0, -1), ""])
    expect(judge(named("defender"), { headers, body: changed, at }).ok).toBe(false);
});

it("gives what is signed in other parts the same key, so that a repeat that is cut elsewhere is known as one", () => {
  const check = checkOf(`{ type: hmac, secret: "\${KEY}", header: X-Sign, signs: "{header:X-Id}{body}" }`);
  const headers = { "x-sign": sign("ab{}") };
  const whole = judge(check, { headers: { ...headers, "x-id": "ab" }, body: "{}", at });
  expect(whole).toMatchObject({ ok: true });
  expect(judge(check, { headers: { ...headers, "x-id": "a" }, body: "b{}", at })).toEqual(whole);
});

it("checks the bytes as they came only where that is what is signed", () => {
  const [read, sent] = ["body", "sent"].map((part) =>
    checkOf(`{ type: hmac, secret: "\${KEY}", header: X-Sign, signs: "{${part}}" }`),
  );
  const request = { body: Buffer.from("plain"), sent: Buffer.from("packed"), address: () => "::1", at };
  const judged = (check: typeof read, text: string) => check?.({ ...request, headers: { "x-sign": sign(text) } }).ok;
  expect([judged(read, "plain"), judged(read, "packed")]).toEqual([true, false]);
  expect([judged(sent, "plain"), judged(sent, "packed")]).toEqual([false, true]);
});

it("has the place of the event's id of those that have one, unless another is written", () => {
  const placesOf = (more = "") =>
    load(
      `destinations: { ops: { type: telegram, chatId: -1 } }
sources: { chain: { check: { type: tenderly, secret: "\${KEY}" } ${more} } }`,
      { ...botEnv, KEY: secret },
    ).sources[0]?.keyPlaces;
  expect(placesOf()).toEqual([{ path: "payload.id" }]);
  expect(placesOf(", idempotency: payload.transaction.hash")).toEqual([{ path: "payload.transaction.hash" }]);
});

describe("what is signed, made up by chance", () => {
  const { below: random, pick } = createSeededRandom(20_260_302);
  const noise = () => Array.from({ length: random(6) }, () => pick([...'{}:."\\ ab7{header:}{body}%$é'])).join("");

  it("is read to parts that say the same text again, or refused in words", () => {
    let read = 0;
    for (let round = 0; round < 20_000; round += 1) {
      const text = Array.from({ length: random(5) }, () =>
        pick(["{body}", "{sent}", "{body:open}", "{header:X-A}", "{header:}", "{header:a b}", noise()]),
      ).join("");
      const parts = parseSignedText(text);
      if (typeof parts === "string") continue;
      read += 1;
      const write = (part: SignedPart) =>
        "text" in part ? part.text : "header" in part ? `{header:${part.header}}` : `{${part.body}}`;
      expect(parts.map(write).join("")).toBe(text.replaceAll("{header:X-A}", "{header:x-a}"));
    }
    expect(read).toBeGreaterThan(2_000);
  });

  it("is checked as the text that a few lines put together, and never throws", () => {
    const [rule] = checksOf(`{ type: hmac, secret: "\${KEY}", header: X-Sign }`, { KEY: secret });
    for (let round = 0; round < 2_000; round += 1) {
      const pieces = Array.from({ length: 1 + random(4) }, () =>
        pick(["{header:X-A}", "{header:X-B}", "~", ".", "{body}"]),
      );
      const values = { "x-a": `a${random(1_000)}`, "x-b": `é${random(1_000)}` };
      const content = noise();
      const written = [...pieces, "{body}"].join("");
      const text = Buffer.from(
        written
          .replaceAll("{header:X-A}", values["x-a"])
          .replaceAll("{header:X-B}", values["x-b"])
          .replaceAll("{body}", () => content),
        "latin1",
      );
      const right = createHmac("sha256", secret).update(text).digest("hex");
      const signs = parseSignedText(written);
      if (rule === undefined || !("signs" in rule) || typeof signs === "string") throw new Error(written);
      const check = createSenderCheck([{ ...rule, signs }]);
      const given = (signature: string, body = content) =>
        judge(check, { headers: { ...values, "x-sign": signature }, body, at }).ok;
      expect(given(right)).toBe(true);
      expect(given(right, `${content}x`)).toBe(false);
      expect(given(noise())).toBe(false);
    }
  });
});
