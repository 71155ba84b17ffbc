import { getEventListeners, once } from "node:events";
import { createServer, type Socket } from "node:net";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createAddressPolicy } from "../../../src/vendors/http/address-policy.ts";
import type { OutgoingRequest } from "../../../src/vendors/http/exchange.ts";
import type { ResolveHost } from "../../../src/vendors/http/open-connection.ts";
import { createTransport, type Transport, type TransportOptions } from "../../../src/vendors/http/transport.ts";
import { listenOnLoopback } from "../../support/loopback.ts";

const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** What a test makes of each request; the socket is the server's end. */
type Answering = (socket: Socket, body: string) => void;

let origin: string;
let answering: Answering;
/** The server's ends, in the order in which they were opened. */
let sockets: Socket[];
/** The bodies of all requests that arrived whole, and the connection of each. */
let arrived: { body: string; over: number }[];
let now: number;

beforeEach(async () => {
  answering = (socket) => socket.write(ok);
  sockets = [];
  arrived = [];
  now = 0;
  const server = createServer((socket) => {
    const over = sockets.push(socket) - 1;
    let received = "";
    socket.setEncoding("latin1").on("data", (text) => {
      received += text;
      const [head = "", body = ""] = received.split("\r\n\r\n");
      const [, length] = /content-length: (\d+)/.exec(head) ?? [];
      if (body.length < Number(length ?? Number.POSITIVE_INFINITY)) return;
      received = "";
      arrived.push({ body, over });
      answering(socket, body);
    });
  });
  origin = (await listenOnLoopback(server)).url;
});

function open(options: Partial<TransportOptions> = {}): Transport {
  const policy = createAddressPolicy(["127.0.0.1"]);
  const limits = { connectTimeoutMs: 60_000, idleMs: 60_000 };
  const transport = createTransport({ policy, ...limits, elapsed: () => now, ...options });
  onTestFinished(transport.close);
  return transport;
}

const never = { signal: new AbortController().signal };

function post(body: string, url = `${origin}/in`): OutgoingRequest {
  return { url: new URL(url), method: "POST", headers: {}, body };
}

const answered = { answer: { status: 200, headers: { "content-length": "2" }, body: "ok" } };

