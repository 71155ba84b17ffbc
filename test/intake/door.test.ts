import { createHmac } from "node:crypto";
import { once } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import { connect, Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { hashBody } from "../../src/core/arrived-body.ts";
import { AppError } from "../../src/core/errors.ts";
import { askForProof, readProof } from "../../src/core/hook-proof.ts";
import { idPattern } from "../../src/core/id.ts";
import { Secret } from "../../src/core/secret.ts";
import type { DoorSource } from "../../src/intake/door/named-hook.ts";
import { openRaw } from "../support/raw-http.ts";
import { type OpenDoorOptions, openDoor, secret, source } from "./open-door.ts";

/** A door whose disk takes nothing before it is let go. */
async function openSlow(options: OpenDoorOptions = {}) {
  let letGo = () => {};
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const order: string[] = [];
  const setting = await openDoor({
    ...options,
    deps: (store) => ({
      store: {
        acceptRequest: async (request) => {
          order.push("begun");
          await gate;
          order.push("stored");
          return store.acceptRequest(request);
        },
      },
    }),
  });
  return { ...setting, order, letGo };
}

describe("the hooks of sources", () => {
  const ofForge = "forge-secret-kS93jdLwm2PzQe81";
  const ofOther = "other-secret-kS93jdLwm2PzQe81";
  const former = "former-secret-kS93jdLwm2PzQe81";
  const keyPlaces = [{ path: "payload.event" }];
  const forge = { ...source("forge", ofForge), keyPlaces };
  const other = source("other", ofOther);

  it("store with the alert by whose hook it came, and count for each", async () => {
    const { send, store, door, post } = await openDoor({ sources: [forge, other] });
    const pushed = await send(ofForge, '{"title":"push"}');
    const { data } = await post('{"title":"of the account"}');
    expect((await store.getAlert(pushed.data?.id ?? ""))?.source).toBe("forge");
    expect((await store.getAlert(data?.id ?? ""))?.source).toBeUndefined();
    expect([...door.sources]).toMatchObject([
      ["forge", { accepted: 1, lastAcceptedAt: expect.any(Number) }],
      ["other", { accepted: 0 }],
    ]);
    expect(door.counters).toMatchObject({ accepted: 2, unknownSecret: 0 });
  });

  it("know a key for themselves alone", async () => {
    const { send, accepted } = await openDoor({ sources: [forge, other] });
    const header = { "webhook-id": "msg_1" };
    const { data: first } = await send(ofOther, "a", header);
    expect(await send(ofForge, "a", header)).toMatchObject({ status: 202, data: { duplicate: false } });
    expect((await send(ofOther, "a", header)).data).toMatchObject({ id: first?.id, duplicate: true });
    const { data: own } = await send(ofForge, '{"event":"e1"}', { "webhook-id": "x" });
    const again = await send(ofForge, '{"event":"e1"}', { "webhook-id": "y" });
    expect(again.data).toEqual({ id: own?.id, duplicate: true });
    expect(accepted()).toBe(3);
  });

  it("take several secrets, and others from one moment to the next", async () => {
    const { send, door } = await openDoor({ sources: [source("forge", ofForge, former)] });
    for (const one of [ofForge, former]) expect(await send(one, "a")).toMatchObject({ status: 202 });
    door.setSecretsOf("forge", other.secrets);
    for (const one of [ofForge, former]) expect(await send(one, "a")).toMatchObject({ status: 404 });
    expect(await send(ofOther, "a")).toMatchObject({ status: 202 });
    expect(door.sources.get("forge")).toMatchObject({ accepted: 3 });
  });

  it("prove that this relay knows their secret, and answer a stranger as always", async () => {
    const { send } = await openDoor({ sources: [forge] });
    const nonce = Buffer.alloc(32, 7).toString("base64url");
    const known = new Secret(ofForge);
    const { text } = await send(askForProof(known, nonce), undefined, {}, "GET");
    expect(readProof(known, nonce, text)?.relay).toEqual(expect.stringMatching(idPattern));
    expect(await send("forge-secret-kS93jdLwm2PzQe82", "a")).toMatchObject({ status: 404 });
  });
});

describe("the check of a source", () => {
  const key = new Secret("canary-signing-secret");
  const at = Date.UTC(2026, 10, 22, 12);
  const ofPayments = "payments-secret-kS93jdLwm2PzQe81";
  const payments = {
    ...source("payments", ofPayments),
    checks: [{ type: "stripe" as const, secrets: [key], toleranceMs: 300_000 }],
  };
  const sign = (body: string, time = at / 1000) =>
    `t=${time},v1=${createHmac("sha256", key.reveal()).update(`${time}.${body}`).digest("hex")}`;
  async function openChecked(options: Parameters<typeof openDoor>[0] = {}) {
    const setting = await openDoor({ now: () => at, sources: [payments], ...options });
    const pay = (body: string, signature?: string, from = "203.0.113.9") =>
      setting.send(ofPayments, body, {
        "x-forwarded-for": from,
        ...(signature !== undefined && { "stripe-signature": signature }),
      });
    return { ...setting, pay };
  }

  it("lets the sender in, and knows the very same request again", async () => {
    const { pay } = await openChecked();
    const first = await pay("paid", sign("paid"));
    expect(first).toMatchObject({ status: 202, data: { duplicate: false } });
    // An attacker who repeats it may add to the header of the signature.
    const again = await pay("paid", `${sign("paid")},v0=00,v1=${"0".repeat(64)}`);
    expect(again).toMatchObject({ status: 202, data: { id: first.data?.id, duplicate: true } });
  });

  it("knows a message of Standard Webhooks again that comes by the other names of its headers", async () => {
    const bytes = Buffer.from("a-key-of-twenty-four-byt");
    const secret = new Secret(`whsec_${bytes.toString("base64")}`);
    const checks = [{ type: "standard-webhooks" as const, secrets: [secret], toleranceMs: 300_000 }];
    const { send } = await openDoor({ now: () => at, sources: [{ ...payments, checks }] });
    const mac = createHmac("sha256", bytes)
      .update(`msg_1.${at / 1000}.paid`)
      .digest("base64");
    const by = async (family: string) => {
      const signed = { id: "msg_1", timestamp: String(at / 1000), signature: `v1,${mac}` };
      const headers = Object.entries(signed).map(([name, value]) => [`${family}-${name}`, value]);
      return (await send(ofPayments, "paid", Object.fromEntries(headers))).data;
    };
    const first = await by("webhook");
    expect(first).toMatchObject({ duplicate: false });
    expect(await by("svix")).toEqual({ ...first, duplicate: true });
  });

  it("answers 401 with why, and keeps what came, apart from the alerts", async () => {
    const { pay, store, door } = await openChecked();
    const forged = await pay('{"alerts":[{"title":"a"},{"title":"b"}]}', sign("another body"));
    expect(forged).toMatchObject({
      status: 401,
      error: {
        code: "sender_refused",
        message: "This source checks who sends: no v1 in stripe-signature is one of this source's.",
      },
    });
    expect(await pay("paid", sign("paid", at / 1000 - 400))).toMatchObject({ status: 401 });
    expect(await pay("paid")).toMatchObject({ status: 401 });
    const list = await store.listRefused({ limit: 10 });
    expect(list.map(({ reason }) => reason)).toEqual(["no_signature", "too_old", "wrong_signature"]);
    expect(await store.getRefused(list[2]?.id ?? "")).toMatchObject({
      source: "payments",
      items: 2,
      // Nobody's word about the address is believed here.
      address: "127.0.0.1",
      body: Buffer.from('{"alerts":[{"title":"a"},{"title":"b"}]}'),
    });
    expect(await store.listAlerts({ limit: 10 })).toEqual([]);
    expect(door.sources.get("payments")).toMatchObject({
      accepted: 0,
      refused: { no_signature: 1, too_old: 1, wrong_signature: 1 },
      lastRefusedAt: at,
    });
    expect(door.counters).toMatchObject({ accepted: 0, senderRefused: 3 });
  });

  it("counts a flood and keeps only some of it, and says of the next how many there were", async () => {
    let now = at;
    const { pay, store, door } = await openChecked({ now: () => now });
    for (let count = 0; count < 60; count += 1) expect((await pay("x")).status).toBe(401);
    expect(await store.listRefused({ limit: 200 })).toHaveLength(50);
    now += 2_000;
    await pay("x");
    expect(await store.listRefused({ limit: 1 })).toMatchObject([{ unkept: 10 }]);
    expect(door.sources.get("payments")?.refused).toEqual({ no_signature: 61 });
  });

  it("leaves room in a flood from one address for what comes from another", async () => {
    const { pay, store } = await openChecked({ proxies: { trustedProxies: ["127.0.0.1"], behindFly: false } });
    for (let count = 0; count < 60; count += 1) await pay("x");
    for (let count = 0; count < 3; count += 1) await pay("x", undefined, "198.51.100.7");
    const list = await store.listRefused({ limit: 200 });
    expect(list.slice(0, 3).map(({ address }) => address)).toEqual(Array(3).fill("198.51.100.7"));
    expect(list).toHaveLength(53);
  });

  it("answers 503 when it cannot be kept: else nobody would know of it", async () => {
    let isFull = true;
    const full = new AppError("store_unavailable", "full", { retryAfterMs: 30_000 });
    const { pay, store } = await openChecked({
      deps: (store) => ({
        refused: { recordRefused: (request) => (isFull ? Promise.reject(full) : store.recordRefused(request)) },
      }),
    });
    expect(await pay("x")).toMatchObject({ status: 503 });
    isFull = false;
    await pay("x");
    expect(await store.listRefused({ limit: 1 })).toMatchObject([{ unkept: 1 }]);
  });
});

describe("the hook", () => {
  it("answers 202 with the alert's id once body and headers are stored", async () => {
    const { post, store, accepted } = await openDoor();
    const { status, data } = await post('{"title":"x", "value": 1.10}', {
      "x-sender": "desk",
      authorization: "Bearer sender-own",
    });
    expect(status).toBe(202);
    expect(data?.id).toMatch(idPattern);
    expect(data?.duplicate).toBe(false);
    const stored = await store.getAlert(data?.id ?? "");
    expect(Buffer.from(stored?.request?.body ?? []).toString()).toBe('{"title":"x", "value": 1.10}');
    const headers = Object.fromEntries(stored?.request?.headers ?? []);
    expect(headers).toMatchObject({ "x-sender": "desk", authorization: "***" });
    expect(accepted()).toBe(1);
  });

  it("takes any body, also none, and bytes that are no text", async () => {
    const { post, store } = await openDoor();
    for (const body of ["", "{", "[1,2", "just words", new Uint8Array([0, 255, 1]), '{"__proto__":{"a":1}}']) {
      const { status, data } = await post(body);
      expect(status).toBe(202);
      expect(Buffer.from((await store.getAlert(data?.id ?? ""))?.request?.body ?? [])).toEqual(Buffer.from(body));
    }
  });

  it("gives one id for each alert of a batch, in one request", async () => {
    const { post, store } = await openDoor();
    const { data } = await post('[{"title":"a"},{"title":"b"}]');
    expect(data?.ids).toHaveLength(2);
    const [first, second] = await Promise.all((data?.ids ?? []).map((id) => store.getAlert(id)));
    expect([first?.request?.item, second?.request?.item]).toEqual([0, 1]);
    expect(first?.request?.items).toBe(2);
  });

  it("proves itself to everybody who knows the secret, stores and counts nothing for it, and shows strangers nothing", async () => {
    const { send, door } = await openDoor();
    const nonce = "n".repeat(43);
    const known = new Secret(secret);
    const ask = async (path: string, method = "GET") => {
      const { status, text } = await send(path, undefined, {}, method);
      return { status, text };
    };
    const answers = [await ask(askForProof(known, nonce)), await ask(`${askForProof(known, nonce)}/?x=1`)];
    const relays = answers.map(({ text }) => readProof(known, nonce, text)?.relay);
    expect(relays).toEqual([expect.stringMatching(idPattern), relays[0]]);
    expect(door.counters).toMatchObject({ accepted: 0, unknownSecret: 0 });
    const unknown = await ask("guess");
    const strangers = await ask(askForProof(new Secret("another-secret-of-a-stranger"), nonce));
    expect([strangers, await ask(askForProof(known, nonce), "PUT")]).toEqual([unknown, unknown]);
    door.addSecret(new Secret("rotated-secret-Vb72kdPwq0XnRt64"));
    const rotated = new Secret("rotated-secret-Vb72kdPwq0XnRt64");
    expect(readProof(rotated, nonce, (await ask(askForProof(rotated, nonce))).text)).toEqual({ relay: relays[0] });
  });

  it("says what arrives of a body to a program that knows the secret, and stores and counts nothing of it", async () => {
    const { send, door, accepted } = await openDoor({ maxBodyBytes: 2048 });
    const nonce = "n".repeat(43);
    const known = new Secret(secret);
    const question = askForProof(known, nonce);
    for (const [body, headers, encoding] of [
      ["Prüfung ".repeat(200), {}, undefined],
      ["", {}, undefined],
      ["{}", { "content-encoding": "gzip" }, "gzip"],
    ] as const) {
      const { text } = await send(question, body, headers);
      const sent = Buffer.from(body);
      const arrived = { bytes: sent.length, sha256: hashBody(sent), ...(encoding && { encoding }) };
      expect(readProof(known, nonce, text)?.body).toEqual(arrived);
    }
    expect(await send(question, "x".repeat(2049))).toMatchObject({ status: 413 });
    expect(await send(question, "x".repeat(8 * 2048 + 1)).catch(() => ({ status: 413 }))).toMatchObject({
      status: 413,
    });
    // A secret that is about to be taken, asked for by a program that knows the present one.
    expect(await send(askForProof(new Secret("not-taken-yet"), nonce, known), "{}")).toMatchObject({ status: 404 });
    expect(door.counters).toMatchObject({ accepted: 0, unknownSecret: 0, tooLarge: 0, compressed: 0 });
    expect(await send(askForProof(new Secret("a-guess"), nonce), "{}")).toMatchObject({ status: 404 });
    expect(door.counters.unknownSecret).toBe(1);
    expect([accepted(), door.inFlight()]).toEqual([0, 0]);
  });

  it("marks a test alert as one", async () => {
    const { post, store } = await openDoor();
    const { data } = await post("{}", { "x-tocsin-test": "1" });
    expect((await store.getAlert(data?.id ?? ""))?.origin).toBe("test");
  });
});

describe("what the hook refuses", () => {
  it("says to a person with the right address that POST is wanted, stores nothing, and counts strangers", async () => {
    const { send, door, accepted } = await openDoor();
    const { status, headers } = await send(secret, undefined, {}, "GET");
    expect([status, headers.get("allow")]).toEqual([405, "POST"]);
    expect((await send("x", "{}")).status).toBe(404);
    expect(door.counters.unknownSecret).toBe(1);
    expect(accepted()).toBe(0);
  });

  it("answers 413 above the limit and 202 at it, whether or not the length was declared", async () => {
    const { post, door } = await openDoor({ maxBodyBytes: 1000 });
    expect((await post("x".repeat(1000))).status).toBe(202);
    expect((await post("x".repeat(1001))).status).toBe(413);
    const stream = new ReadableStream({
      start(controller) {
        for (let chunk = 0; chunk < 20; chunk += 1) controller.enqueue(new Uint8Array(100));
        controller.close();
      },
    });
    expect((await post(stream)).status).toBe(413);
    expect(door.counters.tooLarge).toBe(2);
  });

  it("counts a head of more than 200 fields among what it turned away, with the right secret alone", async () => {
    const { send, door, accepted } = await openDoor();
    const headers = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`x-${index}`, "a"]));
    expect((await send(secret, "{}", headers)).status).toBe(431);
    expect((await send("x", "{}", headers)).status).toBe(404);
    const counted = door.refusals().filter(({ total }) => total > 0);
    expect(counted.map(({ reason, total }) => [reason, total])).toEqual([
      ["unknown_secret", 1],
      ["too_many_fields", 1],
    ]);
    expect(accepted()).toBe(0);
  });

  it("stores nothing of a request that ends before its body", async () => {
    const { port, store, door } = await openDoor();
    const socket = connect(port, "127.0.0.1");
    socket.write(`POST /hooks/${secret} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nonly this`);
    await once(socket, "connect");
    socket.destroy();
    await expect.poll(() => door.counters.aborted).toBe(1);
    expect((await store.countAlerts()).total).toBe(0);
  });
});

