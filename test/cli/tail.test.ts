import { createServer, type ServerResponse } from "node:http";
import { stripVTControlCharacters } from "node:util";
import type { EventSourceMessage } from "eventsource-parser/stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { readEvents } from "../../src/cli/alerts/tail.ts";
import { startTocsin } from "../support/cli.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { createRelayWorld } from "./relay-world.ts";

function start(argv: string[], env: Record<string, string>, columns?: number) {
  const isTty = { stdin: false, stdout: columns !== undefined, stderr: false };
  // A wait before another try is over at once.
  const sleep = async (_ms: number, signal?: AbortSignal) => signal?.throwIfAborted();
  return startTocsin(argv, { env, columns, isTty, sleep });
}

/** It follows a relay of the test's, at a terminal that is so wide, or in a pipe. */
async function follow(columns?: number, env: Record<string, string> = {}) {
  const relay = await startFakeRelay();
  const tail = start(["alerts", "tail", "--url", relay.url], { ADMIN_TOKEN: "x".repeat(40), ...env }, columns);
  return { relay, tail, stream: await relay.nextStream() };
}

it("begins with the last ones, prints what comes and what becomes of it, and ends well on Ctrl-C", async () => {
  const world = await createRelayWorld();
  for (const title of ["Oldest", "Older", "Newest"]) await world.send({ title, severity: "info" });
  const tail = start(["alerts", "tail", "-n", "2"], world.env);
  await tail.shows(/→ .* info .*Older\n← .* no route wanted it\n→ .*Newest\n← .* no route/);
  const [id = ""] = await world.post({ title: "Just now", severity: "critical", value: "24318772.10", unit: "USD" });
  await tail.shows(/← \S+ +\S+ +3 sent\n/);
  expect(tail.output()).toMatch(new RegExp(`→ \\S+Z  ${id}  critical  Just now: 24.32 M USD\n`));
  expect((await tail.stop()).status).toBe(0);
  expect(tail.output()).not.toContain("Oldest");
});

it("says of an alert that it came and how it ended, and nothing between; what is over is not red", async () => {
  const { tail, stream } = await follow(80);
  const send = (version: number, changes: object) =>
    stream.send(version, { id: alertOf(10).id, unmatched: false, title: "TVL fell", ...changes });
  const delivery = (destination: string, state: string, reason = "") => ({ ...deliveryOf(destination), state, reason });
  send(10, { deliveries: [delivery("desk", "queued"), delivery("ops", "queued")] });
  send(11, { deliveries: [delivery("desk", "sent"), delivery("ops", "sending")] });
  send(12, { deliveries: [delivery("desk", "sent"), delivery("ops", "waiting", "no answer")] });
  send(13, { deliveries: [delivery("desk", "sent"), delivery("ops", "failed", "the chat is gone, and its bot too")] });
  stream.send(20, { id: alertOf(20).id, status: "resolved", title: "back to normal" });
  await tail.shows(/back to normal[\s\S]*wanted/);
  for (const words of ["\u001b[31mcritical", "\u001b[32mresolved"]) expect(tail.output()).toContain(words);
  const said = stripVTControlCharacters(tail.output());
  expect(said.replace("no such alerts yet; waiting for the first\n", "")).toBe(
    [
      "2026-11-21 (UTC)",
      "→ 12:00:00  ac120010  critical  TVL fell",
      "← 12:00:02  ac120010  1 sent, 1 failed: ops (the chat is gone, and its bot too)",
      "→ 12:00:00  ac120020  resolved  back to normal",
      "← 12:00:00  ac120020  no route wanted it",
      "",
    ].join("\n"),
  );
  expect((await tail.stop()).status).toBe(0);
});