describe("a kept connection", () => {
  it("carries call after call", async () => {
    const transport = open();
    for (const body of ["a", "b", "c"]) expect(await transport.exchange(post(body), never)).toEqual(answered);
    expect(arrived).toEqual(["a", "b", "c"].map((body) => ({ body, over: 0 })));
  });

  it("carries one call at a time; several at once have one each, and all are used again", async () => {
    const transport = open();
    const waiting: Socket[] = [];
    answering = (socket) => waiting.push(socket);
    const calls = ["a", "b", "c"].map((body) => transport.exchange(post(body), never));
    await expect.poll(() => waiting.length).toBe(3);
    for (const socket of waiting) socket.write(ok);
    expect(await Promise.all(calls)).toEqual([answered, answered, answered]);
    answering = (socket) => socket.write(ok);
    await Promise.all(["d", "e", "f"].map((body) => transport.exchange(post(body), never)));
    expect(sockets).toHaveLength(3);
    expect(new Set(arrived.slice(3).map(({ over }) => over)).size).toBe(3);
  });

  it.each([
    ["closed", (socket: Socket) => socket.end()],
    ["reset", (socket: Socket) => socket.resetAndDestroy()],
  ])("that the peer has %s while it idled costs nothing: the call goes over a new one, once", async (_how, end) => {
    const transport = open();
    await transport.exchange(post("before"), never);
    end(sockets[0] as Socket);
    // Nobody here has heard of it yet: what the peer did is still to be read from the socket.
    expect(await transport.exchange(post("after"), never)).toEqual(answered);
    expect(arrived).toEqual([
      { body: "before", over: 0 },
      { body: "after", over: 1 },
    ]);
  });

  it("that breaks once the call has left leaves open what became of it, and repeats nothing", async () => {
    const transport = open();
    await transport.exchange(post("before"), never);
    answering = (socket) => socket.resetAndDestroy();
    expect(await transport.exchange(post("lost"), never)).toMatchObject({ fault: { kind: "lost" } });
    expect(arrived.map(({ body }) => body)).toEqual(["before", "lost"]);
    answering = (socket) => socket.write(ok);
    expect(await transport.exchange(post("after"), never)).toEqual(answered);
  });

  const head = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n";
  it.each<[string, Answering, object]>([
    [
      "that breaks in the middle of the answer gives the status, says what is missing",
      (socket) => socket.write(`${head}half`, () => socket.resetAndDestroy()),
      { answer: { status: 200, cutShort: { kind: "lost" } } },
    ],
    [
      "of which the peer says that it closes it is used for this answer",
      (socket) => socket.write(ok.replace("content-length", "connection: close\r\ncontent-length")),
      { answer: { status: 200 } },
    ],
    [
      "that the peer keeps for no longer than an answer may be on its way is used for this one",
      (socket) => socket.write(ok.replace("content-length", "keep-alive: timeout=1\r\ncontent-length")),
      { answer: { status: 200 } },
    ],
    [
      "never takes what the peer says unasked for the answer to the next call",
      (socket) => socket.write(`${ok}HTTP/1.1 500 forged\r\ncontent-length: 0\r\n\r\n`),
      answered,
    ],
    [
      "is given up after a refusal, which may come before the request was read",
      (socket) => socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n"),
      { answer: { status: 413 } },
    ],
  ])("%s, and is not used again", async (_what, first, expected) => {
    const transport = open();
    answering = first;
    expect(await transport.exchange(post("a"), never)).toMatchObject(expected);
    answering = (socket) => socket.write(ok);
    expect(await transport.exchange(post("b"), never)).toEqual(answered);
    expect(arrived.map(({ over }) => over)).toEqual([0, 1]);
  });

  it.each([
    ["an idle one", 1],
    ["a new one", 0],
  ])("is not written to when no time is left for an answer: %s", async (_which, before) => {
    const transport = open();
    for (let call = 0; call < before; call += 1) await transport.exchange(post("before"), never);
    expect(await transport.exchange(post("late"), never, 0)).toMatchObject({ unsent: { kind: "timeout" } });
    await transport.exchange(post("after"), never);
    expect(arrived.map(({ body }) => body)).toEqual([...Array(before).fill("before"), "after"]);
  });

  it("is given up after an answer that is longer than is read", async () => {
    const transport = open({ maxAnswerBytes: 4 });
    answering = (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nlong body");
    expect(await transport.exchange(post("a"), never)).toMatchObject({ answer: { status: 200, body: "long" } });
    await once(sockets[0] as Socket, "close");
  });

  it("takes no call after a minute, so that a host that has moved is followed", async () => {
    const transport = open();
    await transport.exchange(post("a"), never);
    now = 60_000;
    await transport.exchange(post("b"), never);
    now = 60_001;
    await transport.exchange(post("c"), never);
    expect(arrived.map(({ over }) => over)).toEqual([0, 0, 1]);
  });

  it("serves the origin that it was opened for, and no other", async () => {
    const transport = open();
    await transport.exchange(post("a"), never);
    await transport.exchange(post("b", origin.replace("127.0.0.1", "127.1.2.3")), never);
    expect(arrived.map(({ over }) => over)).toEqual([0]);
  });

  it("does not spare the next one the check of its address", async () => {
    const addresses = ["127.0.0.1", "10.0.0.1"];
    const resolve: ResolveHost = (_host, _options, callback) =>
      callback(null, [{ address: addresses.shift() ?? "", family: 4 }]);
    const transport = open({ resolve });
    const url = origin.replace("127.0.0.1", "hooks.example.com");
    await transport.exchange(post("a", url), never);
    await transport.exchange(post("b", url), never);
    sockets[0]?.destroy();
    expect(await transport.exchange(post("c", url), never)).toMatchObject({ unsent: { kind: "forbidden" } });
    expect(arrived).toHaveLength(2);
  });

  it("is not written to when the call is stopped first", async () => {
    const transport = open();
    await transport.exchange(post("a"), never);
    const stop = new AbortController();
    const stopped = transport.exchange(post("b"), stop);
    stop.abort();
    expect(await stopped).toMatchObject({ unsent: { kind: "aborted" } });
    await transport.exchange(post("c"), never);
    expect(arrived.map(({ body }) => body)).toEqual(["a", "c"]);
  });

  it.each(["new", "kept"])(
    "is not written to by a relay that stood still until its lease was over: %s",
    async (age) => {
      const transport = open();
      if (age === "kept") await transport.exchange(post("before"), never);
      const leaving = new AbortController();
      let isOver = false;
      const mayCall = () => {
        // Who finds its lease over leaves the lane at once, and ends what is under way there.
        if (isOver) leaving.abort();
        return !isOver;
      };
      const late = transport.exchange(post("late"), { signal: leaving.signal, mayCall });
      isOver = true;
      expect(await late).toMatchObject({ unsent: { kind: "aborted" } });
      expect(await transport.exchange(post("after"), never)).toEqual(answered);
      expect(arrived.map(({ body }) => body)).not.toContain("late");
    },
  );

  it("ends at once when the channel is closed, idle or not", async () => {
    const transport = open();
    const taken = new Promise<void>((resolve) => {
      answering = (socket, body) => (body === "idle" ? socket.write(ok) : resolve());
    });
    const first = transport.exchange(post("idle"), never);
    const second = transport.exchange(post("under way"), never);
    await Promise.all([first, taken]);
    const ended = Promise.all(sockets.map((socket) => once(socket, "close")));
    transport.close();
    expect(await second).toMatchObject({ fault: { kind: "lost" } });
    await ended;
    expect(await transport.exchange(post("late"), never)).toMatchObject({ unsent: { kind: "aborted" } });
    expect(sockets).toHaveLength(2);
  });

  it("is not used when the channel is closed while it is opened", async () => {
    const resolve: ResolveHost = (_host, _options, callback) => {
      transport.close();
      callback(null, [{ address: "127.0.0.1", family: 4 }]);
    };
    const transport = open({ resolve });
    const call = transport.exchange(post("late", origin.replace("127.0.0.1", "hooks.example.com")), never);
    expect(await call).toMatchObject({ unsent: { kind: "aborted" } });
    expect(arrived).toEqual([]);
  });

  it("is not opened again and again for a request that cannot be written", async () => {
    const transport = open();
    const broken = { ...post("a"), headers: { "x-name": "two\nlines" } };
    for (let call = 0; call < 2; call += 1) {
      expect(await transport.exchange(broken, never)).toHaveProperty("unsent");
      expect(await transport.exchange(post("b"), never)).toEqual(answered);
    }
    expect(arrived.map(({ body }) => body)).toEqual(["b", "b"]);
  });

  it("leaves nothing behind after a thousand calls", async () => {
    const transport = open({ answerTimeoutMs: 600_000 });
    const { signal } = new AbortController();
    await transport.exchange(post("first"), { signal });
    const before = process.getActiveResourcesInfo().length;
    for (let call = 0; call < 1_000; call += 1) await transport.exchange(post("x"), { signal });
    expect(arrived).toHaveLength(1_001);
    expect(sockets).toHaveLength(1);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(before);
  });
});
