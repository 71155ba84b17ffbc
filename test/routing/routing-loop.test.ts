import { expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { createLocalReader } from "../support/reader.ts";
import { factsOf, startLoop } from "./loop-fixture.ts";

it("routes what is accepted at once, and within a second when the signal is lost", async () => {
  const loop = await startLoop();
  const { store, clock, send } = loop;
  await clock.settle();
  const [first = ""] = await send("first");
  expect((await store.getAlert(first))?.facts?.title).toBe("first");
  loop.hears = false;
  const [second = ""] = await send("second");
  expect((await store.getAlert(second))?.facts).toBeUndefined();
  await clock.advance(1_000);
  expect((await store.getAlert(second))?.facts?.title).toBe("second");
});

it("routes together what comes one after another, in rounds of a few milliseconds", async () => {
  const { accept, clock, send, isRouted } = await startLoop();
  await clock.settle();
  const [alone = ""] = await send("alone");
  expect(await isRouted(alone)).toBe(true);
  const following: string[] = [];
  for (const body of ["second", "third", "fourth"]) {
    await clock.advance(1);
    following.push(...(await accept(body)));
    await clock.settle();
  }
  expect(await Promise.all(following.map(isRouted))).toEqual([false, false, false]);
  await clock.advance(2);
  expect(await Promise.all(following.map(isRouted))).toEqual([true, true, true]);
});

/** A loop whose clock goes on by an hour while `forward` is read, and by 100 ms while `slow` is. */
async function startFlood(isFlooded: boolean) {
  const flood = { isOn: isFlooded };
  const loop = await startLoop({
    flooded: () => flood.isOn,
    reader: createLocalReader((body) => {
      loop.shift({ forward: 3_600_000, slow: 100 }[String(Buffer.from(body))] ?? 0);
      return [{ facts: factsOf("any") }];
    }),
  });
  return { ...loop, flood };
}

it("goes on when the clock is set back or forward by an hour, in a flood and without one", async () => {
  const { shift, flood, isRouted, send } = await startFlood(false);
  await send("first");
  shift(-3_600_000);
  const [second = ""] = await send("second", 10);
  expect(await isRouted(second)).toBe(true);
  flood.isOn = true;
  await send("forward", 10);
  const [last = ""] = await send("last", 12_000);
  expect(await isRouted(last)).toBe(true);
});

it("does not rest on once a flood is over", async () => {
  const { accept, clock, flood, isRouted, send } = await startFlood(true);
  await send("slow", 20);
  const [id] = await accept("waits");
  flood.isOn = false;
  await clock.advance(5);
  expect(await isRouted(id)).toBe(false);
  await clock.advance(30);
  expect(await isRouted(id)).toBe(true);
});

it("goes on in small steps in a flood, and catches up afterwards", async () => {
  const { accept, store, clock, flood } = await startFlood(true);
  for (let index = 0; index < 300; index += 1) await accept(`alert ${index}`);
  await clock.advance(100);
  const during = (await store.health()).unrouted;
  expect(during).toBeGreaterThan(0);
  expect(during).toBeLessThan(300);
  flood.isOn = false;
  await clock.advance(2_000);
  expect((await store.health()).unrouted).toBe(0);
});

it("routes what looks critical before thousands of others, after a kill and whenever it is behind", async () => {
  const order: string[] = [];
  const flood = { isOn: false };
  const loop = await startLoop({
    flooded: () => flood.isOn,
    async before(_, accept) {
      for (let index = 0; index < 250; index += 1) await accept(`info ${index}`);
      await accept("critical: bridge");
    },
    async recording(records, record) {
      order.push(...records.map(({ facts }) => facts.title));
      return record(records);
    },
  });
  await loop.clock.advance(1_000);
  expect([order[0], order.length]).toEqual(["critical: bridge", 251]);
  flood.isOn = true;
  for (let index = 0; index < 200; index += 1) await loop.accept(`more ${index}`);
  await loop.accept("fatal: oracle");
  await loop.clock.advance(2_000);
  expect(order.indexOf("fatal: oracle")).toBeLessThan(251 + 100);
  expect([new Set(order).size, order.length]).toEqual([452, 452]);
});

it("lets no number of critical ones starve the others", async () => {
  const order: string[] = [];
  const { clock } = await startLoop({
    async before(_, accept) {
      await accept("info");
      for (let index = 0; index < 700; index += 1) await accept(`critical ${index}`);
    },
    async recording(records, record) {
      order.push(...records.map(({ facts }) => facts.title));
      return record(records);
    },
  });
  await clock.advance(1_000);
  expect([order.indexOf("info"), new Set(order).size, order.length]).toEqual([300, 701, 701]);
});

it("leaves all to the other relays while it only accepts, and goes on afterwards", async () => {
  const fixture = await startLoop();
  fixture.mayRoute = false;
  await fixture.clock.advance(2_000);
  const [id = ""] = await fixture.accept("left");
  await fixture.clock.advance(5_000);
  expect(await fixture.isRouted(id)).toBe(false);
  fixture.mayRoute = true;
  await fixture.clock.advance(2_000);
  expect(await fixture.isRouted(id)).toBe(true);
});

it("says of each request once what its alerts are made of, however often it could not be stored", async () => {
  const noted: string[] = [];
  let refusals = 3;
  const { send } = await startLoop({
    noteShapes: (alerts) => noted.push(...alerts.map(({ facts }) => facts.title)),
    async recording(records, record) {
      refusals -= 1;
      if (refusals >= 0) throw new AppError("store_unavailable", "disk full");
      return record(records);
    },
  });
  await send("first", 30_000);
  await send("second", 1_000);
  expect(noted).toEqual(["first", "second"]);
});
