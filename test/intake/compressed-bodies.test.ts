import { createHmac } from "node:crypto";
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Inbox, IncomingRequest } from "../../src/core/ports/inbox.ts";
import type { RefusedRequest } from "../../src/core/ports/refused.ts";
import { type Decoding, decodeBody } from "../../src/intake/door/decode-body.ts";
import { type DoorDeps, hookPrefix } from "../../src/intake/door/door.ts";
import { checksOf } from "../config/load.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { type OpenDoorOptions, openDoor, secret, source } from "./open-door.ts";

const mebibyte = 1024 * 1024;
const json = '{"title":"Pool drained","value":"12.50"}';

/** A door whose store keeps what it is given. */
async function openKeeping(options: OpenDoorOptions = {}, deps: Partial<DoorDeps> = {}) {
  const stored: IncomingRequest[] = [];
  const refused: RefusedRequest[] = [];
  const acceptRequest: Inbox["acceptRequest"] = async (request) => {
    stored.push(request);
    return { kind: "accepted", ids: request.ids, conflict: false };
  };
  const recordRefused = async (request: RefusedRequest) => void refused.push(request);
  const keeping = { store: { acceptRequest }, refused: { recordRefused }, ...deps };
  const setting = await openDoor({ ...options, deps: () => keeping });
  const send = (body: string | Uint8Array, coding?: string, headers: Record<string, string> = {}, to = secret) =>
    setting.send(to, body as RequestInit["body"], {
      ...headers,
      ...(coding !== undefined && { "content-encoding": coding }),
    });
  const bodies = () => stored.map(({ body }) => Buffer.from(body));
  return { ...setting, stored, refused, send, bodies };
}

/** A gibibyte of zeros, in some 1 MB. */
function makeBomb(): Buffer {
  return Buffer.concat(Array<Buffer>(64).fill(gzipSync(Buffer.alloc(16 * mebibyte), { level: 9 })));
}

