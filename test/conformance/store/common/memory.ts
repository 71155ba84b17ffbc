import { expect } from "vitest";
import { takeLane } from "../../../support/lane.ts";
import * as samples from "../scene.ts";
import { aboutScenes, openScene } from "../scene.ts";

const { factsOf, findUnrouted, noon, noticeOf, planned, request, routed, thread } = samples;

/** What delivery has to remember between messages and over restarts. */
export const describeMemory = aboutScenes("memory of delivery", openScene, (test) => {
  test("remembers the messages of one alert key in one chat, and replaces them", async (scene) => {
    await scene.route({ to: ["chat", "mail"] });
    await scene.claim("chat", "t1");
    await scene.attempt({ token: "t1", next: undefined, thread });
    await scene.attempt({ token: "t1", thread: { ...thread, count: 3 } });
    await scene.restart();
    const place = { destination: "chat", recipient: "-1004", alertKey: "tvl:usdc" };
    expect(await scene.store.findThread("chat", "-1004", "tvl:usdc")).toEqual({ ...place, ...thread, count: 3 });
    expect(await scene.store.findThread("mail", "-1004", "tvl:usdc")).toBeUndefined();
    expect(await scene.store.findThread("chat", "-1004", "tvl:dai")).toBeUndefined();
  });

  test("remembers that an alert is over as soon as it is routed, until a message of its key goes out", async (scene) => {
    await scene.route({});
    await scene.claim("chat", "t1");
    await scene.attempt({ token: "t1", next: undefined, thread });
    const find = () => scene.store.findThread("chat", "-1004", "tvl:usdc");
    expect(await find()).not.toHaveProperty("overAt", expect.any(Number));
    await scene.route({ facts: { status: "resolved" }, to: ["mail", "chat"] });
    await scene.route({ facts: { status: "resolved" }, receivedAt: noon + 9 });
    await scene.restart();
    expect(await find()).toMatchObject({ status: "firing", overAt: noon + 5 });
    await scene.attempt({ token: "t1", thread });
    expect(await find()).not.toHaveProperty("overAt", expect.any(Number));
  });

  test("remembers nothing as over by an end that came before it and is routed behind it", async (scene) => {
    const { store, newId } = scene;
    const [id, receivedAt] = [newId(), noon - 1];
    await store.acceptRequest(request({ ids: [id], receivedAt }));
    await scene.route({ receivedAt: noon });
    const [claimed] = await scene.claim("chat", "t1");
    await scene.attempt({ token: "t1", thread: { ...thread, lastAlertSeq: claimed?.alertSeq ?? 0 } });
    const { seq } = await findUnrouted(store, id);
    await store.recordRouting([routed(seq, { facts: factsOf({ status: "resolved" }), deliveries: [planned("chat")] })]);
    expect(await store.findThread("chat", "-1004", "tvl:usdc")).not.toHaveProperty("overAt", expect.any(Number));
  });

  test("remembers an alert key where the vendor gives no ids of messages", async (scene) => {
    await scene.route({});
    await scene.send("chat", { thread: { ...thread, rootRef: undefined, lastRef: undefined } });
    const found = await scene.store.findThread("chat", "-1004", "tvl:usdc");
    expect(found).toMatchObject({ rootRef: undefined, lastRef: undefined, count: 2 });
  });

  test("remembers what a digest has told of each key", async (scene) => {
    await scene.route({});
    await scene.route({ facts: { alertKey: "tvl:dai" } });
    const [, other] = await scene.claim("chat", "t1", { digestId: "d1" });
    await scene.attempt({ token: "t1", threads: { [other?.seq ?? 0]: thread } });
    const found = await scene.store.findThreads("chat", "-1004", ["tvl:usdc", "tvl:dai", "none"]);
    expect(found).toEqual([{ destination: "chat", recipient: "-1004", alertKey: "tvl:dai", ...thread }]);
  });

  test("finds what the first message shows", async ({ store, route }) => {
    const extras = { title: "First" };
    const { id, seq } = await route({ facts: { title: "first" }, to: [{ ...planned("chat"), extras }] });
    const facts = { origin: "hook", facts: factsOf({ title: "first" }), extras };
    expect(await store.findAlertFacts(seq, "chat")).toEqual({ id, receivedAt: noon, routedAt: noon + 5, ...facts });
    expect(await store.findAlertFacts(seq, "mail")).toMatchObject({ id, extras: undefined });
    expect(await store.findAlertFacts(seq + 1_000_000, "chat")).toBeUndefined();
  });

  test("finds the requests of alerts in their order, up to a size, and none of a notice", async (scene) => {
    const { store, newId, due } = scene;
    const small = request({ ids: [newId(), newId()], body: Buffer.from("[1,2]"), contentType: undefined });
    const large = request({ body: Buffer.alloc(100, "x") });
    await store.acceptRequest(small);
    await store.acceptRequest(large);
    const seqs = [...small.ids, ...large.ids].map(async (id) => (await findUnrouted(store, id)).seq);
    const [one = 0, two = 0, three = 0] = await Promise.all(seqs);
    await store.recordNotice(noticeOf({ deliveries: [planned("chat")] }));
    const [notice] = await due("chat");
    const [first, second] = await store.findRequests([notice?.alertSeq ?? 0, two, three, one], 1000);
    expect(first?.alerts).toEqual([
      { seq: two, item: 1 },
      { seq: one, item: 0 },
    ]);
    expect(Buffer.from(first?.body ?? []).toString()).toBe("[1,2]");
    expect(second).toMatchObject({ contentType: "application/json", alerts: [{ seq: three, item: 0 }] });
    expect(await store.findRequests([one, three], 50)).toHaveLength(1);
    expect(await store.findRequests([three, one], 50)).toHaveLength(1);
  });

  test("lists and fails what waits for, or is being sent to, destinations that are no longer configured", async (scene) => {
    const { store, lane, route, claim, states } = scene;
    const gone = planned("gone", { fallback: { to: "mail", at: noon } });
    const { id } = await route({ to: ["kept", gone, "gone-too", planned("gone", { state: "muted" })] });
    await claim("gone-too", "t1");
    expect(await store.listOrphans(["kept"], 10)).toMatchObject([{ destination: "gone", state: "queued" }]);
    expect(await store.listOrphans(["kept", "gone"], 10)).toEqual([]);
    expect(await store.failOrphans(lane, ["kept"], noon + 9)).toBe(2);
    expect(await states(id)).toEqual(["queued", "failed", "failed", "muted"]);
    const failed = { finishedAt: noon + 9, reason: "this destination is no longer configured" };
    expect((await store.getAlert(id))?.deliveries[1]).toMatchObject(failed);
    expect(await store.failOrphans(lane, ["kept"], noon + 10)).toBe(0);
    expect(await store.listAbandoned({ "gone-too": (await takeLane(store)).fence }, 9)).toEqual([]);
    expect(await store.listFallbacksDue(noon)).toEqual([]);
  });

  test("counts deliveries by destination and state, with the age of the oldest that waits", async (scene) => {
    const { store, lane, route, claim, attempt } = scene;
    await route({ to: ["chat", planned("mail", { state: "muted" })], receivedAt: noon });
    await route({ to: ["chat"], receivedAt: noon + 1000 });
    await route({ to: ["chat"], receivedAt: noon + 2000 });
    const [first] = await claim("chat", "t1");
    await attempt({ token: "t1", deliverySeqs: [first?.seq ?? 0] });
    await store.releaseClaim(lane, "t1", noon);
    const counts = await store.countByDestination();
    expect(counts.sort((a, b) => a.destination.localeCompare(b.destination))).toEqual([
      { destination: "chat", counts: { sent: 1, queued: 2 }, oldestWaitingAt: noon + 1005 },
      { destination: "mail", counts: { muted: 1 } },
    ]);
    await store.failOrphans(lane, ["mail"], noon);
    const chat = (await store.countByDestination()).find(({ destination }) => destination === "chat");
    expect(chat).toEqual({ destination: "chat", counts: { sent: 1, failed: 2 }, lastFailedAt: noon });
  });
});
