import { expect } from "vitest";
import { aboutScenes, noon, openScene } from "../scene.ts";

const hour = 3_600_000;

export const describeKeys = aboutScenes("keys that expire", openScene, (test) => {
  test("lets one of all who put the same key at once have it, until it expires", async ({ store }) => {
    const entry = { key: "k1", expiresAt: noon + hour };
    const puts = Array.from({ length: 20 }, () => store.putKeyIfAbsent("used-login-code", entry, noon));
    expect((await Promise.all(puts)).filter((isMine) => isMine)).toHaveLength(1);
    expect(await store.putKeyIfAbsent("used-login-code", entry, noon + hour - 1)).toBe(false);
    const later = { key: "k1", expiresAt: noon + 2 * hour };
    expect(await store.putKeyIfAbsent("used-login-code", later, noon + hour)).toBe(true);
    expect(await store.listKeys("used-login-code", noon + hour)).toEqual([later]);
  });

  test("lists those of a kind that have not expired, over a restart, and knows them until they do", async (scene) => {
    for (const [index, key] of ["k1", "k2", "k3"].entries())
      await scene.store.putKeyIfAbsent("ended-session", { key, expiresAt: noon + index }, noon - 1);
    await scene.restart();
    const { store } = scene;
    const known = ["k1", "k3", "k4"].map((key) => store.hasKey("ended-session", key, noon));
    expect(await Promise.all(known)).toEqual([false, true, false]);
    expect(await store.hasKey("used-login-code", "k3", noon)).toBe(false);
    expect(await store.putKeyIfAbsent("used-login-code", { key: "k3", expiresAt: noon + hour }, noon)).toBe(true);
    const keys = async (now: number) => (await store.listKeys("ended-session", now)).map(({ key }) => key).sort();
    expect(await keys(noon)).toEqual(["k2", "k3"]);
    expect(await keys(noon + 2)).toEqual([]);
  });

  test("removes expired ones when it is maintained, and no others", async ({ store, maintain }) => {
    const farOff = noon + 24 * hour;
    await store.putKeyIfAbsent("ended-session", { key: "over", expiresAt: noon + 1 }, noon);
    await store.putKeyIfAbsent("ended-session", { key: "lasting", expiresAt: farOff }, noon);
    for (const at of [noon, noon + 2 * hour]) await maintain(at);
    expect(await store.listKeys("ended-session", 0)).toEqual([{ key: "lasting", expiresAt: farOff }]);
  });
});
