import { describe, expect, it } from "vitest";
import { noon, type OpenStore, openScene } from "../scene.ts";

const hour = 3_600_000;

export function describeKeys(open: OpenStore): void {
  describe("keys that expire", () => {
    it("lets one of all who put the same key at once have it", async () => {
      const { store } = await openScene(open);
      const entry = { key: "k1", expiresAt: noon + hour };
      const puts = Array.from({ length: 20 }, () => store.putKeyIfAbsent("used-login-code", entry, noon));
      expect((await Promise.all(puts)).filter((isMine) => isMine)).toHaveLength(1);
      expect(await store.putKeyIfAbsent("used-login-code", entry, noon + hour - 1)).toBe(false);
    });

    it("keeps them over a restart, until they expire", async () => {
      const scene = await openScene(open);
      await scene.store.putKeyIfAbsent("ended-session", { key: "k1", expiresAt: noon + hour }, noon);
      await scene.restart();
      expect(await scene.store.hasKey("ended-session", "k1", noon + hour - 1)).toBe(true);
      expect(await scene.store.hasKey("ended-session", "k1", noon + hour)).toBe(false);
      expect(await scene.store.hasKey("ended-session", "k2", noon)).toBe(false);
    });

    it("keeps the kinds apart", async () => {
      const { store } = await openScene(open);
      const entry = { key: "k1", expiresAt: noon + hour };
      expect(await store.putKeyIfAbsent("ended-session", entry, noon)).toBe(true);
      expect(await store.hasKey("used-login-code", "k1", noon)).toBe(false);
      expect(await store.putKeyIfAbsent("used-login-code", entry, noon)).toBe(true);
      expect(await store.listKeys("ended-session", noon)).toEqual([entry]);
    });

    it("lists those of a kind that have not expired", async () => {
      const { store } = await openScene(open);
      for (const [index, key] of ["k1", "k2", "k3"].entries()) {
        await store.putKeyIfAbsent("ended-session", { key, expiresAt: noon + index }, noon - 1);
      }
      const keys = async (now: number) => (await store.listKeys("ended-session", now)).map(({ key }) => key).sort();
      expect(await keys(noon)).toEqual(["k2", "k3"]);
      expect(await keys(noon + 2)).toEqual([]);
    });

    it("can be put again when they have expired, with the new expiry", async () => {
      const { store } = await openScene(open);
      await store.putKeyIfAbsent("ended-session", { key: "k1", expiresAt: noon + 1 }, noon);
      const later = { key: "k1", expiresAt: noon + hour };
      expect(await store.putKeyIfAbsent("ended-session", later, noon + 1)).toBe(true);
      expect(await store.listKeys("ended-session", noon + 1)).toEqual([later]);
    });

    it("removes expired ones when it is maintained, and no others", async () => {
      const { store, maintain } = await openScene(open);
      const farOff = noon + 24 * hour;
      await store.putKeyIfAbsent("ended-session", { key: "over", expiresAt: noon + 1 }, noon);
      await store.putKeyIfAbsent("ended-session", { key: "lasting", expiresAt: farOff }, noon);
      for (const at of [noon, noon + 2 * hour]) await maintain(at);
      expect(await store.listKeys("ended-session", 0)).toEqual([{ key: "lasting", expiresAt: farOff }]);
    });
  });
}