describe("a compressed body", () => {
  it("is stored as what it says, with its headers as they came, and is the same alert however it is packed", async () => {
    const { send, bodies, stored, door } = await openKeeping();
    for (const [packed, coding] of [
      [gzipSync(json), "gzip"],
      [gzipSync(json, { level: 1 }), " X-GZip "],
      [deflateSync(json), "deflate"],
      [gzipSync(json), "identity, gzip"],
      [gzipSync(json), "gzip,Identity,"],
      [Buffer.concat([gzipSync(json.slice(0, 9)), gzipSync(json.slice(9))]), "gzip"],
    ] as const)
      expect(await send(packed, coding)).toMatchObject({ status: 202 });
    // Which codings are none of these: test/security/request-framing.test.ts.
    expect(await send(brotliCompressSync(json), "br")).toMatchObject({ status: 415 });
    expect(bodies().map(String)).toEqual(Array(6).fill(json));
    expect(stored[0]?.headers).toContain('["content-encoding","gzip"]');
    expect([door.inFlight(), door.counters.accepted, door.counters.compressed]).toEqual([0, 6, 1]);
  });

  it("is split and known by its key like any other", async () => {
    const { send, stored } = await openKeeping({ idempotencyPaths: ["payload.eventId"] });
    await send(gzipSync('{"alerts":[{"title":"a"},{"title":"b"}]}'), "gzip");
    await send(gzipSync('{"eventId":"e1"}'), "gzip");
    expect(stored.map(({ ids }) => ids.length)).toEqual([2, 1]);
    expect(stored[1]?.dedupeKey).toBe("payload.eventId:e1");
  });

  it("is kept as it came when it is not what its header says: the alert in it is not lost", async () => {
    const { send, bodies } = await openKeeping();
    const packed = gzipSync(json);
    const flipped = Buffer.from(packed);
    flipped[packed.length - 6] = (flipped[packed.length - 6] ?? 0) ^ 1;
    const broken = [Buffer.from(json), Buffer.alloc(0), packed.subarray(0, -1), packed.subarray(0, 12), flipped];
    for (const body of broken) expect(await send(body, "gzip")).toMatchObject({ status: 202 });
    expect(bodies()).toEqual(broken);
  });

  it("may come to the limit of a body and no further, packed or not", async () => {
    const { send, bodies, door } = await openKeeping({ maxBodyBytes: 4096 });
    expect(await send(gzipSync("x".repeat(4096)), "gzip")).toMatchObject({ status: 202 });
    expect(bodies()[0]).toHaveLength(4096);
    const large = await send(gzipSync("x".repeat(4097)), "gzip");
    expect(large).toMatchObject({ status: 413 });
    expect(large.text).toContain("what it is decompressed to is larger than 4096 bytes");
    // Empty members, of which nothing would come.
    const empty = Buffer.concat(Array.from({ length: 300 }, () => gzipSync("")));
    expect(await send(empty, "gzip")).toMatchObject({ status: 413 });
    expect(await send(gzipSync("{}"), "gzip")).toMatchObject({ status: 202 });
    expect([door.counters.tooLarge, door.inFlight()]).toEqual([2, 0]);
  });

  it("never comes to more than 16 MiB, however much a body may have", async () => {
    // A busy machine may take the 5 s after which a body is kept as it came.
    const { signal } = new AbortController();
    const decode: typeof decodeBody = (sent, limits) => decodeBody(sent, { ...limits, signal });
    const { send } = await openKeeping({ maxBodyBytes: 64 * mebibyte }, { decode });
    expect(await send(gzipSync(Buffer.alloc(16 * mebibyte + 1, "x")), "gzip")).toMatchObject({ status: 413 });
  });

  it("of 1 GiB in 1 MB is answered 413, decompressed no further than the limit, and delays no other alert", async () => {
    const bomb = makeBomb();
    expect(bomb.length).toBeLessThan(mebibyte);
    const { send, door, stored } = await openKeeping();
    const [first, second, plain] = await Promise.all([send(bomb, "gzip"), send(bomb, "gzip"), send(json)]);
    expect([first.status, second.status, plain.status]).toEqual([413, 413, 202]);
    expect([stored.length, door.inFlight(), door.counters.tooLarge]).toEqual([1, 0, 2]);
    let most = 0;
    const mayHold = (bytes: number) => {
      most = Math.max(most, bytes);
      return true;
    };
    const { signal } = new AbortController();
    expect(await decodeBody(bomb, { maxBytes: mebibyte, signal, mayHold })).toEqual({ kind: "too_large" });
    expect(most).toBeLessThanOrEqual(mebibyte);
  });

  it("ends when it takes too long, or there is no room for what comes out", async () => {
    const packed = gzipSync(json);
    const { signal } = new AbortController();
    const limits = { maxBytes: mebibyte, signal, mayHold: () => true };
    expect(await decodeBody(packed, limits)).toMatchObject({ kind: "read" });
    expect(await decodeBody(packed, { ...limits, signal: AbortSignal.abort() })).toEqual({ kind: "undecodable" });
    expect(await decodeBody(packed, { ...limits, mayHold: () => false })).toEqual({ kind: "no_room" });
  });
});

describe("bodies of one source that take long", () => {
  it("keep those of another waiting for nothing, are decompressed one at a time, and are answered 503 when many wait", async () => {
    const [ofA, ofB] = ["aaaa-secret-kS93jdLwm2PzQe81", "bbbb-secret-kS93jdLwm2PzQe81"];
    const slow: ((decoding: Decoding) => void)[] = [];
    const isSlow = (sent: Buffer) => sent[0] === 0;
    const { send, bodies, door } = await openKeeping(
      {
        maxBodyBytes: 4 * mebibyte,
        sources: [source("a", ofA), source("b", ofB)],
      },
      {
        decode: (sent, limits) => {
          if (!isSlow(sent)) return decodeBody(sent, limits);
          return new Promise((resolve) => slow.push(resolve));
        },
      },
    );
    const crafted = Buffer.alloc(4 * mebibyte);
    const answers = Array.from({ length: 4 }, () => send(crafted, "gzip", {}, ofA));
    const refused: Awaited<ReturnType<typeof send>>[] = [];
    for (const answer of answers) void answer.then((one) => one.status === 503 && refused.push(one));
    await expect.poll(() => refused.length).toBe(2);
    expect(refused[0]).toMatchObject({ text: expect.stringContaining("compressed bodies of this source") });
    expect(refused[0]?.headers.get("retry-after")).toBe("1");
    await expect.poll(() => slow.length).toBeGreaterThan(0);
    expect(slow).toHaveLength(1);
    for (let round = 0; round < 3; round += 1) {
      expect(await send(gzipSync(json), "gzip", {}, ofB)).toMatchObject({ status: 202 });
      expect(await send(gzipSync(json), "gzip")).toMatchObject({ status: 202 });
    }
    expect(bodies()).toHaveLength(6);
    const end = setInterval(() => slow.shift()?.({ kind: "undecodable" }), 1);
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    clearInterval(end);
    expect(statuses.sort()).toEqual([202, 202, 503, 503]);
    expect(door.inFlight()).toBe(0);
  });
});

