import { expect } from "vitest";
import type { SignalTopic } from "../../../../src/core/ports/signals.ts";
import type { Store } from "../../../../src/core/ports/store.ts";
import { aboutScenes, findUnrouted, noon, openScene, planned, request, routed } from "../scene.ts";
import { mute } from "./mutes.ts";

const topics: SignalTopic[] = ["accepted", "due", "changed", "mutes", "secrets", "lanes"];

/** Hears everything; `during` gives what came of one thing that is done. */
function listen(store: Store) {
  let heard: string[] = [];
  let lastMute = 0;
  let onMutes = () => {};
  for (const topic of topics) {
    store.subscribe(topic, (destinations) => {
      heard.push(destinations === undefined ? topic : `${topic} at ${[...destinations].sort()}`);
      if (topic === "mutes") onMutes();
    });
  }
  /** Signals come in the order of the commits, so this one comes behind what has gone before. */
  async function mark(): Promise<void> {
    const marked = new Promise<void>((resolve) => {
      onMutes = resolve;
    });
    lastMute += 1;
    await store.addMute(mute(`mark ${lastMute}`));
    await marked;
    onMutes = () => {};
  }
  return {
    async during(act: () => Promise<unknown>): Promise<string[]> {
      await mark();
      heard = [];
      await act();
      await mark();
      heard.splice(heard.lastIndexOf("mutes"), 1);
      return heard.sort();
    },
  };
}

export const describeSignals = aboutScenes("signals", openScene, (test) => {
  test("say that an alert was accepted, and nothing of one that was there already or of what is only read", async (scene) => {
    const { store, due } = scene;
    const { during } = listen(store);
    expect(await during(() => store.acceptRequest(request({ dedupeKey: "k" })))).toEqual(["accepted"]);
    expect(await during(() => store.acceptRequest(request({ dedupeKey: "k" })))).toEqual([]);
    for (const read of [() => due("chat"), () => store.listAlerts({ limit: 1 })])
      expect(await during(read)).toEqual([]);
  });

  test("name the destinations for which something was made, and say that the log has changed", async (scene) => {
    const { store } = scene;
    const { during } = listen(store);
    const routed = await during(() => scene.route({ to: ["chat", "mail", "chat"] }));
    expect(routed).toEqual(["accepted", "changed", "due at chat,mail"]);
    const { id } = await scene.route({ to: [] });
    const made = () => store.addDeliveries(id, [planned("chat")], "resend", noon);
    expect(await during(made)).toEqual(["changed", "due at chat"]);
  });

  test("name no destination for what was claimed with its routing", async ({ store, lane }) => {
    const { during } = listen(store);
    const incoming = request();
    await store.acceptRequest(incoming);
    const { seq } = await findUnrouted(store, incoming.ids[0]);
    const claims = [{ lane, token: "t", leaseMs: 60_000 }, null];
    const record = { ...routed(seq, { deliveries: [planned("chat"), planned("mail")] }), claims };
    expect(await during(() => store.recordRouting([record]))).toEqual(["changed", "due at mail"]);
  });

  test("name the destination that takes over, and nobody when an attempt ends otherwise", async (scene) => {
    const { during } = listen(scene.store);
    const { id } = await scene.route({ to: [planned("chat", { fallback: { to: "mail", at: noon } })] });
    const [claimed] = await scene.claim("chat", "t");
    const deliverySeqs = [claimed?.seq ?? 0];
    expect(await during(() => scene.attempt({ token: "t", deliverySeqs, next: undefined }))).toEqual(["changed"]);
    const next = { state: "failed", reason: "" } as const;
    const fallbacks = [{ deliverySeq: deliverySeqs[0] ?? 0, planned: [planned("mail")] }];
    const fail = () => scene.attempt({ token: "t", deliverySeqs, next, fallbacks });
    expect(await during(fail)).toEqual(["changed", "due at mail"]);
    expect(await scene.states(id)).toEqual(["failed", "queued"]);
  });

  test("name the destination where what was held is due earlier", async (scene) => {
    const { store } = scene;
    const { during } = listen(store);
    await scene.route({ to: [planned("chat", { state: "held", dueAt: noon + 3_600_000 })] });
    const [held] = await store.listHeld("chat", { dueAt: noon, seq: 0 }, 9);
    const change = { destination: "chat", deliveryIds: [held?.id ?? ""], now: noon, dueAt: noon };
    const release = () => store.rescheduleHeld({ ...change, why: "released", isNamed: false });
    expect(await during(release)).toEqual(["changed", "due at chat"]);
  });

  test("say that a mute was made or ended, and nothing of a transaction that was rolled back", async ({ store }) => {
    const { during } = listen(store);
    expect(await during(() => store.addMute(mute("m1")))).toEqual(["mutes"]);
    await expect(store.addMute(mute("m1"))).rejects.toThrow();
    expect(await during(() => store.addMute(mute("m1")).catch(() => {}))).toEqual([]);
    expect(await during(() => store.endMute("m1", noon + 1))).toEqual(["mutes"]);
  });

  test("come after the commit: whoever looks then finds it", async ({ store }) => {
    const found = new Promise((resolve) => {
      store.subscribe("accepted", () => resolve(store.countAlerts()));
    });
    await store.acceptRequest(request());
    expect(await found).toMatchObject({ total: 1 });
  });

  test("are not heard by a listener that has left, and go on when one throws", async ({ store }) => {
    let calls = 0;
    const leave = store.subscribe("accepted", () => {
      calls += 1;
    });
    store.subscribe("accepted", () => {
      throw new Error("a listener broke");
    });
    const { during } = listen(store);
    expect(await during(() => store.acceptRequest(request()))).toEqual(["accepted"]);
    expect(calls).toBe(1);
    leave();
    expect(await during(() => store.acceptRequest(request()))).toEqual(["accepted"]);
    expect(calls).toBe(1);
  });
});
