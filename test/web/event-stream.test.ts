import { createParser, type EventSourceMessage } from "eventsource-parser";
import { expect, test } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { silentLog } from "../../src/core/log.ts";
import type { ChangeCursor } from "../../src/core/ports/alert-log.ts";
import { createEventStreams } from "../../src/web/api/event-stream.ts";
import { createWebFixture, type WebFixture } from "../support/web-fixture.ts";

/** An event, a comment, or when to come back. */
type Said = Partial<EventSourceMessage> & { comment?: string; retry?: number };

/** Reads a stream; `next` waits for an event that says something, `nextAny` for anything. */
function readEvents(body: ReadableStream<Uint8Array> | null) {
  const said: Said[] = [];
  const parser = createParser({
    onEvent: (event) => void said.push(event),
    onComment: (comment) => void said.push({ comment }),
    onRetry: (retry) => void said.push({ retry }),
  });
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  async function nextAny(): Promise<Said | undefined> {
    while (said.length === 0) {
      const { value, done } = await reader.read();
      if (done) return undefined;
      parser.feed(decoder.decode(value, { stream: true }));
    }
    return said.shift();
  }
  return {
    nextAny,
    async next() {
      for (;;) {
        const one = await nextAny();
        if (one === undefined || (one.event !== undefined && one.event !== "ready")) return one;
      }
    },
    cancel: () => reader.cancel(),
  };
}

/** Behind the first two, which say that it is open and where it begins. */
async function readOpened(body: ReadableStream<Uint8Array> | null) {
  const events = readEvents(body);
  await events.nextAny();
  await events.nextAny();
  return events;
}

async function open(fixture: WebFixture, headers: Record<string, string> = {}, query = "") {
  const answer = await fixture.api(`/api/stream${query}`, { headers });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
  return readOpened(answer.body);
}

const idOf = async (events: ReturnType<typeof readEvents>) => JSON.parse((await events.next())?.data ?? "{}").id;

/** Streams over the store of a fixture, of which something is changed. */
function streamsOver({ store, clock }: WebFixture, changes: Partial<WebFixture["store"]> = {}, maxStreams?: number) {
  const deps = { store: { ...store, ...changes }, publicUrl: "http://tocsin.test", clock, log: silentLog };
  return createEventStreams(deps, maxStreams === undefined ? undefined : { maxStreams });
}

const allowed = { allowedMs: () => Number.POSITIVE_INFINITY };

test("the event stream gives an alert as the list does, with its version", async () => {
  const fixture = await createWebFixture();
  const events = await open(fixture);
  const { id } = await fixture.addAlert();
  const event = await events.next();
  const { data } = (await (await fixture.api("/api/alerts")).json()) as { data: { version: number }[] };
  expect(event?.event).toBe("alert");
  expect(JSON.parse(event?.data ?? "")).toEqual(data[0]);
  expect(event?.id).toBe(String(data[0]?.version));
  expect(JSON.parse(event?.data ?? "").id).toBe(id);
});

test("the event stream reads a change once for all who stand at the same place, and each gets all of them", async () => {
  const fixture = await createWebFixture();
  const { listChanges } = fixture.store;
  let reads = 0;
  fixture.store.listChanges = (after, limit) => {
    reads += 1;
    return listChanges(after, limit);
  };
  const streams = await Promise.all(Array.from({ length: 40 }, () => open(fixture)));
  const nextOfAll = () => Promise.all(streams.map(idOf));
  for (let round = 0; round < 3; round += 1) {
    const found = nextOfAll();
    reads = 0;
    const { id } = await fixture.addAlert();
    expect(new Set(await found)).toEqual(new Set([id]));
    expect(reads).toBeLessThan(10);
  }
  const late = await open(fixture, { "last-event-id": "0" });
  for (let round = 0; round < 3; round += 1) expect((await late.next())?.event).toBe("alert");
});

