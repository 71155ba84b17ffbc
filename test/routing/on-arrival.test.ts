import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Translation } from "../../src/core/alert.ts";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { StoredBody } from "../../src/core/ports/body-reader.ts";
import type { Inbox, IncomingRequest } from "../../src/core/ports/inbox.ts";
import { Translator } from "../../src/intake/translator.ts";
import { Judging } from "../../src/routing/judging.ts";
import { RoutingOnArrival } from "../../src/routing/on-arrival.ts";
import { createRouter } from "../../src/routing/router.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock } from "../support/test-clock.ts";
import { factsOf } from "./loop-fixture.ts";
import { chat, route } from "./sample.ts";

interface Options {
  translate?(body: StoredBody): Translation[];
  isFlooded?(): boolean;
  isCaughtUp?(): boolean;
  isSuspect?(body: Uint8Array): boolean;
  now?(): number;
  /** Stands before the store. */
  wrap?(inbox: Inbox): Inbox;
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
    onJudged: ({ facts }) => judged.push(facts.title),
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

  it("is a form too, and each of a small batch", async () => {
    const { arrival, requestOf, wayOf, store } = open();
    expect(await wayOf("title=Funding&value=2", { contentType: "application/x-www-form-urlencoded" })).toBe("at once");
    const batch = requestOf('{"alerts":[{"title":"One"},{"title":"Two"}]}');
    const ids = [...batch.ids, ...requestOf("").ids];
    await arrival.acceptRequest({ ...batch, ids });
    const titles = await Promise.all(ids.map(async (id) => (await store.getAlert(id))?.facts?.title));
    expect(titles).toEqual(["One", "Two"]);
  });

  it("is told of to nobody when the store has refused it", async () => {
    const refused = new Error("the disk is full");
    const { arrival, requestOf, judged, shapes } = open({
      wrap: () => ({ acceptRequest: () => Promise.reject(refused) }),
    });
    await expect(arrival.acceptRequest(requestOf(ordinary))).rejects.toBe(refused);
    expect([judged, shapes]).toEqual([[], []]);
  });
});

describe("the long way", () => {
  const deep = `${"[".repeat(17)}${"]".repeat(17)}`;
  it.each<[string, string, Partial<IncomingRequest>, Options]>([
    ["a large body", JSON.stringify({ text: "x".repeat(16 * 1024) }), {}, {}],
    ["a deep one", deep, {}, {}],
    ["a text", "BTC crossed 100k", { contentType: "text/plain" }, {}],
    ["nothing", "", {}, {}],
    ["what comes from a spool", ordinary, { mayBeStored: true }, {}],
    ["what comes in a flood", ordinary, {}, { isFlooded: () => true }],
    ["what comes behind others that wait", ordinary, {}, { isCaughtUp: () => false }],
    ["the body that the last process read last", ordinary, {}, { isSuspect: (body) => body.length > 0 }],
    [
      "what the reader throws at",
      ordinary,
      {},
      {
        translate() {
          throw new Error("a bug");
        },
      },
    ],
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
