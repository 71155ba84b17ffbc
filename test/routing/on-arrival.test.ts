import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Translation } from "../../src/core/alert.ts";
import type { Clock } from "../../src/core/clock.ts";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { StoredBody } from "../../src/core/ports/body-reader.ts";
import type { ArrivalInbox, IncomingRequest } from "../../src/core/ports/inbox.ts";
import { Translator } from "../../src/intake/translator.ts";
import { Judging } from "../../src/routing/judging.ts";
import { RoutingOnArrival } from "../../src/routing/on-arrival.ts";
import { createRouter } from "../../src/routing/router.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { createLocalReader } from "../support/reader.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock } from "../support/test-clock.ts";
import { factsOf, startLoop } from "./loop-fixture.ts";
import { chat, route } from "./sample.ts";

interface Options {
  translate?(body: StoredBody): Translation[];
  isFlooded?(): boolean;
  isCaughtUp?(): boolean;
  isSuspect?(body: Uint8Array): boolean;
  now?(): number;
  /** Stands before the store. */
  wrap?(inbox: ArrivalInbox): ArrivalInbox;
}

/** Routing on arrival over a real database, to one chat. */
function open(options: Options = {}) {
  const clock = createTestClock();
  const store = openLocalStore({ path: join(makeTempFolder(), "tocsin.db"), ballastBytes: 0, now: clock.now });
  onTestFinished(() => store.close());
  const judged: string[] = [];
  const shapes: number[] = [];
  const noted: string[] = [];
  let wakes = 0;
  const judging = new Judging({
    router: createRouter({ destinations: [chat("chat")], routes: [route("all", ["chat"])], mutes: [] }),
    repeatWindowMs: 1_000,
    hasUnsignedKeys: () => false,
    activeMutes: () => [],
    onJudged({ facts }) {
      judged.push(facts.title);
      if (facts.title === "nobody can note it") throw new Error("a watch has a bug");
    },
    noteShapes: (alerts) => shapes.push(alerts.length),
    clock,
    log: silentLog,
  });
  const translator = new Translator({ sources: [], readsShapes: true });
  const arrival = new RoutingOnArrival({
    inbox: options.wrap?.(store) ?? store,
    translate: options.translate ?? ((body) => translator.translate(body)),
    judging,
    journal: {
      noteArrival: (body) => noted.push(Buffer.from(body).toString()),
      isSuspect: options.isSuspect ?? (() => false),
    },
    loop: {
      isCaughtUp: options.isCaughtUp ?? (() => true),
      wake() {
        wakes += 1;
      },
    },
    isFlooded: options.isFlooded ?? (() => false),
    log: silentLog,
    now: options.now,
  });
  const newId = createIdSource(clock.now);
  function requestOf(body: string, changes: Partial<IncomingRequest> = {}): IncomingRequest {
    const given = { receivedAt: clock.now(), headers: "[]", body: Buffer.from(body), ids: [newId()] };
    return { ...given, origin: "hook", dedupeWindowMs: 1_000, ...changes };
  }
  /** How an alert went: routed with its acceptance, or left to the loop. */
  async function wayOf(body: string, changes: Partial<IncomingRequest> = {}): Promise<"at once" | "long"> {
    const acceptance = await arrival.acceptRequest(requestOf(body, changes));
    return acceptance.kind === "accepted" && acceptance.recorded !== undefined ? "at once" : "long";
  }
  return { store, arrival, requestOf, wayOf, judged, shapes, noted, wakes: () => wakes };
}

const ordinary = '{"title":"TVL fell","value":1}';

