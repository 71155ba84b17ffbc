import { describe, expect, it } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import type { Position } from "../../src/core/ports/alert-log.ts";
import type { Removal, RemovalStep, Retention } from "../../src/core/ports/retention.ts";
import { createRetention } from "../../src/watch/retention.ts";
import { createTestClock } from "../support/test-clock.ts";

const day = 86_400_000;
const hour = 3_600_000;
const minute = 60_000;

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
      return { removed, next, usedBytes: receivedAt.length, tookMs: changes.tookMs ?? 3 } satisfies Removal;
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
) {
  const clock = createTestClock();
  const stop = new AbortController();
  const running = createRetention({ store: log.store, rules, clock, log: silentLog }).run(stop.signal);
  await clock.advance(10 * minute - 1);
  expect(log.steps).toEqual([]);
  await clock.advance(ms + 1);
  stop.abort();
  await running;
}

const now = createTestClock().now();
const every = (count: number, ageMs: number) => Array.from({ length: count }, () => now - ageMs);

describe("retention", () => {
  it("removes what is too old, and then what is too much but for the last hour", async () => {
    const received = [...every(50, 91 * day), ...every(50, 2 * hour), ...every(50, 0.5 * hour)];
    await runFor(30_000, fakeLog(received), { maxAgeMs: 90 * day });
    expect(received).toHaveLength(100);
    await runFor(30_000, fakeLog(received), { maxBytes: 68 });
    expect(received.length).toBeGreaterThan(68 - 16);
    expect(received.length).toBeLessThanOrEqual(68);
    await runFor(30_000, fakeLog(received), { maxBytes: 1 });
    expect(received).toHaveLength(50);
  });

  it("asks for nothing when both limits are off", async () => {
    const log = fakeLog(every(9, 1000 * day));
    await runFor(hour, log, {});
    expect(log.steps).toEqual([]);
    expect(log.rounds()).toBe(0);
  });

  it("makes smaller steps while they take long, and rests twenty times as long as each took", async () => {
    const slow = fakeLog(every(1000, 91 * day), { tookMs: 50 });
    await runFor(10_000, slow, { maxAgeMs: 90 * day });
    expect(slow.steps.map(({ limit }) => limit)).toEqual([16, 8, ...Array.from({ length: 9 }, () => 4)]);
    const fast = fakeLog(every(5000, 91 * day), { tookMs: 0.5 });
    await runFor(2_000, fast, { maxAgeMs: 90 * day });
    expect(Math.max(...fast.steps.map(({ limit }) => limit))).toBe(512);
  });

  it("looks again every minute, also behind a store that refused, and stops when it is told to", async () => {
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
});