test("the event stream begins now, unless it is said where the reader was", async () => {
  const fixture = await createWebFixture();
  const first = await fixture.addAlert();
  const [{ version } = { version: 0 }] = await fixture.store.listChanges(undefined, 1);
  const second = await fixture.addAlert();
  expect(await idOf(await open(fixture, { "last-event-id": "0" }))).toBe(first.id);
  expect(await idOf(await open(fixture, { "last-event-id": String(version) }))).toBe(second.id);
  expect(await idOf(await open(fixture, {}, `?after=${version}`))).toBe(second.id);
  const fresh = await open(fixture);
  const third = await fixture.addAlert();
  expect(await idOf(fresh)).toBe(third.id);
});

test("the event stream resumes over many batches without losing one", async () => {
  const fixture = await createWebFixture();
  const ids: string[] = [];
  for (let round = 0; round < 180; round += 1) ids.push((await fixture.addAlert()).id);
  const events = await open(fixture, { "last-event-id": "0" });
  const seen: string[] = [];
  while (seen.length < ids.length) seen.push(await idOf(events));
  expect(seen).toEqual(ids);
});

test("the event stream says that the log has been put back when the reader knows more than the store", async () => {
  const fixture = await createWebFixture();
  await fixture.addAlert();
  const answer = await fixture.api("/api/stream", { headers: { "last-event-id": "900" } });
  const events = readEvents(answer.body);
  expect(await events.next()).toMatchObject({ event: "reset", id: "1" });
});

test("the event stream finds at a heartbeat what no signal has brought", async () => {
  const fixture = await createWebFixture();
  const { clock, addAlert } = fixture;
  const streams = streamsOver(fixture, { subscribe: () => () => {} });
  const events = await readOpened(await streams.open({ allowedMs: () => 60_000 }));
  const beat = async () => {
    const event = events.nextAny();
    await clock.advance(15_000);
    return event;
  };
  // The first look is at what came before the stream was opened.
  expect(await beat()).toEqual({ comment: "still here" });
  const { id } = await addAlert();
  expect(JSON.parse((await beat())?.data ?? "{}").id).toBe(id);
  await events.cancel();
});

test("the event stream says that the relay stops and when to come back, ends, and is not opened again", async () => {
  const fixture = await createWebFixture();
  const events = await open(fixture);
  fixture.web.close();
  expect(await events.nextAny()).toEqual({ retry: 2_000 });
  expect(await events.nextAny()).toMatchObject({ event: "stopping", data: "{}" });
  expect(await events.nextAny()).toBeUndefined();
  const refused = await fixture.api("/api/stream");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(await refused.json()).toMatchObject({ error: { code: "relay_stopping" } });
});

test("the event stream ends at once with the session that opened it, in every window, and leaves other sessions theirs", async () => {
  const fixture = await createWebFixture();
  const browser = await fixture.logIn();
  const other = await fixture.logIn();
  const openOf = async ({ get }: typeof browser) => {
    const events = await readOpened((await get("/api/stream")).body);
    return events;
  };
  const windows = [await openOf(browser), await openOf(browser)];
  const otherEvents = await openOf(other);
  const ends = windows.map((events) => events.nextAny());
  await browser.post("/logout");
  expect(await Promise.all(ends)).toEqual([undefined, undefined]);
  const { id } = await fixture.addAlert();
  expect(await idOf(otherEvents)).toBe(id);
  expect((await browser.get("/api/stream")).status).toBe(401);
});

test("the event stream ends within a second of a logout at another relay on the same store, and with it the session", async () => {
  const one = await createWebFixture();
  const store = { ...one.store, capabilities: { sharedByRelays: true } };
  const other = await createWebFixture({ clock: one.clock, store });
  const [ended, stays] = [await one.logIn(), await one.logIn()];
  const ask = (cookie: string, path: string) => other.ask(path, { headers: { cookie } });
  const events = await readOpened((await ask(ended.cookie, "/api/stream")).body);
  const end = events.nextAny();
  await ended.post("/logout");
  await one.clock.advance(1_000);
  expect(await end).toBeUndefined();
  expect((await ask(ended.cookie, "/api/status")).status).toBe(401);
  expect((await ask(stays.cookie, "/api/status")).status).toBe(200);
});