it("says at once what failed or is late, though others are still tried", async () => {
  const { tail, stream } = await follow(80, { NO_COLOR: "1" });
  const waiting = { ...deliveryOf("ops"), state: "waiting", reason: "no answer", finishedAt: undefined };
  const send = (version: number, ...deliveries: object[]) =>
    stream.send(version, { id: alertOf(10).id, unmatched: false, deliveries });
  const sent = { ...deliveryOf("desk"), state: "sent", reason: "" };
  send(10, sent, { ...waiting, dueAt: "2026-11-21T12:00:30.000Z" });
  send(11, sent, { ...waiting, dueAt: "2026-11-21T12:02:00.000Z" });
  send(12, sent, { ...waiting, dueAt: "2026-11-21T12:07:00.000Z" });
  send(13, { ...sent, state: "failed", reason: "gone" }, { ...waiting, dueAt: "2026-11-21T12:00:31.000Z" });
  send(14, sent, { ...waiting, state: "sent", finishedAt: "2026-11-21T12:09:00.000Z", reason: "" });
  await tail.shows("2 sent");
  expect(tail.output().match(/^←.*$/gm)).toEqual([
    "← 12:00:02  ac120010  1 sent, 1 waiting: ops (no answer)",
    "← 12:00:02  ac120010  1 failed: desk (gone), 1 waiting: ops (no answer)",
    "← 12:09:00  ac120010  2 sent",
  ]);
  expect((await tail.stop()).status).toBe(0);
});

it("fits a narrow terminal: the title below, and no reason is cut", async () => {
  const { tail, stream } = await follow(40, { NO_COLOR: "1" });
  const reason = "the mail server refused it for good: 550 spam, ends here";
  const failed = { ...deliveryOf("mail"), state: "failed", reason };
  stream.send(30, {
    unmatched: false,
    title: "A title that is longer than the terminal is wide",
    deliveries: [failed],
  });
  await tail.shows(/here\)/);
  const lines = tail.output().split("\n");
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(line.startsWith("no such") ? 80 : 40);
  expect(lines.map((line) => line.trim()).join(" ")).toContain(`1 failed: mail (${reason})`);
  expect(lines.map((line) => line.trim()).join(" ")).toContain("A title that is longer than the terminal is wide");
  expect((await tail.stop()).status).toBe(0);
});

it("shows only the severity asked for, and writes one JSON document", async () => {
  const world = await createRelayWorld();
  await world.send({ title: "Before", severity: "critical" });
  const tail = start(["alerts", "tail", "-n", "1", "--severity", "critical", "--json"], world.env);
  await tail.shows("Before");
  await world.post({ title: "Unwanted", severity: "warning" });
  await world.post({ title: "Wanted", severity: "critical" });
  await tail.shows("Wanted");
  expect((await tail.stop()).status).toBe(0);
  const { data } = JSON.parse(tail.output());
  expect(new Set(data.map(({ title }: { title: string }) => title))).toEqual(new Set(["Before", "Wanted"]));
});

it("takes up the stream where a broken connection left it", async () => {
  const { relay, tail, stream: first } = await follow();
  await tail.shows("waiting for the first");
  // Before the first event: it resumes by the version of the log that it has read.
  first.response.destroy();
  const second = await relay.nextStream();
  second.send(20);
  await tail.shows("Alert 20");
  second.response.destroy();
  const starting = await relay.nextStream({ status: 503 });
  const last = await relay.nextStream();
  last.send(40);
  await tail.shows("Alert 40");
  expect([first, second, starting, last].map(({ resumedBy }) => resumedBy)).toEqual([undefined, "7", "20", "20"]);
  expect(tail.output()).toContain("trying again in 1 s");
  expect((await tail.stop()).status).toBe(0);
});

it("says that the relay is being stopped, and goes on when it is back", async () => {
  const { relay, tail, stream: first } = await follow();
  first.send(20);
  await tail.shows("Alert 20");
  first.response.end("event: stopping\nretry: 2000\ndata: {}\n\n");
  await tail.shows("the relay is being stopped; trying again in 1 s");
  const refused = await relay.nextStream({ status: 503, error: "relay_stopping" });
  await tail.shows("relay_stopping says the relay; trying again in 2 s");
  const back = await relay.nextStream();
  expect([refused, back].map(({ resumedBy }) => resumedBy)).toEqual(["20", "20"]);
  back.send(40);
  await tail.shows("Alert 40");
  expect((await tail.stop()).status).toBe(0);
});

