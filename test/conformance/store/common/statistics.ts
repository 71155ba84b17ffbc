import { expect } from "vitest";
import type { DestinationStatistics } from "../../../../src/core/ports/statistics.ts";
import { aboutScenes, kicked, noon, openScene, planned } from "../scene.ts";

const hour = 3_600_000;

export const describeStatistics = aboutScenes("statistics", openScene, (test) => {
  test("count what became of deliveries by the hour, of each destination for itself", async (scene) => {
    const { store, route, send } = scene;
    await route({ to: ["chat", "hook"] });
    await send("chat");
    await send("hook", { outcome: "rejected", next: { state: "failed", reason: "gone" } });
    await route({ receivedAt: noon + 30 * hour });
    await send("chat", { claimedAt: noon + 30 * hour, at: noon + 30 * hour + 100 });
    const of = async (now: number) => {
      const [chat, hook, none] = await store.destinationStatistics(["chat", "hook", "none"], now);
      return [chat, hook, none].map((one) =>
        [one?.day.sent, one?.week.sent, one?.day.failed, one?.week.failed].join(" "),
      );
    };
    expect(await of(noon + 1)).toEqual(["2 2 0 0", "0 0 1 1", "0 0 0 0"]);
    expect(await of(noon + 31 * hour)).toEqual(["1 2 0 0", "0 0 0 1", "0 0 0 0"]);
    expect(await of(noon + 190 * hour)).toEqual(["0 1 0 0", "0 0 0 0", "0 0 0 0"]);
  });

  test("give the last outcomes of a destination, oldest first, with why and how long", async (scene) => {
    const { store, route, send } = scene;
    const ids: string[] = [];
    for (let alert = 0; alert < 60; alert += 1) {
      const { id } = await route({ receivedAt: noon + alert, facts: { title: `Alert ${alert}` } });
      ids.push(id);
      await send("chat", { claimedAt: noon + alert, at: noon + alert + 150, ...(alert === 58 && kicked) });
    }
    await route({ receivedAt: noon + 100 });
    const [{ last }] = (await store.destinationStatistics(["chat"], noon)) as [DestinationStatistics];
    expect(last.map(({ alertId }) => alertId)).toEqual(ids.slice(10));
    const failed = { title: "Alert 58", state: "failed", reason: "kicked", at: noon + 258, afterMs: 200 };
    expect(last.at(-2)).toEqual({ alertId: ids[58], ...failed });
  });

  test("say how long alerts took to be sent, to 5 %, and nothing of resends", async (scene) => {
    const { store, route, send } = scene;
    for (let alert = 0; alert < 20; alert += 1) {
      await route();
      await send("chat", { at: noon, durationMs: alert < 18 ? 400 : 9_000 });
    }
    const { id } = await route({ to: ["hook"] });
    await store.addDeliveries(id, [planned("chat")], "resend", noon);
    await send("chat", { at: noon + 3 * 24 * hour - 1 });
    const [chat, hook] = await store.destinationStatistics(["chat", "hook"], noon);
    expect(hook?.waits).toBeUndefined();
    expect(Math.abs((chat?.waits?.p50Ms ?? 0) / 400 - 1)).toBeLessThan(0.05);
    expect(Math.abs((chat?.waits?.p95Ms ?? 0) / 9_000 - 1)).toBeLessThan(0.05);
  });

  test("count the alerts that each route took, and remember the last one for ever", async (scene) => {
    const { route } = scene;
    const took = (name: string) => ({ route: name, destination: "chat", result: "deliver", reason: "" }) as const;
    const first = await route({ decisions: [took("night"), took("all"), { ...took("all"), destination: "hook" }] });
    const dropped = { route: "all", result: "dropped", reason: "" } as const;
    const decisions = [dropped, { route: "night", result: "not_matched", reason: "" } as const];
    const second = await route({ receivedAt: noon + 30 * hour, decisions });
    await scene.restart();
    const since = Math.floor(noon / hour) * hour;
    const at = noon + 30 * hour + 5;
    expect(await scene.store.routeStatistics(at)).toEqual({
      since,
      routes: [
        { route: "all", day: 1, week: 2, lastAt: at, lastId: second.id },
        { route: "night", day: 0, week: 1, lastAt: noon + 5, lastId: first.id },
      ],
    });
    for (const days of [0, 400, 401]) await scene.maintain(noon + days * 24 * hour);
    expect((await scene.store.routeStatistics(noon + 401 * 24 * hour)).routes).toMatchObject([
      { route: "all", day: 0, week: 0, lastId: second.id },
      { route: "night", lastId: first.id },
    ]);
  });

  test("count what was accepted since a time", async ({ store, route }) => {
    expect(await store.countSince([0, noon])).toEqual([0, 0]);
    for (const minutes of [0, 10, 20]) await route({ receivedAt: noon + minutes * 60_000 });
    expect(await store.countSince([0])).toEqual([3]);
  });
});
