import { expect, it } from "vitest";
import { DatabaseClock } from "../../../src/store/postgres/database-clock.ts";
import { openDatabase, someDatabase } from "./open-relays.ts";

/** Two clocks that a test moves; `tripMs` passes before the database reads its own, and again before the answer is there. */
function createWorld(aheadMs: number) {
  const corrected: number[] = [];
  let machineAt = 1_000_000;
  let ahead = aheadMs;
  const clock = new DatabaseClock({ machine: () => machineAt, onCorrected: (ms) => corrected.push(ms) });
  return {
    corrected,
    compare: (tripMs = 1) =>
      clock.compare(async () => {
        machineAt += tripMs;
        const databaseAt = machineAt + ahead;
        machineAt += tripMs;
        return databaseAt;
      }),
    setDatabase: (ms: number) => {
      ahead = ms;
    },
    correction: () => clock.now() - machineAt,
  };
}

it("the clock of a database leaves a machine alone that is in step with it", async () => {
  const world = createWorld(45);
  await world.compare();
  expect([world.correction(), world.corrected]).toEqual([0, []]);
});

it("the clock of a database corrects a machine that is minutes behind or ahead, and says so once", async () => {
  const world = createWorld(300_000);
  for (let turn = 0; turn < 3; turn += 1) await world.compare(turn);
  expect(world.correction()).toBe(300_000);
  world.setDatabase(-300_000);
  for (let turn = 0; turn < 3; turn += 1) await world.compare(turn);
  expect([world.correction(), world.corrected]).toEqual([-300_000, [300_000, -300_000]]);
  world.setDatabase(20);
  await world.compare();
  expect([world.correction(), world.corrected.at(-1)]).toEqual([0, 0]);
});

it("the clock of a database does not move for an answer that took long, nor by the little that clocks drift", async () => {
  const world = createWorld(300_000);
  await world.compare();
  world.setDatabase(300_040);
  await world.compare();
  // The process stood still for 40 seconds.
  await world.compare(20_000);
  expect(world.correction()).toBe(300_000);
});

it("the clock of a database passes on that the database is away, and goes by what it knew", async () => {
  const clock = new DatabaseClock({ machine: () => 1_000 });
  await clock.compare(async () => 61_000);
  await expect(clock.compare(() => Promise.reject(new Error("away")))).rejects.toThrow("away");
  expect(clock.now()).toBe(61_000);
});

it("the clock of a database is that of every relay which has opened it, whatever its machine's says", async () => {
  const url = await someDatabase();
  const open = (aheadMs: number) => openDatabase(url, `relay ${aheadMs}`, { machineClock: () => Date.now() + aheadMs });
  const [early, late] = [await open(-300_000), await open(300_000)];
  // The way there and back is all that they can be apart by.
  expect(Math.abs(early.now() - late.now())).toBeLessThan(10_000);
  expect(Math.abs(early.now() - Date.now())).toBeLessThan(10_000);
});
