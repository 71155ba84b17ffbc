import { expect, it } from "vitest";
import { type HookSight, RefusalWatch } from "../../src/watch/refusals.ts";
import { day, minute, second, startWatchWorld } from "./watch-world.ts";

async function start() {
  let hook: HookSight = { refused: {} };
  const world = await startWatchWorld((deps) =>
    new RefusalWatch({ ...deps, hooks: () => new Map([["forge", hook]]) }).open(),
  );
  return {
    ...world,
    view: () => world.watch.view(),
    /** And so much time passes; default none. */
    async refuse(count = 3, ms = 0) {
      const refused = { wrong_signature: (hook.refused.wrong_signature ?? 0) + count };
      hook = { ...hook, refused, lastRefusedAt: world.clock.now() };
      await world.clock.advance(ms);
    },
    async accept(ms = minute) {
      hook = { ...hook, lastAcceptedAt: world.clock.now() };
      await world.clock.advance(ms);
    },
    async restart(knownByOthers: HookSight = { refused: {} }) {
      hook = knownByOthers;
      await world.restart();
    },
  };
}

const locked = "critical firing: Requests to the source forge are refused";
const well = "info resolved: The source forge lets its sender in again";

it("tells once that a source lets nobody in, with what to do, and once when it does again", async () => {
  const world = await start();
  await world.clock.advance(minute);
  expect(world.view()).toMatchObject({ verdict: "well", troubles: [] });
  await world.refuse(3, 30 * second);
  await world.refuse();
  expect(world.lines()).toEqual([]);
  await world.clock.advance(minute);
  expect(world.lines()).toEqual([locked]);
  expect(world.told[0]).toMatchObject({
    alertKey: "tocsin:source:forge",
    link: "https://tocsin.example.com/refused?source=forge",
    text: expect.stringMatching(
      /6 requests did not pass its check \(wrong_signature\).*list both below sources\.forge\.check/,
    ),
  });
  expect(world.view()).toMatchObject({ verdict: "trouble", troubles: [expect.stringContaining("forge are refused")] });
  for (let count = 0; count < 5; count += 1) await world.refuse(3, day);
  expect(world.lines()).toEqual([locked]);
  await world.accept();
  expect(world.lines()).toEqual([locked, well]);
  expect(world.view()).toMatchObject({ verdict: "well" });
});

it("takes one or two requests for no lock-out, and counts and names what was refused since one passed", async () => {
  const world = await start();
  await world.refuse(40);
  await world.accept();
  await world.refuse(2, 10 * minute);
  expect(world.lines()).toEqual([]);
  const summary = "no source locks its sender out; forge has refused 2 requests, and none has passed since";
  expect(world.view()).toMatchObject({ verdict: "well", troubles: [], summary });
  await world.refuse(1, minute);
  expect(world.lines()).toEqual([locked]);
  expect(world.told[0]?.text).toContain(" 3 requests did not pass its check (wrong_signature)");
});

it("counts nothing that other relays had refused before it watches", async () => {
  const world = await start();
  const at = world.clock.now();
  const refused = { wrong_signature: 40 };
  await world.restart({ refused, lastAcceptedAt: at - minute, lastRefusedAt: at - second });
  await world.clock.advance(10 * minute);
  expect(world.lines()).toEqual([]);
  expect(world.view()).toMatchObject({ verdict: "well", summary: "no source locks its sender out" });
  await world.refuse(3, minute);
  expect(world.told.map(({ text }) => /\d+ requests/.exec(text ?? "")?.[0])).toEqual(["3 requests"]);
});

it("says nothing of a stranger while the sender is let in", async () => {
  const world = await start();
  for (let count = 0; count < 100; count += 1) {
    await world.refuse(3, 20 * second);
    await world.accept(20 * second);
  }
  expect(world.lines()).toEqual([]);
});

it("is not made to repeat itself within a day by what comes and goes, and hides nothing that goes on for ten minutes", async () => {
  const world = await start();
  for (let count = 0; count < 5; count += 1) {
    await world.refuse(3, 5 * minute);
    await world.accept(5 * minute);
  }
  expect(world.lines()).toEqual([locked, well]);
  // What goes on is told within a day, too, and its end.
  for (let count = 0; count < 12; count += 1) await world.refuse(3, minute);
  await world.accept();
  expect(world.lines().splice(2)).toEqual([locked, well]);
  await world.clock.advance(day);
  await world.refuse(3, 5 * minute);
  expect(world.lines()).toEqual([locked, well, locked, well, locked]);
});

it("knows over a restart who is locked out, and tells when that is over", async () => {
  const world = await start();
  await world.refuse(3, 5 * minute);
  await world.restart();
  await world.refuse(3, 5 * minute);
  expect(world.lines()).toEqual([locked]);
  await world.accept();
  expect(world.lines()).toEqual([locked, well]);
});
