import { expect } from "vitest";
import { aboutScenes, noon, openScene, planned } from "../scene.ts";

const hour = 3_600_000;
const until = noon + hour;
const atNight = (destination: string, dueAt = until) =>
  planned(destination, { state: "held", dueAt, reason: "it takes everything; held" });
const release = { destination: "chat", now: noon, dueAt: noon, why: "released", isNamed: false };
const fromNow = { dueAt: noon, seq: Number.MAX_SAFE_INTEGER };

/** What quiet hours hold. */
export const describeHolding = aboutScenes("what quiet hours hold", openScene, (test) => {
  test("is listed by its time, page by page, for one destination, and without what is due or not held", async (scene) => {
    const { store, route } = scene;
    await route({ to: [atNight("chat", until + 1)] });
    await route({ to: [atNight("chat"), atNight("mail")], facts: { status: "resolved" } });
    await route({ to: [atNight("chat")], facts: { severity: "critical" } });
    await route({ to: [atNight("chat", noon), "chat", planned("chat", { dueAt: until })] });
    const first = await store.listHeld("chat", fromNow, 2);
    expect(first).toMatchObject([
      { dueAt: until, severity: "warning", status: "resolved" },
      { dueAt: until, severity: "critical", status: "firing" },
    ]);
    const after = first[1] ?? fromNow;
    expect(await store.listHeld("chat", after, 2)).toMatchObject([{ dueAt: until + 1 }]);
  });

  test("gets another time with the reason, in the delivery and in the decision, and its fallback waits with it", async (scene) => {
    const fallback = { to: "mail", at: until + 5 };
    const { id } = await scene.route({ to: [{ ...atNight("chat"), fallback }, atNight("mail")] });
    const [held] = await scene.store.listHeld("chat", fromNow, 9);
    expect(await scene.store.rescheduleHeld({ ...release, deliveryIds: [held?.id ?? ""] })).toBe(1);
    await scene.restart();
    expect(await scene.due("chat")).toMatchObject([{ state: "held", dueAt: noon }]);
    expect(await scene.store.listFallbacksDue(noon + 4)).toEqual([]);
    expect(await scene.store.listFallbacksDue(noon + 5)).toMatchObject([{ destination: "chat" }]);
    const detail = await scene.store.getAlert(id);
    expect(detail?.deliveries[0]?.reason).toBe("it takes everything; held; released");
    const reasons = detail?.decisions.map(({ reason }) => reason);
    expect(reasons).toEqual(["it takes everything; released", "it takes everything"]);
  });

  test("keeps when it was over, behind a try and a wait without one, until it is held once more", async (scene) => {
    await scene.route({ to: [atNight("chat")] });
    const { id } = await scene.route({ to: [atNight("chat")], facts: { alertKey: "b" } });
    const waits = { state: "waiting" as const, reason: "gone", dueAt: until + 9 };
    const [first, second] = await scene.due("chat", until + 2);
    expect([first?.heldUntil, second?.heldUntil]).toEqual([undefined, undefined]);
    await scene.finish([first?.seq ?? 0], { ...waits, state: "held" }, until + 2);
    expect(await scene.claim("chat", "t1", { now: until + 2 })).toMatchObject([{ id: second?.id }]);
    await scene.attempt({ token: "t1", next: { ...waits, dueAt: until + 8 }, outcome: "retry" });
    const listed = await scene.due("chat", until + 9);
    expect(listed.map(({ heldUntil }) => heldUntil)).toEqual([until, undefined]);
    const seqs = listed.map(({ seq }) => seq);
    await scene.finish(seqs, { ...waits, dueAt: until + 20 }, until + 9);
    await scene.restart();
    expect((await scene.due("chat", until + 20)).map(({ heldUntil }) => heldUntil)).toEqual([until + 9, until]);
    expect(await scene.states(id)).toEqual(["waiting"]);
  });

  test("gets another time once, whoever else asks, and goes out as any other once a person has named it", async (scene) => {
    const { id } = await scene.route({ to: [atNight("chat")] });
    const deliveryIds = (await scene.store.listHeld("chat", fromNow, 9)).map((held) => held.id);
    const change = { ...release, deliveryIds, isNamed: true };
    expect((await Promise.all([1, 2].map(() => scene.store.rescheduleHeld(change)))).sort()).toEqual([0, 1]);
    // No mute or quiet hours hold back what is queued.
    expect(await scene.due("chat")).toMatchObject([{ state: "queued", dueAt: noon, heldUntil: noon }]);
    const [delivery] = (await scene.store.getAlert(id))?.deliveries ?? [];
    expect(delivery?.reason).toBe("it takes everything; held; released");
  });

  test("stays as it is once it is being sent", async (scene) => {
    const { id } = await scene.route({ to: [atNight("chat")] });
    const [held] = await scene.store.listHeld("chat", fromNow, 9);
    await scene.claim("chat", "t1", { now: until });
    const change = { ...release, deliveryIds: [held?.id ?? ""], isNamed: true };
    expect(await scene.store.rescheduleHeld(change)).toBe(0);
    expect(await scene.states(id)).toEqual(["sending"]);
  });

  test("is only what quiet hours hold, not what is held because nobody knows whether it arrived", async (scene) => {
    const { id } = await scene.route();
    await scene.claim("chat", "t1");
    const next = { state: "held", reason: "may or may not have arrived" } as const;
    await scene.attempt({ token: "t1", outcome: "ambiguous", next });
    expect(await scene.store.listHeld("chat", { dueAt: 0, seq: 0 }, 9)).toEqual([]);
    expect(await scene.due("chat", Number.MAX_SAFE_INTEGER)).toEqual([]);
    const [held] = (await scene.store.getAlert(id))?.deliveries ?? [];
    expect([held?.state, held?.finishedAt]).toEqual(["held", undefined]);
    const change = { ...release, deliveryIds: [held?.id ?? ""] };
    expect(await scene.store.rescheduleHeld(change)).toBe(0);
    expect(await scene.store.rescheduleHeld({ ...change, isNamed: true })).toBe(1);
    expect(await scene.due("chat")).toMatchObject([{ state: "queued", ambiguous: 1 }]);
  });

  test("is counted for each destination, with the first end", async ({ store, route }) => {
    await route({ to: [atNight("chat", until + 1), "mail"] });
    await route({ to: [atNight("chat")] });
    const counts = await store.countByDestination();
    expect(counts.find(({ destination }) => destination === "chat")).toMatchObject({
      counts: { held: 2 },
      heldByQuietHours: { count: 2, until },
    });
    expect(counts.find(({ destination }) => destination === "mail")?.heldByQuietHours).toBeUndefined();
  });
});
