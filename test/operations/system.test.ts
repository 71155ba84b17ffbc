import { expect, it } from "vitest";
import { type SystemDeps, viewSystem } from "../../src/operations/system.ts";
import { createTestClock } from "../support/test-clock.ts";

const clock = createTestClock();
const now = clock.now();
const gib = 2 ** 30;

function deps(over: { kept?: number; free?: number; retention?: SystemDeps["retention"]; turnedAt?: number } = {}) {
  const { kept = 1_000_000, free = 10 * gib, retention = {}, turnedAt = now } = over;
  return {
    store: {
      health: async () => ({ writable: true, full: false, unrouted: 0, bytes: kept * 4096, freeBytes: free }),
      countAlerts: async () => ({ total: kept, kept, oldestReceivedAt: now - 9 * 86_400_000 }),
      countSince: async () => [3, 200, 262_144],
    },
    engine: { lastTurnAt: () => now, laneTurns: () => [{ destination: "desk", at: turnedAt }] },
    reader: { problem: () => undefined },
    watches: () => [],
    configuration: () => ({ onDisk: "none" }) as const,
    retention,
    clock,
  };
}

it("the disk is full when the last day goes on, unless as much is removed before, and of few alerts nothing is said", async () => {
  expect((await viewSystem(deps())).growth).toEqual({ bytesPerDay: gib, heldByRetention: false, fullInDays: 10 });
  const days = (count: number) => ({ maxAgeMs: count * 86_400_000 });
  expect((await viewSystem(deps({ retention: days(7) }))).growth?.heldByRetention).toBe(true);
  expect((await viewSystem(deps({ retention: days(90) }))).growth?.fullInDays).toBe(10);
  expect((await viewSystem(deps({ retention: { maxBytes: 5 * gib } }))).growth?.heldByRetention).toBe(true);
  expect((await viewSystem(deps({ kept: 999 }))).growth).toBeUndefined();
});

it("what the service is asked for decoration is counted, and why nothing is asked now is said", async () => {
  const calls = { made: 3, most: 120 };
  const until = { pausedUntil: now + 300_000, pausedBecause: "it refuses the key (403)" };
  const { parts } = await viewSystem({
    ...deps(),
    market: () => [
      { interface: "alerting", calls },
      { interface: "pricing", calls, ...until },
    ],
  });
  expect(parts.slice(-2)).toEqual([
    {
      name: "market data (alerting)",
      verdict: "well",
      detail: "asked for pictures and context; 3 of 120 calls in the last hour",
    },
    {
      name: "market data (pricing)",
      verdict: "trouble",
      detail: "nothing is asked for 5 min, because it refuses the key (403); 3 of 120 calls in the last hour",
    },
  ]);
});

it("a lane that does not turn is named", async () => {
  const { parts } = await viewSystem(deps({ turnedAt: now - 31_000 }));
  expect(parts.find(({ name }) => name === "delivery")).toEqual({
    name: "delivery",
    verdict: "trouble",
    detail: "stuck: desk",
  });
});
