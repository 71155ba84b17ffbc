import { describe, expect, it } from "vitest";
import { noon, type OpenStore, openScene } from "../scene.ts";
import { factsOf, planned } from "../scene-samples.ts";

export function describeWatch(open: OpenStore): void {
  describe("what watches remember", () => {
    it("is nothing at first, then the last that was saved under each name, over a restart too", async () => {
      const scene = await openScene(open);
      expect(await scene.store.loadWatchState("account")).toBeUndefined();
      await scene.store.saveWatchState({ name: "account", state: { told: ["a"] } });
      await scene.store.saveWatchState({ name: "account", state: { told: ["a", "b"] } });
      await scene.store.saveWatchState({ name: "silence", state: null });
      await scene.restart();
      expect(await scene.store.loadWatchState("account")).toEqual({ told: ["a", "b"] });
      expect(await scene.store.loadWatchState("silence")).toBeNull();
    });

    it("is saved with the notice that tells of it, or not at all", async () => {
      const { store } = await openScene(open);
      const notice = {
        id: "01890000-0000-7000-8000-000000000001",
        at: noon,
        facts: factsOf(),
        decisions: [],
        deliveries: [planned("chat", { dueAt: noon })],
      };
      const lane = { group: "of nobody", fence: 1 };
      expect(await store.recordNotice({ ...notice, lane, watch: { name: "account", state: 1 } })).toBe("lost");
      expect(await store.loadWatchState("account")).toBeUndefined();
      expect(await store.recordNotice({ ...notice, watch: { name: "account", state: 2 } })).toBe("done");
      expect(await store.loadWatchState("account")).toBe(2);
    });
  });
}
