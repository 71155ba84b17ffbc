import { expect, it } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { openRunningTimes, readDowntimes } from "../../src/watch/running-times.ts";
import { openScene } from "../conformance/store/scene.ts";
import { createTestClock, hour, minute } from "../support/test-clock.ts";

async function open() {
  const clock = createTestClock(Date.UTC(2026, 10, 21, 12));
  const { store } = await openScene(async (dataDir) =>
    openLocalStore({ path: `${dataDir}/tocsin.db`, now: clock.now }),
  );
  return {
    clock,
    store,
    async start() {
      const ending = new AbortController();
      const times = await openRunningTimes({ store, clock, log: silentLog });
      const running = times.run(ending.signal);
      await clock.settle();
      return {
        ...times,
        async stop() {
          ending.abort();
          await running;
        },
      };
    },
  };
}

it("knows to the minute when no relay ran, after a stop and after a kill", async () => {
  const { clock, store, start } = await open();
  const begin = clock.now();
  const first = await start();
  expect(first.downtimes()).toEqual([]);
  await clock.advance(90_000);
  await first.stop();
  await clock.jump(hour);
  const back = clock.now();
  // A kill: nothing of it is saved any more.
  const second = await start();
  const stopped = { fromAt: begin + 90_000, toAt: back };
  expect(second.downtimes()).toEqual([stopped]);
  await clock.advance(10 * minute);
  const killed = { fromAt: clock.now(), toAt: clock.now() + hour };
  expect(await readDowntimes(store, killed.toAt)).toEqual([stopped, killed]);
  await second.stop();
});

it("a machine that was asleep, or whose clock was set, did not run and was not down", async () => {
  const { clock, start } = await open();
  const begin = clock.now();
  const times = await start();
  await clock.advance(10 * minute);
  expect(times.downtimes()).toEqual([]);
  await clock.jump(2 * hour);
  await clock.advance(minute);
  expect(times.downtimes()).toMatchObject([{ asleep: true }]);
  expect(times.downtimes()[0]?.fromAt).toBeGreaterThanOrEqual(begin + 9 * minute);
  expect(times.downtimes()[0]?.toAt).toBeGreaterThanOrEqual(begin + 130 * minute);
  await times.stop();
});

it("knows of a restored backup what it lacks, until nobody asks for it any more", async () => {
  const { clock, store, start } = await open();
  const time = { fromAt: clock.now() - hour, toAt: clock.now() };
  await store.saveWatchState({ name: "restores", state: { times: [time] } });
  const times = await start();
  expect(times.downtimes()).toEqual([{ ...time, restored: true }]);
  await times.stop();
  await clock.jump(hour);
  expect(await readDowntimes(store, clock.now())).toEqual([
    { ...time, restored: true },
    { fromAt: time.toAt, toAt: clock.now() },
  ]);
  await clock.jump(9 * 24 * hour);
  expect(await readDowntimes(store, clock.now())).toHaveLength(1);
});

it("forgets what nobody asks for any more", async () => {
  const { clock, store, start } = await open();
  await (await start()).stop();
  await clock.jump(hour);
  await (await start()).stop();
  expect(await readDowntimes(store, clock.now())).toHaveLength(1);
  await clock.jump(9 * 24 * hour);
  const times = await start();
  expect(times.downtimes()).toHaveLength(1);
  expect(times.downtimes()[0]?.toAt).toBe(clock.now());
  await times.stop();
});
