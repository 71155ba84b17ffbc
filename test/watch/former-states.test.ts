import { expect, it } from "vitest";
import { openConfigurationWatch } from "../../src/watch/configuration.ts";
import { RefusalWatch } from "../../src/watch/refusals.ts";
import type { Duty } from "../../src/watch/watch.ts";
import { createTestClock } from "../support/test-clock.ts";
import { createShapeWorld } from "./shape-fixture.ts";
import { createWatchWorld, minute, type WorldDeps } from "./watch-world.ts";

/** What a watch tells within five minutes that finds this state, and again behind a restart. */
async function runOn(name: string, state: unknown, open: (deps: WorldDeps) => Promise<Duty | undefined>) {
  const world = await createWatchWorld(open);
  await world.scene.store.saveWatchState({ name, state });
  await world.start();
  await world.clock.advance(5 * minute);
  const titles = world.told.splice(0).map(({ title }) => title);
  await world.restart();
  await world.clock.advance(5 * minute);
  return { titles, again: world.lines() };
}

it("of version 0.1 say what people know of locked out sources", async () => {
  const at = createTestClock().now();
  const afterFirstLook = () => {
    let refused = { wrong_signature: 0 };
    return () => {
      const seen = new Map([
        ["known", { refused, lastRefusedAt: at }],
        ["opened", { refused, lastRefusedAt: at, lastAcceptedAt: at + 1 }],
        ["told today", { refused, lastRefusedAt: at }],
        ["told long ago", { refused, lastRefusedAt: at }],
      ]);
      refused = { wrong_signature: 3 };
      return seen;
    };
  };
  const former = {
    known: { toldAt: at - minute, isOver: false },
    opened: { toldAt: at - minute, isOver: false },
    "told today": { toldAt: at - minute, isOver: true },
    "told long ago": { toldAt: at - 48 * 60 * minute, isOver: true },
  };
  const { titles, again } = await runOn("refusals", former, (deps) =>
    new RefusalWatch({ ...deps, hooks: afterFirstLook() }).open(),
  );
  expect(titles).toEqual([
    "The source opened lets its sender in again",
    "Requests to the source told long ago are refused",
  ]);
  expect(again).toEqual([]);
});

it("of version 0.1 say whether people know that the configuration is refused", async () => {
  const look = (refused?: string[]) => () =>
    ({ refused, onDisk: refused ? "differs" : "same" }) as ReturnType<
      Parameters<typeof openConfigurationWatch>[1]["configuration"]
    >;
  const run = (told: boolean, refused?: string[]) =>
    runOn("configuration", { told }, (deps) =>
      openConfigurationWatch({ configFile: "tocsin.yaml" }, { ...deps, configuration: look(refused) }),
    );
  expect((await run(true, ["line 3: no"])).titles).toEqual([]);
  expect((await run(true)).titles).toEqual(["The configuration file on disk is in force"]);
  expect((await run(false)).titles).toEqual([]);
  expect((await run(false, ["line 3: no"])).titles).toEqual(["The changed configuration file is refused: a mistake"]);
});

it("of version 0.1 say how often each place of a shape has come", async () => {
  const body = { title: "Pool drained", severity: "critical", pool: "p1" };
  const fresh = await createShapeWorld();
  fresh.send(body, 60);
  await fresh.run();
  await fresh.stop();
  const saved = fresh.saved() as { catalogue: { kinds: { places: object[]; shapes: object[] }[] } };
  const at = fresh.clock.now();
  // It counted bodies by shape, and by place only those of shapes that were forgotten.
  for (const kind of saved.catalogue.kinds) {
    kind.places = kind.places.map((place) => ({ ...place, alerts: undefined, kept: 7, lastAt: at - minute }));
    kind.shapes = kind.shapes.map((shape) => ({ ...shape, count: 60, firstAt: at - minute }));
  }
  const next = await createShapeWorld({ saved: JSON.parse(JSON.stringify(saved)) });
  const { severity: _gone, ...without } = body;
  next.send(without, 20);
  await next.run();
  const placeOf = (path: string) => next.watch.view().kinds[0]?.places.find((place) => place.path === path);
  expect(placeOf("payload.pool")).toMatchObject({ alerts: 87, lastAt: next.clock.now() });
  expect(placeOf("payload.severity")).toMatchObject({ alerts: 67, lastAt: at, isGone: true });
  expect(next.told.map(({ title }) => title)).toEqual(["payload.severity is gone in alerts like “Pool drained”"]);
  await next.stop();
});
