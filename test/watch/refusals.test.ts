import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { silentLog } from "../../src/core/log.ts";
import type { WatchState } from "../../src/core/ports/watch.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { type HookSight, openRefusalWatch } from "../../src/watch/refusals.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock } from "../support/test-clock.ts";

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

async function start() {
  const clock = createTestClock();
  const store = openLocalStore({ path: join(makeTempFolder(), "tocsin.db"), ballastBytes: 0, now: clock.now });
  const notices: AlertFacts[] = [];
  let isFull = false;
  let hook: HookSight = { refused: {} };
  let stop: AbortController;
  let running: Promise<void>;
  const world = {
    clock,
    told: () => notices.map(({ severity, status, title }) => `${severity} ${status}: ${title}`),
    notices,
    fill: (full: boolean) => {
      isFull = full;
    },
    refuse(count = 3) {
      hook = {
        ...hook,
        refused: { wrong_signature: (hook.refused.wrong_signature ?? 0) + count },
        lastRefusedAt: clock.now(),
      };
    },
    accept() {
      hook = { ...hook, lastAcceptedAt: clock.now() };
    },
    view: () => watch.view(),
    async restart(knownByOthers: HookSight = { refused: {} }) {
      stop.abort();
      await running;
      hook = knownByOthers;
      watch = await open();
    },
  };
  async function open() {
    const opened = await openRefusalWatch({
      hooks: () => new Map([["forge", hook]]),
      store,
      async notify(facts: AlertFacts, state: WatchState) {
        if (isFull) throw new Error("full");
        await store.saveWatchState(state);
        notices.push(facts);
      },
      publicUrl: "https://alerts.example.com",
      clock,
      log: silentLog,
    });
    stop = new AbortController();
    running = opened.run(stop.signal);
    return opened;
  }
  let watch = await open();
  onTestFinished(async () => {
    stop.abort();
    await running;
    await store.close();
  });
  return world;
}

const locked = "critical firing: Requests to the source forge are refused";
const well = "info resolved: The source forge lets its sender in again";

it("tells once that a source lets nobody in, with what to do, and once when it does again", async () => {
  const world = await start();
  await world.clock.advance(minute);
  expect(world.view()).toMatchObject({ verdict: "well", troubles: [] });
  world.refuse();
  await world.clock.advance(30 * second);
  world.refuse();
  expect(world.told()).toEqual([]);
  await world.clock.advance(minute);
  expect(world.told()).toEqual([locked]);
  expect(world.notices[0]).toMatchObject({
    alertKey: "tocsin:source:forge",
    link: "https://alerts.example.com/refused?source=forge",
    text: expect.stringMatching(
      /6 requests did not pass its check \(wrong_signature\).*list both below sources\.forge\.check/,
    ),
  });
  expect(world.view()).toMatchObject({ verdict: "trouble", troubles: [expect.stringContaining("forge are refused")] });
  for (let count = 0; count < 5; count += 1) {
    world.refuse();
    await world.clock.advance(day);
  }
  expect(world.told()).toEqual([locked]);
  world.accept();
  await world.clock.advance(minute);
  expect(world.told()).toEqual([locked, well]);
  expect(world.view()).toMatchObject({ verdict: "well" });
});

it("takes one or two requests for no lock-out, and counts and names what was refused since one passed", async () => {
  const world = await start();
  world.refuse(40);
  world.accept();
  await world.clock.advance(minute);
  world.refuse(2);
  await world.clock.advance(10 * minute);
  expect(world.told()).toEqual([]);
  const summary = "no source locks its sender out; forge has refused 2 requests, and none has passed since";
  expect(world.view()).toMatchObject({ verdict: "well", troubles: [], summary });
  world.refuse(1);
  await world.clock.advance(minute);
  expect(world.told()).toEqual([locked]);
  expect(world.notices[0]?.text).toContain(" 3 requests did not pass its check (wrong_signature)");
});

it("counts nothing that other relays had refused before it watches", async () => {
  const world = await start();
  const at = world.clock.now();
  const refused = { wrong_signature: 40 };
  await world.restart({ refused, lastAcceptedAt: at - minute, lastRefusedAt: at - second });
  await world.clock.advance(10 * minute);
  expect(world.told()).toEqual([]);
  expect(world.view()).toMatchObject({ verdict: "well", summary: "no source locks its sender out" });
  world.refuse(3);
  await world.clock.advance(minute);
  expect(world.notices.map(({ text }) => /\d+ requests/.exec(text ?? "")?.[0])).toEqual(["3 requests"]);
});

it("says nothing of a stranger while the sender is let in", async () => {
  const world = await start();
  for (let count = 0; count < 100; count += 1) {
    world.refuse();
    await world.clock.advance(20 * second);
    world.accept();
    await world.clock.advance(20 * second);
  }
  expect(world.told()).toEqual([]);
});

it("is not made to repeat itself within a day by what comes and goes, and hides nothing that goes on for ten minutes", async () => {
  const world = await start();
  for (let count = 0; count < 5; count += 1) {
    world.refuse();
    await world.clock.advance(5 * minute);
    world.accept();
    await world.clock.advance(5 * minute);
  }
  expect(world.told()).toEqual([locked, well]);
  // What goes on is told within a day, too, and its end.
  for (let count = 0; count < 12; count += 1) {
    world.refuse();
    await world.clock.advance(minute);
  }
  world.accept();
  await world.clock.advance(minute);
  expect(world.told().splice(2)).toEqual([locked, well]);
  await world.clock.advance(day);
  world.refuse();
  await world.clock.advance(5 * minute);
  expect(world.told()).toEqual([locked, well, locked, well, locked]);
});

it("repeats nothing over a restart, and tells of what a full store has kept from being told", async () => {
  const world = await start();
  world.fill(true);
  world.refuse();
  await world.clock.advance(5 * minute);
  expect(world.told()).toEqual([]);
  world.fill(false);
  await world.clock.advance(minute);
  expect(world.told()).toEqual([locked]);
  await world.restart();
  world.refuse();
  await world.clock.advance(5 * minute);
  expect(world.told()).toEqual([locked]);
  world.accept();
  await world.clock.advance(minute);
  expect(world.told()).toEqual([locked, well]);
});