test("the event stream gives nothing more to a reader that was busy while its session ended", async () => {
  const fixture = await createWebFixture();
  const events = await readOpened((await fixture.get("/api/stream")).body);
  await fixture.addAlert();
  await fixture.post("/logout");
  expect(await events.nextAny()).toBeUndefined();
});

test("the event stream ends at the moment in which its session runs out", async () => {
  const { get, clock } = await createWebFixture();
  await get("/");
  await clock.advance(12 * 3_600_000 - 4_000);
  const events = await readOpened((await get("/api/stream", { headers: {} })).body);
  let isOver = false;
  const end = events.nextAny().then((event) => {
    isOver = true;
    return event;
  });
  await clock.advance(3_999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(await end).toBeUndefined();
});

test("the event stream reads nothing for a reader that takes nothing", async () => {
  const fixture = await createWebFixture();
  let asked = 0;
  const streams = streamsOver(fixture, {
    listChanges: (version, limit) => {
      asked += 1;
      return fixture.store.listChanges(version, limit);
    },
  });
  const body = await streams.open({ after: "0" as ChangeCursor, allowedMs: () => Number.POSITIVE_INFINITY });
  const reader = body.getReader();
  for (let round = 0; round < 120; round += 1) await fixture.addAlert();
  await fixture.clock.settle();
  expect(asked).toBe(0);
  await reader.read();
  await reader.read();
  await fixture.clock.settle();
  expect(asked).toBe(1);
  await reader.cancel();
  streams.close();
});

test("the event stream says where it begins, so that a reader whose connection breaks before any alert misses none", async () => {
  const fixture = await createWebFixture();
  await fixture.addAlert();
  const events = readEvents((await fixture.api("/api/stream")).body);
  await events.nextAny();
  const ready = await events.nextAny();
  expect(ready?.event).toBe("ready");
  await events.cancel();
  const { id } = await fixture.addAlert();
  const again = await open(fixture, { "last-event-id": ready?.id ?? "" });
  expect(await idOf(again)).toBe(id);
  await again.cancel();
});

test("the event stream has all that comes once it is answered, however late its reader begins to read", async () => {
  const fixture = await createWebFixture();
  const answer = await fixture.api("/api/stream");
  const { id } = await fixture.addAlert();
  const events = readEvents(answer.body);
  expect(await idOf(events)).toBe(id);
  await events.cancel();
});

test("the event stream ends when the store fails in the middle, so that its reader comes back behind what it has seen", async () => {
  const fixture = await createWebFixture();
  let isAway = false;
  const streams = streamsOver(
    fixture,
    {
      listChanges: async (...asked) => {
        if (isAway) throw new AppError("store_unavailable", "The database does not answer.");
        return fixture.store.listChanges(...asked);
      },
    },
    1,
  );
  const events = readEvents(await streams.open(allowed));
  const { id } = await fixture.addAlert();
  const seen = await events.next();
  expect(JSON.parse(seen?.data ?? "{}").id).toBe(id);
  isAway = true;
  await fixture.addAlert();
  expect(await events.next()).toBeUndefined();
  isAway = false;
  const again = readEvents(await streams.open({ ...allowed, after: seen?.id as ChangeCursor }));
  expect(await again.next()).toMatchObject({ event: "alert" });
  await again.cancel();
});

test("the event stream gives its place back when the reader goes, and when the store fails", async () => {
  const fixture = await createWebFixture();
  const streams = streamsOver(fixture, {}, 1);
  const first = await streams.open(allowed);
  await expect(streams.open(allowed)).rejects.toThrow("No further event stream");
  await first.cancel();
  await (await streams.open(allowed)).cancel();
  const failing = streamsOver(fixture, { latestChange: async () => Promise.reject(new Error("no disk")) }, 1);
  for (let round = 0; round < 2; round += 1) await expect(failing.open(allowed)).rejects.toThrow("no disk");
  for (const one of [streams, failing]) one.close();
});
