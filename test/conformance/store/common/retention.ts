import { expect } from "vitest";
import type { Position } from "../../../../src/core/ports/alert-log.ts";
import * as samples from "../scene.ts";
import { aboutScenes, openScene, type Scene } from "../scene.ts";

const { findUnrouted, hour, newIdAt, noon, noticeOf, planned, request, routed, thread } = samples;

/** Steps through all that is old, as the relay does. Gives how many were removed. */
async function removeBefore({ store }: Scene, receivedBefore: number, limit = 2): Promise<number> {
  let removed = 0;
  let after: Position | undefined;
  do {
    const step = await store.removeAlerts({ after, receivedBefore, limit });
    removed += step.removed;
    after = step.next;
  } while (after !== undefined);
  return removed;
}

const later = noon + 10 * hour;
const titles = async ({ store }: Scene, query = {}) =>
  (await store.listAlerts({ limit: 100, ...query })).map(({ facts }) => facts?.title);

/** One alert whose delivery was sent. */
async function sent(scene: Scene, title: string, receivedAt = noon, destination = "chat") {
  const made = await scene.route({ receivedAt, facts: { title }, to: [planned(destination, { dueAt: receivedAt })] });
  await scene.claim(destination, title, { now: receivedAt + 10 });
  await scene.attempt({ token: title, at: receivedAt + 100 });
  return made;
}

