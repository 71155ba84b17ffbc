import { expect, it } from "vitest";
import type { IncomingRequest } from "../../../../src/core/ports/inbox.ts";
import type { RoutingRecord } from "../../../../src/core/ports/routing-desk.ts";
import type { Store } from "../../../../src/core/ports/store.ts";
import { aboutScenes, deciding, factsOf, hour, newIdAt, noon, openScene, planned, request, routed } from "../scene.ts";

/** Two words of one length with one CRC-32. */
const [oneBody, collidingBody] = ["plumless", "buckeroo"];

/** Stores each request, and routes in one step what is not routed yet; gives the repeats. */
async function take(store: Store, requests: IncomingRequest[], repeatWindowMs = 24 * hour) {
  for (const one of requests) await store.acceptRequest(one);
  return routeAll(store, { repeatWindowMs });
}

/** The same in a step of its own for each. */
async function takeEach(store: Store, requests: IncomingRequest[], repeatWindowMs?: number) {
  for (const one of requests) await take(store, [one], repeatWindowMs);
}

async function routeAll(store: Store, judged: Pick<RoutingRecord, "repeatWindowMs" | "isRepeatDespiteKey">) {
  const unrouted = (await store.listUnrouted(1000, Number.MAX_SAFE_INTEGER)).flatMap(({ alerts }) => alerts);
  const recorded = await store.recordRouting(
    unrouted.map(({ seq }) => routed(seq, { ...deciding([planned("chat")]), ...judged })),
  );
  return recorded.filter(({ repeatOf }) => repeatOf !== undefined);
}

const withBody = (text: string, changes: Partial<IncomingRequest> = {}) =>
  request({ body: Buffer.from(text), ...changes });

/** `sent`, or the id that it repeats, for each alert of each request. */
async function fatesOf(store: Store, requests: IncomingRequest[]): Promise<string[]> {
  const alerts = await Promise.all(requests.flatMap(({ ids }) => ids).map((id) => store.getAlert(id)));
  return alerts.map((alert) => alert?.repeatOf ?? (alert?.deliveries.length === 1 ? "sent" : "lost"));
}