describe("at the hook of a source", () => {
  const key = "canary-signing-key";
  const hook = "chain-secret-kS93jdLwm2PzQe81";
  const open = (check: string) => {
    const checks = checksOf(check, { KEY: key });
    return openKeeping({ sources: [{ ...source("chain", hook), checks }] });
  };
  const sign = (text: string | Buffer) => createHmac("sha256", key).update(text).digest("hex");

  it("QuickNode's signature is checked over the body before it was compressed, and one that fails is kept readable", async () => {
    const { send, bodies, refused } = await open(`{ type: quicknode, secret: "\${KEY}" }`);
    const time = String(Math.floor(Date.now() / 1000));
    const headers = { "x-qn-nonce": "n1", "x-qn-timestamp": time, "x-qn-signature": sign(`n1${time}${json}`) };
    expect(await send(gzipSync(json), "gzip", headers, hook)).toMatchObject({ status: 202 });
    expect(bodies().map(String)).toEqual([json]);
    expect(await send(gzipSync(`${json} `), "gzip", headers, hook)).toMatchObject({ status: 401 });
    expect(refused.map(({ body }) => Buffer.from(body).toString())).toEqual([`${json} `]);
  });

  it("a sender that signs what it sends is checked over those bytes", async () => {
    const { send, bodies } = await open(`{ type: hmac, secret: "\${KEY}", header: X-Sign, signs: "{sent}" }`);
    const packed = gzipSync(json);
    expect(await send(packed, "gzip", { "x-sign": sign(packed) }, hook)).toMatchObject({ status: 202 });
    expect(await send(packed, "gzip", { "x-sign": sign(json) }, hook)).toMatchObject({ status: 401 });
    expect(bodies().map(String)).toEqual([json]);
  });

  it("Tenderly and Alchemy get the 200 that they ask for; others 202, and 405 for GET", async () => {
    const found: Record<string, number[]> = {};
    for (const type of ["tenderly", "alchemy", "github"]) {
      const { send, origin } = await open(`{ type: ${type}, secret: "\${KEY}" }`);
      const date = new Date().toUTCString();
      const headers = {
        date,
        "x-tenderly-signature": sign(json + date),
        "x-alchemy-signature": sign(json),
        "x-hub-signature-256": `sha256=${sign(json)}`,
      };
      const asked = await fetch(`${origin}${hookPrefix}${hook}`);
      found[type] = [(await send(json, undefined, headers, hook)).status, asked.status];
    }
    expect(found).toEqual({ tenderly: [200, 200], alchemy: [200, 200], github: [202, 405] });
  });
});

it("reads what was made up by chance as Node does at once, or says that it cannot, and never throws", async () => {
  const { below: random } = createSeededRandom(20_260_302);
  const { signal } = new AbortController();
  const kinds = new Map<string, number>();
  for (let round = 0; round < 2_000; round += 1) {
    const content = Buffer.from(Array.from({ length: random(300) }, () => random(4) * 61));
    const packed = Buffer.from(gzipSync(content, { level: random(10) }));
    for (let change = random(3); change > 0; change -= 1) packed[random(packed.length)] = random(256);
    const sent = random(4) === 0 ? packed.subarray(0, random(packed.length + 1)) : packed;
    const given = random(4) === 0 ? Buffer.concat([sent, sent]) : sent;
    const maxBytes = 100 + random(600);
    const decoding = await decodeBody(given, { maxBytes, signal, mayHold: (bytes) => bytes <= maxBytes });
    kinds.set(decoding.kind, (kinds.get(decoding.kind) ?? 0) + 1);
    let expected: Buffer | undefined;
    try {
      expected = gunzipSync(given);
    } catch {
      expected = undefined;
    }
    if (decoding.kind === "read") expect(decoding.body.equals(expected ?? Buffer.from("not read"))).toBe(true);
    else if (decoding.kind === "too_large") expect(expected?.length ?? maxBytes + 1).toBeGreaterThan(maxBytes);
    // With another first byte it may be deflate, which the whole of it then is not.
    else expect(expected === undefined || given[0] !== 0x1f).toBe(true);
  }
  expect([...kinds.keys()].sort()).toEqual(["read", "too_large", "undecodable"]);
});