export const describeRetention = aboutScenes("removing what is old", openScene, (test) => {
  test("removes an alert that is finished with all that belongs to it, and nothing younger", async (scene) => {
    const old = await sent(scene, "old");
    await scene.route({ to: [], facts: { title: "wanted by nobody" } });
    const young = await sent(scene, "young", later);
    await scene.maintain();
    expect(await removeBefore(scene, later)).toBe(2);
    expect(await titles(scene)).toEqual(["young"]);
    expect(await titles(scene, { q: "old" })).toEqual([]);
    expect(await titles(scene, { q: "young" })).toEqual(["young"]);
    expect(await titles(scene, { state: "sent" })).toEqual(["young"]);
    expect(await scene.store.getAlert(old.id)).toBeUndefined();
    expect(await scene.store.neighbours(young.id)).toEqual({});
    expect(await scene.store.findRequests([old.seq], 1e6)).toEqual([]);
    const times = { oldestReceivedAt: later, lastReceivedAt: later };
    expect(await scene.store.countAlerts()).toEqual({ total: 3, kept: 1, ...times });
    const [counted] = await scene.store.countByDestination();
    expect(counted).toMatchObject({ destination: "chat", counts: { sent: 1 } });
    // A late attempt of what was removed passes.
    expect(await scene.attempt({ token: "old", at: later })).toBe("late");
  });

  test("removes notices also where no request was ever stored", async (scene) => {
    for (let count = 0; count < 4; count += 1) await scene.store.recordNotice(noticeOf({}));
    // The last one stays until something is stored behind it.
    expect(await removeBefore(scene, later)).toBe(3);
  });

  test("removes routes that were kept for alerts that are gone, and what else is remembered never", async (scene) => {
    const { store } = scene;
    await sent(scene, "old");
    await sent(scene, "young", later + 24 * hour);
    const used = (name: string, usedAt: number) => store.saveWatchState({ name, state: { usedAt, routes: [] } });
    await used("routes:then", noon);
    await used("routes:later", later);
    await used("route", noon);
    await store.saveWatchState({ name: "routes:by a version before", state: ["\u0000"] });
    const left = async () => {
      const names = ["routes:then", "routes:later", "route", "routes:by a version before"];
      const states = await Promise.all(names.map((name) => store.loadWatchState(name)));
      return names.filter((_, index) => states[index] !== undefined);
    };
    await removeBefore(scene, later);
    expect(await left()).toHaveLength(4);
    await removeBefore(scene, later);
    expect(await left()).toEqual(["routes:later", "route", "routes:by a version before"]);
  });

  test("leaves whatever is not finished, however old", async (scene) => {
    const { store } = scene;
    await store.acceptRequest(request());
    const route = (title: string, to: Parameters<typeof scene.route>[0] & object) =>
      scene.route({ ...to, facts: { title } });
    await route("queued", { to: ["queued"] });
    await route("held by quiet hours", { to: [planned("held", { state: "held", dueAt: later * 2 })] });
    for (const name of ["waiting", "ambiguous", "sending", "done"]) {
      await route(name, { to: name === "done" ? [name, "other"] : [name] });
      await scene.claim(name, name);
    }
    const next = { state: "waiting", reason: "", dueAt: later } as const;
    await scene.attempt({ token: "waiting", outcome: "retry", next });
    await scene.attempt({ token: "ambiguous", outcome: "ambiguous", next: { state: "held", reason: "" } });
    await scene.attempt({ token: "done" });
    await sent(scene, "finished");
    await sent(scene, "young", later);
    expect(await removeBefore(scene, later)).toBe(1);
    const left = ["ambiguous", "done", "held by quiet hours", "queued", "sending", "waiting", "young", undefined];
    expect((await titles(scene)).sort()).toEqual(left);
    // And goes on with it.
    await scene.attempt({ token: "sending", at: noon + 200 });
    await sent(scene, "last", later);
    expect(await removeBefore(scene, later)).toBe(1);
    expect(await titles(scene)).not.toContain("sending");
  });

  test("removes what is held once a resend stands for it and was sent", async (scene) => {
    const { id } = await scene.route({ to: ["chat"] });
    await scene.send("chat", { outcome: "ambiguous", next: { state: "held", reason: "" } });
    await sent(scene, "young", later, "other");
    expect(await removeBefore(scene, later)).toBe(0);
    await scene.store.addDeliveries(id, [planned("chat")], "resend", noon);
    expect(await removeBefore(scene, later)).toBe(0);
    await scene.send("chat");
    await sent(scene, "last", later, "other");
    expect(await removeBefore(scene, later)).toBe(1);
  });

  test("keeps a request, and what it was the first of, as long as an alert of it is kept", async (scene) => {
    const { store } = scene;
    const ids = [newIdAt(noon), newIdAt(noon)];
    const batch = request({ ids, dedupeKey: "batch" });
    await store.acceptRequest(batch);
    await store.acceptRequest(batch);
    const [first, second] = await Promise.all(ids.map((id) => findUnrouted(store, id)));
    await store.recordRouting([routed(first?.seq ?? 0)]);
    await sent(scene, "young", later);
    expect(await store.countDuplicates()).toBe(1);
    expect(await removeBefore(scene, later)).toBe(1);
    expect(await store.countDuplicates()).toBe(1);
    expect((await store.getAlert(ids[1] as string))?.request).toMatchObject({ item: 1, items: 2, duplicates: 1 });
    await store.recordRouting([routed(second?.seq ?? 0)]);
    await sent(scene, "last", later);
    expect(await removeBefore(scene, later, 1)).toBe(1);
    expect(await store.countDuplicates()).toBe(0);
    // A request that comes again now is no duplicate of what is gone.
    expect((await store.acceptRequest({ ...batch, ids: [newIdAt(later), newIdAt(later)] })).kind).toBe("accepted");
  });

  test("takes the next body for a first one when the first is gone, and leaves its repeats", async (scene) => {
    const { store } = scene;
    const route = async (receivedAt: number) => {
      const incoming = request({ receivedAt });
      await store.acceptRequest(incoming);
      const { seq } = await findUnrouted(store, incoming.ids[0]);
      const [recorded] = await store.recordRouting([routed(seq, { repeatWindowMs: 24 * hour, routedAt: receivedAt })]);
      return { id: incoming.ids[0] as string, repeatOf: recorded?.repeatOf };
    };
    const first = await route(noon);
    const repeat = await route(noon + hour);
    expect(repeat.repeatOf).toBe(first.id);
    expect(await store.countDuplicates()).toBe(1);
    expect(await removeBefore(scene, noon + hour)).toBe(1);
    expect((await store.getAlert(repeat.id))?.repeatOf).toBe(first.id);
    expect((await route(noon + 2 * hour)).repeatOf).toBeUndefined();
    expect(await removeBefore(scene, noon + 2 * hour)).toBe(1);
    expect(await store.countDuplicates()).toBe(0);
  });

  test("forgets the message of a key with its last alert, and not before", async (scene) => {
    const begin = async (receivedAt: number) => {
      const { seq } = await scene.route({ receivedAt, to: [planned("chat", { dueAt: receivedAt })] });
      const token = String(receivedAt);
      await scene.claim("chat", token, { now: receivedAt });
      const update = { ...thread, rootAlertSeq: 1, lastAlertSeq: seq, lastAt: receivedAt };
      await scene.attempt({ token, at: receivedAt, thread: update });
    };
    await begin(noon);
    await begin(noon + hour);
    await sent(scene, "young", later, "other");
    const find = () => scene.store.findThread("chat", "-1004", "tvl:usdc");
    expect(await removeBefore(scene, noon + hour)).toBe(1);
    expect(await find()).toMatchObject({ lastRef: "12" });
    expect(await removeBefore(scene, later)).toBe(1);
    expect(await find()).toBeUndefined();
  });

  test("gives nothing that comes later the place of what was removed, over a restart too", async (scene) => {
    const last = await sent(scene, "last");
    const cursor = await scene.store.latestChange();
    expect(await removeBefore(scene, later)).toBe(0);
    await scene.route({ to: [], facts: { title: "behind the last delivery" }, receivedAt: noon + 1 });
    await removeBefore(scene, later);
    await scene.restart();
    const next = await scene.route({ receivedAt: later, facts: { title: "next" } });
    expect(next.seq).toBeGreaterThan(last.seq);
    expect((await scene.store.listChanges(cursor, 10)).map(({ facts }) => facts?.title)).toContain("next");
    expect(await scene.store.knowsChange(cursor)).toBe(true);
  });

  test("says what the log takes, and gives room back in steps that come to an end", async (scene) => {
    const body = Buffer.alloc(200_000, "x");
    for (let number = 0; number < 10; number += 1) {
      const incoming = request({ body });
      await scene.store.acceptRequest(incoming);
      const { seq } = await findUnrouted(scene.store, incoming.ids[0]);
      await scene.store.recordRouting([routed(seq)]);
    }
    await sent(scene, "young", later);
    const { usedBytes } = await scene.store.removeAlerts({ receivedBefore: 0, limit: 1 });
    expect(await removeBefore(scene, later)).toBe(10);
    const step = await scene.store.removeAlerts({ receivedBefore: 0, limit: 1 });
    expect(step.usedBytes).toBeLessThan(usedBytes - 1_900_000);
    for (let more = scene.store.giveBackRoom !== undefined; more; )
      more = (await scene.store.giveBackRoom?.())?.more ?? false;
  });
});