it("fails at once when nothing answers", async () => {
  const tail = start(["alerts", "tail", "--url", "http://127.0.0.1:9"], { ADMIN_TOKEN: "x".repeat(40) });
  await tail.shows("tocsin serve");
  expect((await tail.stop()).status).toBe(1);
});

const alertOf = (version: number) => ({
  ...{ id: `019aa5a0-7c3e-7d2a-9b1c-0242ac1200${version}`, version, title: `Alert ${version}` },
  ...{ url: "http://127.0.0.1/alerts/1", origin: "hook", severity: "critical", status: "firing" },
  ...{ receivedAt: "2026-11-21T12:00:00.000Z", routedAt: "2026-11-21T12:00:00.001Z" },
  ...{ unmatched: true, dropped: false, facts: null, deliveries: [] },
});

const deliveryOf = (destination: string) => ({
  id: `019aa5a0-7c3e-7d2a-9b1c-0242ac13${destination.length.toString().padStart(4, "0")}`,
  ...{ destination, channel: "telegram", recipient: "-1001", route: "all", purpose: "alert" },
  ...{ createdAt: "2026-11-21T12:00:00.001Z", finishedAt: "2026-11-21T12:00:02.000Z" },
});

interface FakeStream {
  resumedBy: string | undefined;
  response: ServerResponse;
  send(version: number, changes?: object): void;
}

/** A relay whose log holds one resolved alert of version 7, and whose streams a test opens and breaks. */
async function startFakeRelay() {
  const expected: { status: number; error?: string; take(stream: FakeStream): void }[] = [];
  const arrived: FakeStream[] = [];
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/api/alerts")) {
      const isUnfiltered = request.url.endsWith("?limit=1");
      response.end(JSON.stringify({ data: isUnfiltered ? [alertOf(7)] : [], meta: { nextCursor: null } }));
      return;
    }
    const stream: FakeStream = {
      resumedBy: request.headers["last-event-id"] as string | undefined,
      response,
      send: (version, changes) => {
        const alert = { ...alertOf(version), ...changes };
        response.write(`event: alert\nid: ${version}\ndata: ${JSON.stringify(alert)}\n\n`);
      },
    };
    const next = expected.shift();
    response.writeHead(next?.status ?? 200, { "content-type": "text/event-stream" });
    const { error } = next ?? {};
    if (error !== undefined)
      response.end(JSON.stringify({ error: { code: error, message: `${error} says the relay` } }));
    else if (next?.status === 503) response.end("Starting.\n");
    else response.write(": ready\n\n");
    if (next === undefined) arrived.push(stream);
    else next.take(stream);
  });
  const { url } = await listenOnLoopback(server);
  return {
    url,
    nextStream: ({ status = 200, error }: { status?: number; error?: string } = {}) =>
      new Promise<FakeStream>((take) => {
        const waiting = arrived.shift();
        if (waiting !== undefined) take(waiting);
        else expected.push({ status, error, take });
      }),
  };
}

async function read(chunks: Uint8Array[]): Promise<EventSourceMessage[]> {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const events: EventSourceMessage[] = [];
  for await (const event of readEvents(stream)) events.push(event);
  return events;
}

const text =
  'retry: 2000\n\n: ready\n\nevent: alert\nid: 7\ndata: {"title":"é🚨"}\n\ndata:one\r\ndata: two\r\n\r\nid: 9\rdata\r\revent: cut\ndata: off';
const events: EventSourceMessage[] = [
  { event: "alert", data: '{"title":"é🚨"}', id: "7" },
  { data: "one\ntwo" },
  { data: "", id: "9" },
];

it("reads events however the network cuts them, and none that is not complete", async () => {
  const bytes = Buffer.from(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), async (cuts) => {
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const chunks = edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
      expect(await read(chunks)).toEqual(events);
    }),
  );
});
