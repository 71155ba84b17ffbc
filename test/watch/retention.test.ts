import { expect, it, onTestFinished } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import type { Position } from "../../src/core/ports/alert-log.ts";
import type { RemovalStep, Retention } from "../../src/core/ports/retention.ts";
import { createRetention } from "../../src/watch/retention.ts";
import { createTestClock, day, hour, minute, type TestClock } from "../support/test-clock.ts";

/** A log of alerts that are a byte each, oldest first, by when they came. */
function fakeLog(receivedAt: number[], changes: Partial<Retention> & { tookMs?: number } = {}) {
  const steps: RemovalStep[] = [];
  let room = 0;
  const store: Retention = {
    async removeAlerts(step) {
      steps.push(step);
      const looked = receivedAt.slice(0, step.limit);
      const removed = looked.filter((at) => at < step.receivedBefore).length;
      receivedAt.splice(0, removed);
      const next = removed === step.limit ? ("1" as Position) : undefined;
      return { removed, next, accepted: 0, usedBytes: receivedAt.length, tookMs: changes.tookMs ?? 3 };
    },
    async giveBackRoom() {
      room += 1;
      return { more: false, tookMs: 1 };
    },
    ...changes,
  };
  return { store, steps, rounds: () => room };
}

async function runFor(
  ms: number,
  log: ReturnType<typeof fakeLog>,
  rules: Parameters<typeof createRetention>[0]["rules"],
  andThen: (clock: TestClock) => Promise<void> = async () => {},
) {
  const clock = createTestClock();
  const stop = new AbortController();
  const running = createRetention({ store: log.store, rules, clock, log: silentLog }).run(stop.signal);
  await clock.advance(10 * minute - 1);
  expect(log.steps).toEqual([]);
  await clock.advance(ms + 1);
  await andThen(clock);
  stop.abort();
  await running;
}

const now = createTestClock().now();
const every = (count: number, ageMs: number) => Array.from({ length: count }, () => now - ageMs);

it("retention removes what is too old, and then what is too much but for the last hour", async () => {
  const received = [...every(50, 91 * day), ...every(50, 2 * hour), ...every(50, 0.5 * hour)];
  await runFor(30_000, fakeLog(received), { maxAgeMs: 90 * day });
  expect(received).toHaveLength(100);
  await runFor(30_000, fakeLog(received), { maxBytes: 68 });
  expect(received.length).toBeGreaterThan(68 - 16);
  expect(received.length).toBeLessThanOrEqual(68);
  await runFor(30_000, fakeLog(received), { maxBytes: 1 });
  expect(received).toHaveLength(50);
});

it("retention asks for nothing when both limits are off", async () => {
  const log = fakeLog(every(9, 1000 * day));
  await runFor(hour, log, {});
  expect([log.steps, log.rounds()]).toEqual([[], 0]);
});

it.each<[string, number, Parameters<typeof fakeLog>[1], unknown]>([
  ["smaller steps while they take long", 1000, { tookMs: 50 }, [4]],
  ["larger ones while they do not", 5000, { tookMs: 0.5 }, expect.arrayContaining([512])],
  // Where no alert waits for a step, a short one would cost more than what it removes.
  [
    "larger ones too where they hinder nobody",
    1000,
    { tookMs: 40, removesBesideOthers: true },
    expect.arrayContaining([512]),
  ],
  ["smaller ones where each takes very long there", 1000, { tookMs: 600, removesBesideOthers: true }, [64]],
])("retention makes %s", async (_what, alerts, changes, limits) => {
  const log = fakeLog(every(alerts, 91 * day), changes);
  await runFor(10_000, log, { maxAgeMs: 90 * day });
  const seen = [...new Set(log.steps.map(({ limit }) => limit))];
  expect(seen).toEqual(limits);
  expect(Math.max(...seen)).toBeLessThanOrEqual(512);
});

it("retention leaves the database nearly all of its time while it keeps ahead of what comes in", async () => {
  const log = floodedLog({ perSecond: 100, msPerAlert: 0.1 });
  await log.run(60_000);
  expect(log.walked() / 60).toBeGreaterThan(300);
  expect(log.busyShare()).toBeLessThan(0.06);
});

it("retention lets a short flood pass, and keeps ahead of one that makes the log grow by more than a twentieth", async () => {
  const log = floodedLog({ perSecond: 2_000, msPerAlert: 0.1 });
  await log.run(20_000);
  expect(log.busyShare()).toBeLessThan(0.06);
  await log.run(30_000);
  expect(log.busyShare()).toBeGreaterThan(0.1);
  expect(log.busyShare()).toBeLessThanOrEqual(0.51);
  for (let round = 0; round < 3; round += 1) {
    await log.run(10_000);
    expect(log.usedBytes()).toBeLessThan(1.06e6);
  }
});