describe("an alert that is routed on its arrival", () => {
  it("is stored with its decisions and deliveries, and told of once", async () => {
    const { store, arrival, requestOf, judged, shapes, noted, wakes } = open();
    const { ids } = await arrival.acceptRequest(requestOf(ordinary));
    const detail = await store.getAlert(ids[0] ?? "");
    expect(detail).toMatchObject({ facts: { title: "TVL fell" }, deliveries: [{ destination: "chat" }] });
    expect(detail?.routedAt).toBeDefined();
    expect([judged, shapes, noted, wakes()]).toEqual([["TVL fell"], [1], [ordinary], 0]);
  });

  it("is a form too, JSON behind blanks, a text full of brackets, and each of a small batch", async () => {
    const { arrival, requestOf, wayOf, store } = open();
    expect(await wayOf(` \n${ordinary}`)).toBe("at once");
    expect(await wayOf(`{"title":"${"[".repeat(99)}"}`)).toBe("at once");
    expect(await wayOf("title=Funding&value=2", { contentType: "application/x-www-form-urlencoded" })).toBe("at once");
    const batch = requestOf('{"alerts":[{"title":"One"},{"title":"Two"}]}');
    const ids = [...batch.ids, ...requestOf("").ids];
    await arrival.acceptRequest({ ...batch, ids });
    const titles = await Promise.all(ids.map(async (id) => (await store.getAlert(id))?.facts?.title));
    expect(titles).toEqual(["One", "Two"]);
  });

  it("is handed on with what it was read as, if it is small", async () => {
    const given: unknown[] = [];
    const { wayOf } = open({
      wrap: (store) => ({
        acceptRequest(request, drafts, payloads) {
          given.push(payloads);
          return store.acceptRequest(request, drafts);
        },
      }),
    });
    await wayOf('{"title":"TVL fell"}');
    await wayOf(JSON.stringify({ text: "x".repeat(4 * 1024) }));
    expect(given).toEqual([[{ title: "TVL fell" }], undefined]);
  });

  it("is accepted also when those who are told of it fail", async () => {
    const { wayOf } = open();
    expect(await wayOf('{"title":"nobody can note it"}')).toBe("at once");
  });

  it("is told of to nobody when it has the key of an earlier one", async () => {
    const { arrival, requestOf, judged, wakes } = open();
    await arrival.acceptRequest(requestOf(ordinary, { dedupeKey: "k" }));
    const again = await arrival.acceptRequest(requestOf(ordinary, { dedupeKey: "k" }));
    expect([again.kind, judged, wakes()]).toEqual(["duplicate", ["TVL fell"], 0]);
  });

  it("is left to the loop when the store could not record how it is routed", async () => {
    const { wayOf, judged, wakes } = open({ wrap: (store) => ({ acceptRequest: (one) => store.acceptRequest(one) }) });
    expect(await wayOf(ordinary)).toBe("long");
    expect([judged, wakes()]).toEqual([[], 1]);
  });

  it("is told of to nobody when the store has refused it, and wakes nobody", async () => {
    const refused = new Error("the disk is full");
    const wrap = () => ({ acceptRequest: () => Promise.reject(refused) });
    const { arrival, requestOf, judged, shapes, wakes } = open({ wrap });
    await expect(arrival.acceptRequest(requestOf(ordinary))).rejects.toBe(refused);
    await expect(arrival.acceptRequest(requestOf("a text"))).rejects.toBe(refused);
    expect([judged, shapes, wakes()]).toEqual([[], [], 0]);
  });
});

describe("the long way", () => {
  const deep = `${"[".repeat(17)}${"]".repeat(17)}`;
  const throwIt = () => {
    throw new Error("a bug");
  };
  const alerts = (count: number) => JSON.stringify(Array.from({ length: count }, (_, n) => ({ title: `${n}` })));
  it.each<[string, string, Partial<IncomingRequest>, Options]>([
    ["a large body", JSON.stringify({ text: "x".repeat(16 * 1024) }), {}, {}],
    ["a deep one", deep, {}, {}],
    ["one that is deep behind a text of brackets", `{"a":"]]]]\\"]]","b":${deep}}`, {}, {}],
    ["many alerts", alerts(17), { ids: Array.from({ length: 17 }, (_, n) => `id ${n}`) }, {}],
    ["a text", "BTC crossed 100k", { contentType: "text/plain" }, {}],
    ["nothing", "", {}, {}],
    ["what comes from a spool", ordinary, { mayBeStored: true }, {}],
    ["what comes in a flood", ordinary, {}, { isFlooded: () => true }],
    ["what comes behind others that wait", ordinary, {}, { isCaughtUp: () => false }],
    ["the body that the last process read last", ordinary, {}, { isSuspect: (body) => body.length > 0 }],
    ["what the reader throws at", ordinary, {}, { translate: throwIt }],
    ["a body with another number of alerts than was counted", ordinary, {}, { translate: () => [] }],
  ])("is gone by %s, stored as it came", async (_what, body, changes, options) => {
    const { wayOf, store, wakes, judged } = open(options);
    expect(await wayOf(body, changes)).toBe("long");
    const [waiting] = await store.listUnrouted(10, 0);
    expect(Buffer.from(waiting?.body ?? []).toString()).toBe(body);
    expect([wakes(), judged]).toEqual([1, []]);
  });

  it("is gone by an ordinary alert behind one that is not stored yet", async () => {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const { wayOf } = open({
      wrap: (store) => ({
        async acceptRequest(request, drafts) {
          if (drafts === undefined) await held;
          return store.acceptRequest(request, drafts);
        },
      }),
    });
    const first = wayOf("a text", { contentType: "text/plain" });
    const second = wayOf(ordinary);
    letGo();
    expect([await first, await second, await wayOf(ordinary)]).toEqual(["long", "long", "at once"]);
  });

  it("is gone while reading has had half of the time", async () => {
    let now = 0;
    const { wayOf } = open({
      now: () => now,
      translate() {
        now += 1_000;
        return [{ facts: factsOf("slow") }];
      },
    });
    expect(await wayOf(ordinary)).toBe("at once");
    expect(await wayOf(ordinary)).toBe("long");
    now += 400;
    expect(await wayOf(ordinary)).toBe("long");
    now += 200;
    expect(await wayOf(ordinary)).toBe("at once");
  });
});

