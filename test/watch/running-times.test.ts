import { expect, it } from "vitest";
import { openRunningTimes, readDowntimes } from "../../src/watch/running-times.ts";
import { createWatchWorld, day, hour, minute } from "./watch-world.ts";

async function open() {
  const world = await createWatchWorld(openRunningTimes);
  const { clock, scene } = world;
  /** Those that this run knows, and those that a command reads. */
  const known = () => world.watch.downtimes();
  return Object.assign(world, { known, read: () => readDowntimes(scene.store, clock.now()) });
}

it("knows to the minute when no relay ran, after a stop and after a kill", async () => {
  const { clock, start, restart, known, read } = await open();
  const begin = clock.now();
  await start();
  expect(known()).toEqual([]);
  await clock.advance(90_000);
  await restart(hour);
  const stopped = { fromAt: begin + 90_000, toAt: clock.now() };
  expect(known()).toEqual([stopped]);
  await clock.advance(10 * minute);
  const killedAt = clock.now();
  await restart(hour, "killed");
  expect(await read()).toEqual([stopped, { fromAt: killedAt, toAt: clock.now() }]);
});

it("a machine that was asleep, or whose clock was set, did not run and was not down", async () => {
  const { clock, start, known } = await open();
  const begin = clock.now();
  await start();
  await clock.advance(10 * minute);
  expect(known()).toEqual([]);
  await clock.jump(2 * hour);
  await clock.advance(minute);
  expect(known()).toMatchObject([{ asleep: true }]);
  expect(known()[0]?.fromAt).toBeGreaterThanOrEqual(begin + 9 * minute);
  expect(known()[0]?.toAt).toBeGreaterThanOrEqual(begin + 130 * minute);
});

it("knows of a restored backup what it lacks, until nobody asks for it any more", async () => {
  const { clock, scene, start, stop, known, read } = await open();
  const time = { fromAt: clock.now() - hour, toAt: clock.now() };
  await scene.store.saveWatchState({ name: "restores", state: { times: [time] } });
  await start();
  expect(known()).toEqual([{ ...time, restored: true }]);
  await stop();
  await clock.jump(hour);
  expect(await read()).toEqual([
    { ...time, restored: true },
    { fromAt: time.toAt, toAt: clock.now() },
  ]);
  await clock.jump(9 * day);
  expect(await read()).toHaveLength(1);
});

it("forgets what nobody asks for any more", async () => {
  const { clock, start, restart, known, read } = await open();
  await start();
  await restart(hour);
  expect(await read()).toHaveLength(1);
  await restart(9 * day);
  expect(known()).toHaveLength(1);
  expect(known()[0]?.toAt).toBe(clock.now());
});