it("retention makes larger steps where small ones do not keep ahead, once the log has grown by a tenth", async () => {
  const log = floodedLog({ perSecond: 3_000, msPerAlert: 0.1, bytes: 1e5 });
  await log.run(5_000);
  expect(log.largestLimit()).toBe(8);
  await log.run(25_000);
  expect(log.largestLimit()).toBe(16);
  expect(log.usedBytes()).toBeLessThan(1.12e5);
});

it("retention takes half of the time while nothing comes in, and steps back when something does", async () => {
  const log = floodedLog({ perSecond: 0, tookMs: 1.5 });
  await log.run(30_000);
  expect(log.restsPerStep()).toBeLessThan(4);
  log.flood(100);
  await log.run(3_000);
  expect(log.restsPerStep()).toBeGreaterThan(10);
});

it("retention looks again every minute, also behind a store that refused, and stops when it is told to", async () => {
  let calls = 0;
  const log = fakeLog(every(1, 91 * day), {
    async removeAlerts() {
      calls += 1;
      throw new Error("the disk is full");
    },
  });
  await runFor(3 * 60_000 + 1, log, { maxAgeMs: 90 * day });
  expect(calls).toBe(4);
});

it("retention makes larger steps while nothing comes in, and short ones again as soon as something does", async () => {
  const log = floodedLog({ perSecond: 100, tookMs: 1.5, msPerAlert: 0.05 });
  await log.run(20_000);
  expect(log.lastLimit()).toBe(16);
  log.flood(0);
  await log.run(20_000);
  expect(log.lastLimit()).toBe(128);
  log.flood(100);
  await log.run(5_000);
  expect(log.lastLimit()).toBe(16);
});

it("retention waits ten minutes again when the clock has jumped: it may be wrong, and all would be old", async () => {
  const received = every(1, 0);
  const log = fakeLog(received);
  await runFor(60_000, log, { maxAgeMs: 90 * day }, async (clock) => {
    await clock.jump(400 * day);
    await clock.advance(9 * minute);
    expect(received).toHaveLength(1);
    // It was right after all.
    await clock.advance(2 * minute);
  });
  expect(received).toHaveLength(0);
});

/**
 * A log that is never short of old alerts, into which so many come a second. `tookMs`: of a step, however many it removes;
 * `msPerAlert`: instead of that; `bytes`: of the log at the start, a byte an alert.
 */
function floodedLog(given: { perSecond: number; tookMs?: number; msPerAlert?: number; bytes?: number }) {
  const { msPerAlert, bytes = 1e6 } = given;
  let { perSecond, tookMs = 0 } = given;
  const clock = createTestClock();
  const stop = new AbortController();
  let [walked, accepted, since, steps] = [0, 0, clock.now(), 0];
  let [sleptMs, lastRestMs, lastLimit, largestLimit] = [0, 0, 0, 0];
  const store: Retention = {
    async removeAlerts({ limit }) {
      lastLimit = limit;
      largestLimit = Math.max(largestLimit, limit);
      if (msPerAlert !== undefined) tookMs = limit * msPerAlert;
      await clock.sleep(Math.ceil(tookMs));
      accepted += (perSecond * (clock.now() - since)) / 1000;
      since = clock.now();
      walked += limit;
      steps += 1;
      const usedBytes = bytes + accepted - walked;
      return { removed: limit, next: "1" as Position, accepted: Math.floor(accepted), usedBytes, tookMs };
    },
  };
  const resting = {
    now: clock.now,
    sleep: (ms: number, signal?: AbortSignal) => {
      if (ms < 10 * minute) [sleptMs, lastRestMs] = [sleptMs + ms, ms];
      return clock.sleep(ms, signal);
    },
  };
  const rules = { maxAgeMs: 90 * day };
  const running = createRetention({ store, rules, clock: resting, log: silentLog }).run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await clock.advance(10_000);
    await running;
  });
  let isStarted = false;
  return {
    async run(ms: number) {
      if (!isStarted) await clock.advance(10 * minute - 1);
      if (!isStarted) since = clock.now();
      isStarted = true;
      await clock.advance(ms);
    },
    flood: (rate: number) => {
      perSecond = rate;
    },
    walked: () => walked,
    lastLimit: () => lastLimit,
    largestLimit: () => largestLimit,
    usedBytes: () => bytes + accepted - walked,
    busyShare: () => (steps * Math.ceil(tookMs)) / (steps * Math.ceil(tookMs) + sleptMs),
    restsPerStep: () => lastRestMs / Math.ceil(tookMs),
  };
}
