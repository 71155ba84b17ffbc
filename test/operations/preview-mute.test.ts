import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { createIdSource } from "../../src/core/id.ts";
import type { BodyReader } from "../../src/core/ports/body-reader.ts";
import type { Condition } from "../../src/core/rules.ts";
import { createMutePreview } from "../../src/operations/preview-mute.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { findUnrouted } from "../conformance/store/scene-samples.ts";
import { anAlert } from "../support/facts.ts";
import { createLocalReader } from "../support/reader.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock } from "../support/test-clock.ts";
import { addAlert } from "../support/web-fixture.ts";

const hourMs = 3_600_000;

async function start(reader: BodyReader = createLocalReader()) {
  const clock = createTestClock();
  const newId = createIdSource(clock.now);
  const store = openLocalStore({ path: join(makeTempFolder(), "tocsin.db"), ballastBytes: 0, now: clock.now });
  onTestFinished(() => store.close());
  const deps = { store, reader, clock };
  const preview = createMutePreview(deps);
  let reads = 0;
  const { listFacts } = store;
  store.listFacts = (query) => {
    reads += 1;
    return listFacts(query);
  };
  return {
    clock,
    store,
    /** How often facts were read. */
    reads: () => reads,
    preview,
    /** Counts all, on a machine on which each look at the time takes so long. */
    countAtSpeed(stepMs: number) {
      let ms = 0;
      const monotonicMs = () => {
        ms += stepMs;
        return ms;
      };
      return createMutePreview({ ...deps, monotonicMs })([{ field: "title", condition: { exists: true } }]);
    },
    /** Counts what one matcher would have held. */
    count: (field: string, condition: Condition, options?: { mostAlerts?: number }) =>
      preview([{ field, condition }], options),
    add: (body: unknown, facts: Partial<AlertFacts> = {}) =>
      addAlert(store, clock.now(), newId, { body: JSON.stringify(body), facts }),
    /** One request with an alert for each element. */
    async addBatch(items: unknown[]) {
      const body = Buffer.from(JSON.stringify(items));
      const ids = items.map(() => newId());
      const given = { receivedAt: clock.now(), contentType: "application/json", headers: "[]", body, ids };
      await store.acceptRequest({ ...given, origin: "hook", dedupeWindowMs: hourMs });
      const routed = { facts: anAlert(), decisions: [], deliveries: [], purpose: "alert" as const };
      for (const id of ids) {
        const { seq } = await findUnrouted(store, id);
        await store.recordRouting([{ ...routed, alertSeq: seq, routedAt: clock.now() }]);
      }
    },
  };
}

it("what a mute would have held is counted over the last 24 hours by the matcher that routing uses", async () => {
  const { clock, add, count } = await start();
  await add({}, { token: "USDC", value: "7" });
  await clock.advance(2 * hourMs);
  await add({}, { token: "USDC", value: "7.50" });
  await add({}, { token: "DAI", value: "3" });
  await clock.advance(23 * hourMs);
  await add({}, { token: "USDC", value: "9" });
  const since = clock.now() - 24 * hourMs;
  expect(await count("token", { equals: ["USDC"] })).toEqual({ matched: 2, looked: 3, complete: true, since });
  expect(await count("value", { equals: ["7.5"] })).toMatchObject({ matched: 1 });
  expect(await count("value", { gte: 7 })).toMatchObject({ matched: 2 });
  expect(await count("title", { matches: "nothing like this" })).toMatchObject({ matched: 0, looked: 3 });
});

it("what a mute would have held looks into the bodies where a matcher does", async () => {
  const { add, count } = await start();
  await add({ pool: { address: "0xAB" } });
  await add({ pool: { address: "0xcd" } });
  await add([{ pool: { address: "0xab" } }]);
  expect(await count("payload.pool.address", { equals: ["0xab"] })).toMatchObject({ matched: 2, looked: 3 });
  expect(await count("payload.pool", { exists: false })).toMatchObject({ matched: 0 });
});

it("what a mute would have held looks into each alert of a batch on its own", async () => {
  const { add, addBatch, count } = await start();
  await add({ pool: "A" });
  await addBatch([{ pool: "A" }, { pool: "B" }, { pool: "B" }]);
  expect(await count("payload.pool", { equals: ["B"] })).toMatchObject({ matched: 2, looked: 4 });
  expect(await count("payload.pool", { equals: ["A"] })).toMatchObject({ matched: 2, looked: 4 });
});

it("what a mute would have held does not read again what could not be read when it came", async () => {
  const local = createLocalReader();
  const read: string[] = [];
  const { add, count } = await start({
    read(bodies, signal) {
      read.push(...bodies.map(({ body }) => Buffer.from(body).toString()));
      return local.read(bodies, signal);
    },
  });
  await add({ pool: "A" });
  await add({ pool: "A", endless: true }, { format: "unreadable" });
  expect(await count("payload.pool", { equals: ["A"] })).toMatchObject({ matched: 1, looked: 2 });
  expect(read).toEqual(['{"pool":"A"}']);
  // Nor does any mute hold it, whatever its facts are.
  expect(await count("title", { exists: true })).toMatchObject({ matched: 1, looked: 2 });
});

it("what a mute would have held says so when there are more than it looks at, and takes the newest", async () => {
  const { add, count } = await start();
  for (let index = 0; index < 7; index += 1) await add({}, { token: index < 4 ? "OLD" : "NEW" });
  expect(await count("token", { equals: ["NEW"] }, { mostAlerts: 5 })).toMatchObject({
    matched: 3,
    looked: 5,
    complete: false,
  });
  expect(await count("token", { equals: ["OLD"] }, { mostAlerts: 7 })).toMatchObject({
    matched: 4,
    looked: 7,
    complete: true,
  });
});

it("what a mute would have held counts anew what has come, was read, has grown too old or was removed since the last look", async () => {
  const { add, count, clock, store } = await start();
  const counted = async () => {
    const { matched, looked } = await count("token", { equals: ["A"] }, { mostAlerts: 5 });
    return [matched, looked];
  };
  expect(await counted()).toEqual([0, 0]);
  await add({}, { token: "A" });
  await clock.advance(hourMs);
  await add({}, { token: "B" });
  expect(await counted()).toEqual([1, 2]);
  expect(await counted()).toEqual([1, 2]);
  await clock.advance(hourMs);
  await addAlert(store, clock.now(), createIdSource(clock.now), { unrouted: true });
  expect(await counted()).toEqual([1, 2]);
  await add({}, { token: "A" });
  expect(await counted()).toEqual([2, 3]);
  await clock.advance(22 * hourMs + 1);
  expect(await counted()).toEqual([1, 2]);
  await clock.advance(2 * hourMs);
  expect(await counted()).toEqual([0, 0]);
  await add({}, { token: "A" });
  await clock.advance(1);
  expect(await counted()).toEqual([1, 1]);
});

it("what a mute would have held gives way to others while it counts, and ends with what it has when it takes long", async () => {
  const { add, countAtSpeed } = await start();
  for (let index = 0; index < 12; index += 1) await add({});
  let others = 0;
  const other = () => {
    others += 1;
    waiting = setImmediate(other);
  };
  let waiting = setImmediate(other);
  // Each look at the time takes 6 ms: a slice is over after every second alert or earlier.
  expect(await countAtSpeed(6)).toMatchObject({ looked: 12, complete: true });
  clearImmediate(waiting);
  expect(others).toBeGreaterThanOrEqual(6);
  expect(await countAtSpeed(400)).toMatchObject({ looked: 3, complete: false });
});