describe("an ordinary alert behind others", () => {
  it.each([
    ["of more than a round", 250, 10, 40],
    ["of more bytes than a list has", 6, 1024 * 1024, 8],
    ["of more bytes than a list has, while nothing comes", 6, 1024 * 1024, 40],
    ["while others come", 130, 10, 7],
  ])("%s waits until they are routed, and then waits no more", async (_what, backlog, bytes, everyMs) => {
    const reading: Pick<Clock, "sleep"> = { sleep: async () => {} };
    const read = (body: Uint8Array) => [{ facts: factsOf(Buffer.from(body.subarray(0, 20)).toString()) }];
    const local = createLocalReader(read);
    const scene = await startLoop({
      reader: {
        async read(bodies, signal) {
          const isBacklog = bodies.length > 20 || bodies.some(({ body }) => body.length > 1_000);
          await reading.sleep(isBacklog ? 30 : 1, signal);
          return local.read(bodies);
        },
      },
      before: (_store, accept) => Promise.all(Array.from({ length: backlog }, (_, n) => accept(`${n}`.padEnd(bytes)))),
    });
    reading.sleep = scene.clock.sleep;
    const arrival = new RoutingOnArrival({
      inbox: scene.store,
      translate: ({ body }) => read(body),
      judging: scene.judging,
      journal: { noteArrival() {}, isSuspect: () => false },
      loop: scene.loop,
      isFlooded: () => false,
      log: silentLog,
    });
    const newId = createIdSource(scene.clock.now);
    let waiting = (await scene.store.listAlerts({ limit: backlog })).map(({ id }) => id);
    const ways = new Set<string>();
    for (let n = 0; n < 100; n += 1) {
      await scene.clock.advance(everyMs);
      const body = Buffer.from(JSON.stringify({ n }));
      const given = { receivedAt: scene.clock.now(), headers: "[]", body, ids: [newId()], origin: "hook" as const };
      const acceptance = await arrival.acceptRequest({ ...given, dedupeWindowMs: 1 });
      const isAtOnce = acceptance.kind === "accepted" && acceptance.recorded !== undefined;
      ways.add(isAtOnce ? "at once" : "long");
      const routed = await Promise.all(waiting.map(async (id) => (await scene.store.getAlert(id))?.routedAt));
      waiting = waiting.filter((_, index) => routed[index] === undefined);
      if (isAtOnce) expect(waiting).toEqual([]);
      else waiting.push(...acceptance.ids);
    }
    expect(ways).toEqual(new Set(["long", "at once"]));
  });

  it("waits where another relay routes, and when the loop has ended", async () => {
    const scene = await startLoop();
    await scene.clock.advance(10);
    expect(scene.loop.isCaughtUp()).toBe(true);
    scene.mayRoute = false;
    expect(scene.loop.isCaughtUp()).toBe(false);
    scene.mayRoute = true;
    await scene.stop();
    expect(scene.loop.isCaughtUp()).toBe(false);
  });

  it("waits while the store cannot be asked what waits", async () => {
    const away = () => Promise.reject(new Error("away"));
    const scene = await startLoop({ wrap: (store) => ({ ...store, listUnrouted: away }) });
    await scene.clock.advance(3_000);
    expect(scene.loop.isCaughtUp()).toBe(false);
  });
});
