import { expect } from "vitest";
import { aboutScenes, noon, openScene } from "../scene.ts";

const hour = 3_600_000;

export const describeKeys = aboutScenes("keys that expire", openScene, (test) => {
  test("lets one of all who put the same key at once have it", async ({ store }) => {
    const entry = { key: "k1", expiresAt: noon + hour };
    const puts = Array.from({ length: 20 }, () => store.putKeyIfAbsent("used-login-code", entry, noon));
    expect((await Promise.all(puts)).filter((isMine) => isMine)).toHaveLength(1);
    expect(await store.putKeyIfAbsent("used-login-code", entry, noon + hour - 1)).toBe(false);
  });

  test("keeps them over a restart, until they expire", async (scene) => {
    await scene.store.putKeyIfAbsent("ended-session", { key: "k1", expiresAt: noon + hour }, noon);
    await scene.restart();
    expect(await scene.store.hasKey("ended-session", "k1", noon + hour - 1)).toBe(true);
    expect(await scene.store.hasKey("ended-session", "k1", noon + hour)).toBe(false);
    expect(await scene.store.hasKey("ended-session", "k2", noon)).toBe(false);
  });

  test("keeps the kinds apart", async ({ store }) => {
    const entry = { key: "k1", expiresAt: noon + hour };
    expect(await store.putKeyIfAbsent("ended-session", entry, noon)).toBe(true);
    expect(await store.hasKey("used-login-code", "k1", noon)).toBe(false);
    expect(await store.putKeyIfAbsent("used-login-code", entry, noon)).toBe(true);
    expect(await store.listKeys("ended-session", noon)).toEqual([entry]);
  });

  test("lists those of a kind that have not expired", async ({ store }) => {
    for (const [index, key] of ["k1", "k2", "k3"].entries())
      await store.putKeyIfAbsent("ended-session", { key, expiresAt: noon + index }, noon - 1);
    const keys = async (now: number) => (await store.listKeys("ended-session", now)).map(({ key }) => key).sort();
    expect(await keys(noon)).toEqual(["k2", "k3"]);
    expect(await keys(noon + 2)).toEqual([]);
  });

  test("can be put again when they have expired, with the new expiry", async ({ store }) => {
    await store.putKeyIfAbsent("ended-session", { key: "k1", expiresAt: noon + 1 }, noon);
    const later = { key: "k1", expiresAt: noon + hour };
    expect(await store.putKeyIfAbsent("ended-session", later, noon + 1)).toBe(true);
    expect(await store.listKeys("ended-session", noon + 1)).toEqual([later]);
  });

  test("removes expired ones when it is maintained, and no others", async ({ store, maintain }) => {
    const farOff = noon + 24 * hour;
    await store.putKeyIfAbsent("ended-session", { key: "over", expiresAt: noon + 1 }, noon);
    await store.putKeyIfAbsent("ended-session", { key: "lasting", expiresAt: farOff }, noon);
    for (const at of [noon, noon + 2 * hour]) await maintain(at);
    expect(await store.listKeys("ended-session", 0)).toEqual([{ key: "lasting", expiresAt: farOff }]);
  });
});