describe("when it cannot be stored", () => {
  const failing = (error: Error) => () => ({ store: { acceptRequest: () => Promise.reject(error) } });

  it("answers 503 with Retry-After, and never 2xx", async () => {
    const full = new AppError("store_unavailable", "The disk is full.", { retryAfterMs: 30_000 });
    const { post, accepted, door } = await openDoor({ deps: failing(full) });
    const { status, headers } = await post("{}");
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("30");
    expect(accepted()).toBe(0);
    expect(door.counters.notStored).toBe(1);
  });

  it("answers 503 for a defect as well, without its words", async () => {
    const { post } = await openDoor({ deps: failing(new Error("secret inner words")) });
    const { status, text } = await post("{}");
    expect(status).toBe(503);
    expect(text).not.toContain("inner words");
  });

  it("answers 503 to more requests than may wait for the disk", async () => {
    const { post, order, letGo } = await openSlow({ maxWaiting: 2 });
    const waiting = [post("1"), post("2")];
    await expect.poll(() => order).toHaveLength(2);
    expect((await post("3")).status).toBe(503);
    letGo();
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([202, 202]);
  });
});

it("answers 503 to bodies beyond the memory for them, and takes them again when there is room", async () => {
  const { post, door, order, letGo } = await openSlow({ maxHeldBytes: 250_000 });
  const large = "x".repeat(100_000);
  const held = [post(`1${large}`), post(`2${large}`)];
  await expect.poll(() => order).toHaveLength(2);
  const refused = await post(`3${large}`);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(door.counters.notStored).toBe(1);
  const small = post("a small one");
  letGo();
  expect((await Promise.all([...held, small])).map(({ status }) => status)).toEqual([202, 202, 202]);
  expect((await post(`3${large}`)).status).toBe(202);
});

