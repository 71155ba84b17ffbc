import { expect } from "vitest";
import { aboutScenes, noon, openScene, request } from "../scene.ts";

export const describeHealth = aboutScenes("health", openScene, (test) => {
  test("says that it commits, how large it is, and what waits for routing since when", async ({ store, route }) => {
    await route();
    expect(await store.health()).toMatchObject({ writable: true, full: false, unrouted: 0 });
    await store.acceptRequest(request({ receivedAt: noon + 1 }));
    await store.acceptRequest(request({ receivedAt: noon + 2 }));
    const health = await store.health();
    expect(health).toMatchObject({ unrouted: 2, oldestUnroutedAt: noon + 1 });
    expect(health.bytes).toBeGreaterThan(0);
  });

  test("goes on after housekeeping, however much time has passed", async ({ store, route, maintain }) => {
    await route();
    for (const hours of [0, 2, 48]) await maintain(noon + hours * 3_600_000);
    await route();
    expect((await store.countAlerts()).total).toBe(2);
  });
});
