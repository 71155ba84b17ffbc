import { expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { createRouter, type Router } from "../../src/routing/router.ts";
import { createLocalReader } from "../support/reader.ts";
import { factsOf, startLoop } from "./loop-fixture.ts";

it("routes what is accepted at once, and within a second when the signal is lost", async () => {
  const loop = await startLoop();
  const { accept, store, clock } = loop;
  await clock.settle();
  const [first = ""] = await accept("first");
  await clock.settle();
  expect((await store.getAlert(first))?.facts?.title).toBe("first");
  loop.hears = false;
  const [second = ""] = await accept("second");
  await clock.settle();
  expect((await store.getAlert(second))?.facts).toBeUndefined();
  await clock.advance(1_000);
  expect((await store.getAlert(second))?.facts?.title).toBe("second");
});

it("routes together what comes one after another, in rounds of a few milliseconds", async () => {
  const { accept, store, clock } = await startLoop();
  await clock.settle();
  const isRouted = async (id: string) => (await store.getAlert(id))?.routedAt !== undefined;
  const [alone = ""] = await accept("alone");
  await clock.settle();
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

it("goes on when the clock is set back or forward by an hour, in a flood and without one", async () => {
  let flooded = false;
  const { accept, store, clock, shift } = await startLoop({
    flooded: () => flooded,
    reader: createLocalReader((body) => {
      if (String(Buffer.from(body)) === "forward") shift(3_600_000);
      return [{ facts: factsOf("any") }];
    }),
  });
  const isRouted = async (id: string) => (await store.getAlert(id))?.routedAt !== undefined;
  await accept("first");
  await clock.settle();
  shift(-3_600_000);
  const [second = ""] = await accept("second");
  await clock.advance(10);
  expect(await isRouted(second)).toBe(true);
  flooded = true;
  await accept("forward");
  await clock.advance(10);
  const [last = ""] = await accept("last");
  await clock.advance(12_000);
  expect(await isRouted(last)).toBe(true);
});

it("does not rest on once a flood is over", async () => {
  let flooded = true;
  const { accept, store, clock, shift } = await startLoop({
    flooded: () => flooded,
    reader: createLocalReader((body) => {
      if (String(Buffer.from(body)) === "slow") shift(100);
      return [{ facts: factsOf("any") }];
    }),
  });
  await accept("slow");
  await clock.advance(20);
  const [id = ""] = await accept("waits");
  flooded = false;
  await clock.advance(10);
  expect((await store.getAlert(id))?.routedAt).toBeUndefined();
  await clock.advance(30);
  expect((await store.getAlert(id))?.routedAt).toBeDefined();
});

it("keeps the alert when routing throws, flags it, and routes it later; the others go on", async () => {
  let broken = true;
  const router: Router = {
    ...createRouter({ destinations: [], routes: [], mutes: [] }),
    route(input) {
      if (broken && input.facts.title === "bad") throw new Error("a rule broke");
      return { decisions: [], deliveries: [] };
    },
  };
  const { accept, store, clock } = await startLoop({ router });
  const [bad = ""] = await accept("bad");
  const [good = ""] = await accept("good");
  await clock.settle();
  expect((await store.getAlert(good))?.routedAt).toBeDefined();
  const failed = await store.getAlert(bad);
  expect(failed).toMatchObject({ routingError: "a rule broke" });
  expect(failed?.routedAt).toBeUndefined();
  broken = false;
  await clock.advance(4_000);
  expect((await store.getAlert(bad))?.routedAt).toBeUndefined();
  await clock.advance(2_000);
  const routed = await store.getAlert(bad);
  expect(routed?.routedAt).toEqual(expect.any(Number));
  expect(routed?.routingError).toBeUndefined();
});

it("goes on in small steps in a flood, and catches up afterwards", async () => {
  let flooded = true;
  const { accept, store, clock } = await startLoop({ flooded: () => flooded });
  for (let index = 0; index < 300; index += 1) await accept(`alert ${index}`);
  await clock.advance(100);
  const during = (await store.health()).unrouted;
  expect(during).toBeGreaterThan(0);
  expect(during).toBeLessThan(300);
  flooded = false;
  await clock.advance(2_000);
  expect((await store.health()).unrouted).toBe(0);
});

it("leaves all to the other relays while it only accepts, and goes on afterwards", async () => {
  const fixture = await startLoop();
  fixture.mayRoute = false;
  await fixture.clock.advance(2_000);
  const [id = ""] = await fixture.accept("left");
  await fixture.clock.advance(5_000);
  expect((await fixture.store.getAlert(id))?.routedAt).toBeUndefined();
  fixture.mayRoute = true;
  await fixture.clock.advance(2_000);
  expect((await fixture.store.getAlert(id))?.routedAt).toBeDefined();
});

it("says of each request once what its alerts are made of, however often it could not be stored", async () => {
  const noted: string[] = [];
  let refusals = 3;
  const { accept, clock } = await startLoop({
    noteShapes: (alerts) => noted.push(...alerts.map(({ facts }) => facts.title)),
    wrap: (store) => ({
      ...store,
      async recordRouting(records) {
        refusals -= 1;
        if (refusals >= 0) throw new AppError("store_unavailable", "disk full");
        return store.recordRouting(records);
      },
    }),
  });
  await accept("first");
  await clock.advance(30_000);
  await accept("second");
  await clock.advance(1_000);
  expect(noted).toEqual(["first", "second"]);
});