it("keeps no more of a body than an alert may have, however much comes of it", async () => {
  let came = 0;
  const { origin, post } = await openDoor({
    maxBodyBytes: 10_000,
    maxHeldBytes: 12_000,
    watch: (_door, request) => request.on("data", ({ length }) => (came += length)),
  });
  const sender = await openRaw(origin);
  await sender.write(`POST /hooks/${secret} HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n`);
  for (let sent = 5_000; sent <= 60_000; sent += 5_000) {
    await sender.write("x".repeat(5_000));
    await expect.poll(() => came, { interval: 1 }).toBe(sent);
  }
  expect((await post("y".repeat(10_000))).status).toBe(202);
  await sender.write("x".repeat(10_000));
  // It was not ended for the other: it held nothing.
  expect((await sender.readAnswers(1)).map(({ status }) => status)).toEqual([413]);
});

describe("a body that stalls", () => {
  const sourceSecret = "checked-source-kS93jdLwm2PzQe81";
  const checks: DoorSource["checks"] = [{ type: "bearer", secrets: [new Secret("nobody-here-has-it")] }];
  const sources = [{ ...source("checked", sourceSecret), checks }];

  it.each([
    ["of a source whose check nobody passed", sourceSecret],
    ["of the account's own hook", secret],
  ])("%s keeps no other out, small or large, and is answered why it had to go", async (_whose, to) => {
    const { origin, post } = await openDoor({ maxBodyBytes: 100_000, maxHeldBytes: 400_000, sources });
    const stalled = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const connection = await openRaw(origin);
        const size = index % 2 === 0 ? 90_000 : 30_000;
        await connection.write(`POST /hooks/${to} HTTP/1.1\r\nHost: x\r\nContent-Length: ${size + 1}\r\n\r\n`);
        await connection.write("x".repeat(size));
        return connection;
      }),
    );
    for (const size of [300, 60_000, 99_000, 99_000, 99_000]) {
      expect((await post("y".repeat(size))).status).toBe(202);
    }
    const answers = (await Promise.race(stalled.map((one) => one.readAnswers(1)))) ?? [];
    expect(answers).toMatchObject([
      { status: 503, body: expect.stringContaining("The memory for bodies is full; send it again.") },
    ]);
  });

  it("is one of many, and a burst of large alerts from one address is taken as far as there is room", async () => {
    const { post } = await openDoor({ maxBodyBytes: 200_000, maxHeldBytes: 1_000_000 });
    const large = "z".repeat(190_000);
    const statuses = (await Promise.all(Array.from({ length: 12 }, (_, index) => post(`${index}${large}`)))).map(
      ({ status }) => status,
    );
    expect(statuses.filter((status) => status === 202).length).toBeGreaterThanOrEqual(5);
    expect(new Set(statuses)).toEqual(new Set(statuses.includes(503) ? [202, 503] : [202]));
  });
});

