import { expect } from "vitest";
import { takeLane } from "../../../support/lane.ts";
import { aboutScenes, noon, noticeOf, openScene, planned } from "../scene.ts";

export const describeWatch = aboutScenes("what watches remember", openScene, (test) => {
  test("is nothing at first, then the last that was saved under each name, over a restart too", async (scene) => {
    expect(await scene.store.loadWatchState("account")).toBeUndefined();
    await scene.store.saveWatchState({ name: "account", state: { told: ["a"] } });
    await scene.store.saveWatchState({ name: "account", state: { told: ["a", "b"] } });
    await scene.store.saveWatchState({ name: "silence", state: null });
    await scene.restart();
    expect(await scene.store.loadWatchState("account")).toEqual({ told: ["a", "b"] });
    expect(await scene.store.loadWatchState("silence")).toBeNull();
  });

  test("is changed by one of several who have read the same, and by nobody who has read what is gone", async (scene) => {
    const { store } = scene;
    const change = (state: unknown, from: unknown) => store.changeWatchState({ name: "names", state }, from);
    const first = await Promise.all([1, 2, 3].map((one) => change({ names: [one] }, undefined)));
    expect(first.filter((isDone) => isDone)).toHaveLength(1);
    const known = await store.loadWatchState("names");
    const next = await Promise.all([4, 5, 6].map((one) => change({ names: [one], at: "now" }, known)));
    expect(next.filter((isDone) => isDone)).toHaveLength(1);
    expect(await change(null, known)).toBe(false);
    expect(await change(null, undefined)).toBe(false);
    expect(await store.loadWatchState("names")).toMatchObject({ at: "now" });
  });

  test("is saved for a lane by its holder, and with a notice", async ({ store }) => {
    const lane = await takeLane(store, "duties");
    expect(await store.saveWatchStateFor(lane, { name: "account", state: 3 })).toBe("done");
    expect(await store.loadWatchState("account")).toBe(3);
    const notice = noticeOf({ deliveries: [planned("chat", { dueAt: noon })] });
    expect(await store.recordNotice({ ...notice, watch: { name: "account", state: 4 } })).toBe("done");
    expect(await store.loadWatchState("account")).toBe(4);
  });
});