export const describeRepeats = aboutScenes("repeats", openScene, (test, open) => {
  it.each<[string, () => IncomingRequest[], ("sent" | number)[]]>([
    [
      "takes the same bytes by two hooks for two alerts",
      () => [undefined, "forge", "other", "forge"].map((source) => withBody("a", { source })),
      ["sent", "sent", "sent", 1],
    ],
    [
      "compares the very bytes, and never the checksum alone",
      () => [oneBody, collidingBody, collidingBody, oneBody].map((body) => withBody(body)),
      ["sent", "sent", 1, 0],
    ],
    [
      "forgets a body after the window, counted from the last that was no repeat",
      () => [0, 999, 1000, 1500].map((ms) => withBody("a", { receivedAt: noon + ms })),
      ["sent", 0, "sent", 2],
    ],
    [
      "compares a request with a key by its key alone",
      () => ["k", undefined, "other"].map((dedupeKey) => withBody("a", { dedupeKey })),
      ["sent", "sent", "sent"],
    ],
    [
      "never takes an alert for the repeat of a test",
      () => (["test", "hook", "test"] as const).map((origin) => withBody("a", { origin })),
      ["sent", "sent", 0],
    ],
    [
      "names for each alert of a batch the one at its place",
      () => [1, 2].map(() => withBody("[1,2]", { ids: [newIdAt(noon), newIdAt(noon)] })),
      ["sent", "sent", 0, 1],
    ],
  ])("%s, in one step and in steps of their own", async (_rule, make, fates) => {
    for (const takeAll of [take, takeEach]) {
      const { store } = await openScene(open);
      const all = make();
      await takeAll(store, all, 1000);
      const ids = all.flatMap((one) => one.ids);
      expect(await fatesOf(store, all)).toEqual(fates.map((fate) => (fate === "sent" ? fate : ids[fate])));
    }
  });

  test("finds a repeat under another key where keys count for nothing, and only there", async ({ store }) => {
    const keyed = [1, 2, 3].map((key) => withBody("a", { source: "forge", dedupeKey: `forge/id:${key}` }));
    for (const one of keyed.slice(0, 2)) await store.acceptRequest(one);
    await routeAll(store, { repeatWindowMs: hour, isRepeatDespiteKey: true });
    await take(store, keyed.slice(2));
    expect(await fatesOf(store, keyed)).toEqual(["sent", keyed[0]?.ids[0], "sent"]);
  });

  test("keeps a repeat with its facts, names the first, and makes no delivery of it", async ({ store }) => {
    const [first, again] = [withBody("a"), withBody("a")];
    expect(await take(store, [first])).toEqual([]);
    const [repeat, ...others] = await take(store, [again]);
    expect(repeat).toMatchObject({ repeatOf: first.ids[0], deliveries: [] });
    expect(others).toEqual([]);
    const kept = { facts: factsOf(), routedAt: noon, deliveries: [], decisions: [], unmatched: false, dropped: false };
    expect(await store.getAlert(again.ids[0] ?? "")).toMatchObject({ repeatOf: first.ids[0], ...kept });
    expect((await store.getAlert(first.ids[0] ?? ""))?.request?.duplicates).toBe(1);
    expect(await store.countDuplicates()).toBe(1);
    expect((await store.listAlerts({ limit: 10, state: "repeat" })).map(({ id }) => id)).toEqual(again.ids);
    expect(await store.listFacts({ fromAt: 0, limit: 10 })).toHaveLength(1);
  });

  test("joins the rows of a key without repeats, which would hide what became of the last that happened", async (scene) => {
    const { store } = scene;
    const all = [withBody("fires"), withBody("is over"), withBody("fires"), withBody("fires")];
    await take(store, all);
    expect(await fatesOf(store, all)).toEqual(["sent", "sent", all[0]?.ids[0], all[0]?.ids[0]]);
    const joined = await store.listAlerts({ limit: 10, newestOfKey: true });
    expect(joined.map(({ id }) => id)).toEqual(all[1]?.ids);
    expect(joined[0]?.run?.count).toBe(2);
  });

  test("joins the rows of a key by its last repeat where nothing else of it is kept", async (scene) => {
    const { store } = scene;
    const at = (receivedAt: number) => withBody("fires", { receivedAt, ids: [newIdAt(receivedAt)] });
    const all = [at(noon), at(noon + 2 * hour), at(noon + 3 * hour)];
    await take(store, all);
    await scene.send("chat", { claimedAt: noon + 10 });
    await scene.route({ receivedAt: noon + 4 * hour, facts: { alertKey: "another" }, to: ["chat"] });
    await store.removeAlerts({ receivedBefore: noon + hour, limit: 10 });
    expect(await store.getAlert(all[0]?.ids[0] ?? "")).toBeUndefined();
    const joined = await store.listAlerts({ limit: 10, newestOfKey: true });
    expect(joined.map(({ id }) => id).slice(1)).toEqual(all[2]?.ids);
  });

  test("finds the first in the same step, and over a restart", async (scene) => {
    const all = [withBody("a"), withBody("b"), withBody("a")];
    await take(scene.store, all);
    const first = all[0]?.ids[0];
    expect(await fatesOf(scene.store, all)).toEqual(["sent", "sent", first]);
    await scene.restart();
    const later = withBody("a");
    await take(scene.store, [later]);
    expect(await fatesOf(scene.store, [later])).toEqual([first]);
  });

  test("takes nothing for a repeat, and for a first, that was not judged or does not name its own event", async (scene) => {
    const { store } = scene;
    const all = [withBody("a"), withBody("a"), withBody("a")];
    for (const [index, one] of all.entries()) {
      await store.acceptRequest(one);
      await routeAll(store, index === 1 ? { repeatWindowMs: hour } : {});
    }
    expect(await fatesOf(store, all)).toEqual(["sent", "sent", "sent"]);
  });

  test("sends the second when the routing of the first has failed, and then takes the first for the repeat", async (scene) => {
    const { store } = scene;
    const [failing, second] = [withBody("a"), withBody("a")];
    await store.acceptRequest(failing);
    const [unrouted] = await store.listUnrouted(1, noon);
    await store.recordRoutingFailure([unrouted?.alerts[0]?.seq ?? 0], "it broke", noon + hour);
    await take(store, [second]);
    expect(await fatesOf(store, [failing, second])).toEqual([second.ids[0], "sent"]);
  });

  test("can be resent as any other alert", async ({ store }) => {
    const all = [withBody("a"), withBody("a")];
    await take(store, all);
    const id = all[1]?.ids[0] ?? "";
    await store.addDeliveries(id, [planned("chat")], "resend", noon + 1);
    expect((await store.getAlert(id))?.deliveries).toMatchObject([{ purpose: "resend" }]);
    expect(await store.listDue("chat", noon + 1, 10)).toHaveLength(2);
  });
});