it("holds a body that comes byte by byte in no more memory than its length", async () => {
  const { origin, door } = await openDoor({ maxBodyBytes: 300_000 });
  const sender = await openRaw(origin);
  await sender.write(`POST /hooks/${secret} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
  await sender.write("1\r\nx\r\n".repeat(200_000));
  await sender.write("0\r\n\r\n");
  expect((await sender.readAnswers(1)).map(({ status }) => status)).toEqual([202]);
  expect(door.counters.alerts).toBe(1);
});

it("stores nothing of an alert that it has refused while it was read", async () => {
  const { post, store, door } = await openDoor({
    // The last part is there, and its end has not been announced yet.
    watch: (door, request, response) => request.on("data", () => door.refuse(response)),
  });
  const refused = await post("{}");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"]);
  await door.settled();
  expect(await store.listAlerts({ limit: 1 })).toEqual([]);
  expect([door.counters.notStored, door.counters.accepted, door.inFlight()]).toEqual([1, 0, 0]);
});

it("is settled when each alert that came whole has been answered", async () => {
  const { post, door, order, letGo } = await openSlow();
  await door.settled();
  const posting = post("{}");
  await expect.poll(() => order).toEqual(["begun"]);
  const settled = door.settled().then(() => order.push("settled"));
  letGo();
  expect((await posting).status).toBe(202);
  await settled;
  expect(order).toEqual(["begun", "stored", "settled"]);
});

it("takes secrets of any length and letters, and nothing that only begins or ends like one", async () => {
  const { door } = await openDoor();
  const known = ["zweites-ü€😀", `${"l".repeat(400)}-end`];
  for (const one of known) door.addSecret(new Secret(one));
  const socketless = (given: string) => {
    const request = Object.assign(new IncomingMessage(new Socket()), { method: "GET" });
    const response = new ServerResponse(request);
    door.handle(request, response, given);
    return response.statusCode;
  };
  for (const one of known) {
    expect(socketless(one)).toBe(405);
    const near = [one.slice(1), one.slice(0, -1), `${one}x`, `${one}\0`, one.toUpperCase()];
    for (const other of ["", ...near, "x".repeat(16_000)]) expect(socketless(other), other.slice(-20)).toBe(404);
  }
});
