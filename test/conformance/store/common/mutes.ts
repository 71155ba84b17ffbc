import { describe, expect, it } from "vitest";
import type { Mute } from "../../../../src/core/rules.ts";
import { noon, type OpenStore, openScene } from "../scene.ts";

export function mute(id: string, changes: Partial<Mute> = {}): Mute {
  return {
    id,
    matchers: [{ field: "token", condition: { equals: ["USDC"], not: ["DAI"] } }],
    reason: "maintenance",
    startsAt: noon,
    endsAt: noon + 7_200_000,
    createdAt: noon,
    createdBy: "page",
    ...changes,
  };
}

export function describeMutes(open: OpenStore): void {
  describe("mutes", () => {
    it("keeps a mute as it was made, over a restart", async () => {
      const scene = await openScene(open);
      await scene.store.addMute(mute("m1"));
      await scene.restart();
      expect(await scene.store.listMutes(noon, false)).toEqual([mute("m1")]);
    });

    it("lists active and coming ones, newest first, and past ones when asked", async () => {
      const { store } = await openScene(open);
      await store.addMute(mute("past", { endsAt: noon + 1 }));
      await store.addMute(mute("active", { createdAt: noon + 1 }));
      await store.addMute(mute("coming", { createdAt: noon + 2, startsAt: noon + 3_600_000 }));
      const ids = async (now: number, ended: boolean) => (await store.listMutes(now, ended)).map(({ id }) => id);
      expect(await ids(noon, false)).toEqual(["coming", "active", "past"]);
      expect(await ids(noon + 1, false)).toEqual(["coming", "active"]);
      expect(await ids(noon + 1, true)).toEqual(["coming", "active", "past"]);
    });

    it("ends one now, and says when there is none to end", async () => {
      const { store } = await openScene(open);
      await store.addMute(mute("m1"));
      expect(await store.endMute("m1", noon + 10)).toBe(true);
      expect(await store.listMutes(noon + 10, false)).toEqual([]);
      expect(await store.listMutes(noon + 10, true)).toMatchObject([{ id: "m1", endsAt: noon + 10 }]);
      expect(await store.endMute("m1", noon + 11)).toBe(false);
      expect(await store.endMute("m2", noon + 11)).toBe(false);
    });
  });
}
