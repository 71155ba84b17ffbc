import { describe, expect, it, onTestFinished } from "vitest";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Acceptance, IncomingRequest } from "../../src/core/ports/inbox.ts";
import { Secret } from "../../src/core/secret.ts";
import { listen } from "../../src/http/listen.ts";
import { Door } from "../../src/intake/door/door.ts";
import { openRaw, type RawAnswer, type RawConnection } from "../support/raw-http.ts";
import { createTestClock } from "../support/test-clock.ts";

const secret = "listen-secret-kS93jdLwm2PzQe81";
const post = (body: string, length = body.length) =>
  `POST /hooks/${secret} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`;
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const endsConnection = /^connection: close$/im;

/**
 * The listener with a store that commits when the test says so, and pages: `/quick` (also at `/`), `/endless`, and `/held`,
 * which answers when the test says so or never.
 */
async function openListener(options: { unreadAfterMs?: number } = {}) {
  const clock = createTestClock();
  const stored: string[] = [];
  const commits: (() => void)[] = [];
  const held: ((response: Response) => void)[] = [];
  let isHolding = false;
  const store = {
    acceptRequest({ ids, body }: IncomingRequest): Promise<Acceptance> {
      stored.push(Buffer.from(body).toString());
      return new Promise((resolve) => {
        const commit = () => resolve({ kind: "accepted", ids, conflict: false });
        if (isHolding) commits.push(commit);
        else commit();
      });
    },
  };
  const deps = { store, refused: { recordRefused: async () => {} }, now: clock.now, log: silentLog };
  const door = new Door({ ...deps, newId: createIdSource(Date.now) }, { secret: new Secret(secret) });
  const server = await listen({ door, host: "127.0.0.1", port: 0, clock, headers: {}, ...options });
  let hasEnded = () => {};
  const endless = new Promise<void>((resolve) => {
    hasEnded = resolve;
  });
  const answer = (request: Request): Response | Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (pathname === "/endless") {
      const piece = new Uint8Array(64 * 1024);
      return new Response(new ReadableStream({ pull: (to) => to.enqueue(piece), cancel: hasEnded }));
    }
    if (pathname === "/quick" || pathname === "/") return new Response("here");
    return new Promise((resolve) => held.push(resolve));
  };
  server.serve({ readiness: async () => ({ ready: true }), open: async () => answer, onFault() {} });
  onTestFinished(async () => {
    const closed = server.close();
    await clock.advance(10_000);
    await closed;
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  const connect = (options?: { allowHalfOpen?: boolean; localAddress?: string }) => openRaw(url, options);
  /** Over a connection of its own. */
  async function send(request: string, options?: Parameters<typeof connect>[0]) {
    const connection = await connect(options);
    await connection.write(request);
    return connection;
  }
  const untilStored = (count: number) => expect.poll(() => stored.length, { interval: 1 }).toBe(count);
  const untilHeld = (count: number) => expect.poll(() => held.length, { interval: 1 }).toBe(count);
  return {
    ...{ clock, door, server, stored, url, connect, send, untilStored, untilHeld },
    /** One that asks for a page, which is under way. */
    async sendHeld() {
      const reader = await send(get("/held"));
      await untilHeld(1);
      return reader;
    },
    /** One with half an alert, which is under way. */
    async sendHalf() {
      const half = await send(post("half", 8));
      await expect.poll(() => door.inFlight()).toBe(1);
      return half;
    },
    /** One whose request has been answered. */
    async keep(request: string, options?: Parameters<typeof connect>[0]) {
      const connection = await send(request, options);
      await connection.readAnswers(1);
      return connection;
    },
    holdCommits: () => {
      isHolding = true;
    },
    commitAll: () => {
      isHolding = false;
      for (const commit of commits.splice(0)) commit();
    },
    /** Resolves when an answer of `/endless` has ended. */
    endless,
    answerHeld: () => {
      for (const answer of held.splice(0)) answer(new Response("at last"));
    },
  };
}

const statusesOf = (answers: RawAnswer[]) => answers.map(({ status }) => status);
/** Of each, whether it ends its connection. */
const endsOf = (answers: RawAnswer[]) => answers.map(({ status, head }) => [status, endsConnection.test(head)]);

/** Whether it has ended by now. */
function watchEnd(promise: Promise<unknown>) {
  const watched = { isOver: false };
  void promise.then(() => {
    watched.isOver = true;
  });
  return watched;
}

it("knows the hook however its address is written, and by no other spelling of the secret", async () => {
  const relay = await openListener();
  const statusOf = async (target: string, method = "POST") => {
    const connection = await relay.send(
      `${method} ${target} HTTP/1.1\r\nHost: a b:c\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
    );
    return statusesOf(await connection.readToEnd());
  };
  const hook = `/hooks/${secret}`;
  for (const target of [hook, `${hook}/`, `${hook}?a=b`, `${hook}/?/`, `http://elsewhere.example${hook}`])
    expect(await statusOf(target), target).toEqual([202]);
  const encoded = `%${secret.charCodeAt(0).toString(16)}${secret.slice(1)}`;
  for (const target of ["/hooks/", `${hook}//`, `${hook}/more`, `/hooks/x/../${secret}`, `/hooks/${encoded}`])
    expect(await statusOf(target), target).toEqual([404]);
  for (const method of ["GET", "PUT", "OPTIONS", "PROPFIND"]) {
    expect(await statusOf(hook, method), method).toEqual([405]);
    expect(await statusOf("/hooks/unknown", method), method).toEqual([404]);
  }
  expect((await fetch(`${relay.url}${hook}`, { method: "HEAD" })).status).toBe(405);
  expect(relay.stored).toEqual(["{}", "{}", "{}", "{}", "{}"]);
});

it("gives a target that names no path to the pages, whatever the method", async () => {
  const relay = await openListener();
  for (const target of ["http://x", "https://x:443", "http://x?/hooks/"]) {
    for (const method of ["GET", "POST", "PUT", "OPTIONS"]) {
      const connection = await relay.send(`${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      const [answer] = await connection.readToEnd();
      expect(answer?.status, `${method} ${target}`).toBe(200);
    }
  }
});

it("an answer that nobody reads ends with its connection, and one that is only slow to come does not", async () => {
  const relay = await openListener({ unreadAfterMs: 50 });
  const slow = await relay.send(get("/held"));
  const unread = await relay.connect();
  unread.socket.pause();
  await unread.write(get("/endless"));
  await relay.endless;
  relay.answerHeld();
  expect(statusesOf(await slow.readAnswers(1))).toEqual([200]);
});

it("an answer that nobody reads is one at a time on a connection, and a limited number of further requests for pages ends it", async () => {
  const relay = await openListener();
  const connection = await relay.send(get("/held") + get("/held") + get("/quick"));
  await relay.untilHeld(1);
  relay.answerHeld();
  await relay.untilHeld(1);
  relay.answerHeld();
  expect((await connection.readAnswers(3)).map(({ body }) => body)).toEqual(["at last", "at last", "here"]);
  await connection.write(get("/held").repeat(100));
  expect(await connection.readToEnd()).toHaveLength(3);
});

describe("connections of networks that sent no alert yet", () => {
  /** With half a head each, all from one network. */
  async function crowd(relay: Awaited<ReturnType<typeof openListener>>, count: number): Promise<RawConnection[]> {
    const addresses = Array.from({ length: count }, (_, index) => `127.0.66.${1 + (index % 50)}`);
    const all = await Promise.all(addresses.map((localAddress) => relay.connect({ localAddress })));
    await Promise.all(all.map((connection) => connection.write("POST /")));
    return all;
  }

  it("are answered, however many others say half of what they have to say", async () => {
    const relay = await openListener();
    const others = await crowd(relay, 300);
    const unknown = await relay.send(post("{}"), { localAddress: "127.0.88.1" });
    expect(statusesOf(await unknown.readAnswers(1))).toEqual([202]);
    await Promise.all(others.map((other) => other.write(post("[]").slice("POST /".length))));
    const answers = await Promise.all(others.map((other) => other.readAnswers(1)));
    expect(statusesOf(answers.flat())).toEqual(Array(300).fill(202));
  });

  it("are answered when the relay is stopped while they wait", async () => {
    const relay = await openListener();
    const waiting = await relay.send(post("{}"));
    const winding = relay.server.windDown();
    expect(statusesOf(await waiting.readAnswers(1))).toEqual([202]);
    await relay.clock.advance(2_000);
    await winding;
  });
});

describe("winding down", () => {
  it("makes each answer the last of its connection, whether its request came before or after", async () => {
    const relay = await openListener();
    const page = await relay.sendHeld();
    relay.holdCommits();
    const alerts = await relay.send(post("{}") + post("[]"));
    await relay.untilStored(2);
    const winding = relay.server.windDown();
    relay.answerHeld();
    relay.commitAll();
    expect((await page.readToEnd()).map(({ head }) => endsConnection.test(head))).toEqual([true]);
    // Only the last of several may say so, since it takes the connection with it.
    const both = await alerts.readToEnd();
    expect(endsOf(both)).toEqual([
      [202, false],
      [202, true],
    ]);
    const fresh = await relay.send(get("/quick") + get("/quick"));
    expect((await fresh.readToEnd()).map(({ head }) => endsConnection.test(head))).toEqual([true]);
    await winding;
  });

  it("leaves a kept connection open for one more request, and closes it when none comes", async () => {
    const relay = await openListener();
    const busy = await relay.keep(post("1"));
    const silent = await relay.keep(get("/quick"));
    const resting = await relay.keep(post("3"));
    const fresh = await relay.connect();
    const winding = watchEnd(relay.server.windDown());
    await busy.write(post("2"));
    const answers = await busy.readToEnd();
    expect(endsOf(answers)).toEqual([
      [202, false],
      [202, true],
    ]);
    await relay.clock.advance(249);
    expect(silent.socket.closed).toBe(false);
    await relay.clock.advance(1);
    expect(await silent.readToEnd()).toHaveLength(1);
    // A sender's is given longer: its next alert would cross the end, and get no answer.
    await relay.clock.advance(749);
    expect([resting.socket.closed, fresh.socket.closed, winding.isOver]).toEqual([false, false, false]);
    await resting.write(post("4"));
    expect((await resting.readToEnd()).map(({ head }) => endsConnection.test(head))).toEqual([false, true]);
    await relay.clock.advance(1);
    expect(await fresh.readToEnd()).toEqual([]);
    expect(relay.stored).toEqual(["1", "3", "2", "4"]);
  });

  it("stores an alert that has crossed the end of its kept connection, once, since its sender may never repeat it", async () => {
    const relay = await openListener();
    const kept = await relay.keep(post("1"), { allowHalfOpen: true });
    const ended = new Promise<void>((resolve) => kept.socket.once("end", resolve));
    const winding = relay.server.windDown();
    await relay.clock.advance(1_000);
    await ended;
    await kept.write(post("crossing") + post("behind it"));
    await relay.untilStored(2);
    kept.socket.end();
    await winding;
    expect(relay.stored).toEqual(["1", "crossing"]);
    expect(await kept.readToEnd()).toHaveLength(1);
  });

  it("ends a kept connection whose sender never ends it", async () => {
    const relay = await openListener();
    const kept = await relay.keep(post("1"), { allowHalfOpen: true });
    const winding = watchEnd(relay.server.windDown());
    await relay.clock.advance(1_249);
    expect([kept.socket.closed, winding.isOver]).toEqual([false, false]);
    await relay.clock.advance(1);
    await expect.poll(() => winding.isOver).toBe(true);
    kept.socket.end();
    await kept.readToEnd();
  });

  it("resets no connection whose sender goes on behind the answer, which the reset could overtake", async () => {
    const relay = await openListener();
    const sender = await relay.connect({ allowHalfOpen: true });
    const failures: Error[] = [];
    sender.socket.on("error", (error) => failures.push(error));
    relay.holdCommits();
    await sender.write(post("last"));
    await relay.untilStored(1);
    const winding = relay.server.windDown();
    relay.commitAll();
    await sender.readAnswers(1);
    for (let more = 0; more < 20; more += 1) await sender.write(post("x".repeat(100_000)));
    sender.socket.end();
    expect(statusesOf(await sender.readToEnd())).toEqual([202]);
    expect([failures, relay.stored]).toEqual([[], ["last"]]);
    await winding;
  });

  it("closes a page that does not end, and goes on accepting alerts over new connections", async () => {
    const relay = await openListener();
    const page = await relay.sendHeld();
    const winding = relay.server.windDown();
    const watched = watchEnd(winding);
    await relay.clock.advance(749);
    expect([page.socket.closed, watched.isOver]).toEqual([false, false]);
    await relay.clock.advance(1);
    expect(await page.readToEnd()).toEqual([]);
    await winding;
    const alert = await relay.send(post("late"));
    expect(statusesOf(await alert.readToEnd())).toEqual([202]);
  });
});

describe("closing", () => {
  it("stores and answers an alert whose end comes in time", async () => {
    const relay = await openListener();
    const half = await relay.sendHalf();
    const closing = relay.server.windDown().then(() => relay.server.close());
    await relay.clock.advance(1_249);
    await half.write("more");
    expect(statusesOf(await half.readToEnd())).toEqual([202]);
    await closing;
    expect(relay.stored).toEqual(["halfmore"]);
  });

  it("answers 503 to an alert whose end has not come, and stores nothing of it", async () => {
    const relay = await openListener();
    const half = await relay.sendHalf();
    const closing = relay.server.windDown().then(() => relay.server.close());
    await relay.clock.advance(1_250);
    const [answer] = await half.readToEnd();
    expect(answer?.status).toBe(503);
    expect(answer?.head).toMatch(/^retry-after: \d+$/im);
    expect(answer?.head).toMatch(endsConnection);
    expect(JSON.parse(answer?.body ?? "").error.code).toBe("relay_stopping");
    await closing;
    expect([relay.stored, relay.door.counters.notStored]).toEqual([[], 1]);
  });

  it("takes an alert whose body came whole and whose trailers break, as at any other time", async () => {
    const relay = await openListener();
    const sender = await relay.send(
      `POST /hooks/${secret} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n`,
    );
    await expect.poll(() => relay.door.inFlight()).toBe(1);
    const closing = relay.server.windDown().then(() => relay.server.close());
    await sender.write(`Content-Length: 5\r\n\r\n${post("behind")}`);
    expect(statusesOf(await sender.readToEnd())).toEqual([202]);
    await relay.clock.advance(1_000);
    await closing;
    expect(relay.stored).toEqual(["body"]);
  });

  it("waits for the commit of each alert that came whole, and answers it", async () => {
    const relay = await openListener();
    relay.holdCommits();
    const alert = await relay.send(post("whole"));
    await relay.untilStored(1);
    const closing = watchEnd(relay.server.windDown().then(() => relay.server.close()));
    await relay.clock.advance(60_000);
    expect([closing.isOver, alert.socket.closed]).toEqual([false, false]);
    relay.commitAll();
    expect(statusesOf(await alert.readToEnd())).toEqual([202]);
  });

  it("takes no new connection, and ends those that say nothing or read nothing", async () => {
    const relay = await openListener();
    const silent = await relay.connect();
    const reader = await relay.sendHeld();
    const closing = relay.server.close();
    await relay.clock.advance(1_250);
    await closing;
    expect(await silent.readToEnd()).toEqual([]);
    expect(await reader.readToEnd()).toEqual([]);
    await expect(relay.connect()).rejects.toThrow("ECONNREFUSED");
  });
});

it("holding, between two relays of one process answers what is under way, and hands what comes to the next door, over connections that stay open", async () => {
  const relay = await openListener();
  const kept = await relay.keep(post("before"));
  relay.holdCommits();
  const underWay = await relay.send(post("under way"));
  await relay.untilStored(2);
  const holding = watchEnd(relay.server.hold());
  await kept.write(post("held"));
  await relay.clock.advance(1_250);
  expect(holding.isOver).toBe(false);
  relay.commitAll();
  expect(statusesOf(await underWay.readAnswers(1))).toEqual([202]);
  await expect.poll(() => holding.isOver).toBe(true);
  expect(relay.stored).toEqual(["before", "under way"]);

  relay.server.take(relay.door);
  const answers = await kept.readAnswers(2);
  expect(endsOf(answers)).toEqual([
    [202, false],
    [202, false],
  ]);
  expect(relay.stored).toEqual(["before", "under way", "held"]);
  const page = await relay.send(get("/quick"));
  expect(statusesOf(await page.readAnswers(1))).toEqual([503]);
});

it("holding, between two relays of one process refuses an alert whose end does not come, and ends a page that is never answered", async () => {
  const relay = await openListener();
  const half = await relay.send(post("half", 8));
  const reader = await relay.sendHeld();
  await expect.poll(() => relay.door.inFlight()).toBe(1);
  const holding = relay.server.hold();
  await relay.clock.advance(1_250);
  await holding;
  expect(statusesOf(await half.readToEnd())).toEqual([503]);
  expect(await reader.readToEnd()).toEqual([]);
  expect(relay.stored).toEqual([]);
});
