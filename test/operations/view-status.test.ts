import { expect, it } from "vitest";
import type { DestinationView } from "../../src/core/operations.ts";
import type { StoreHealth } from "../../src/core/ports/administration.ts";
import { viewLog } from "../../src/operations/view-status.ts";

const health: StoreHealth = {
  writable: true,
  full: true,
  unrouted: 3,
  oldestUnroutedAt: 40,
  bytes: 10,
  freeBytes: 20,
};

function view(name: string, more: Partial<DestinationView>): DestinationView {
  return {
    name,
    channel: "webhook",
    recipients: [],
    health: "ok",
    reason: "",
    definedAt: "",
    counts: {},
    ...more,
  };
}

it("adds up what the destinations have, and takes the oldest that waits anywhere", () => {
  const destinations = [
    view("a", { counts: { queued: 1, waiting: 2, sent: 9, failed: 1 }, oldestWaitingAt: 70 }),
    view("b", { counts: { queued: 4, sending: 1, held: 5, failed: 2, expired: 6 }, oldestWaitingAt: 60 }),
    view("c", {}),
  ];
  const log = viewLog(health, { total: 12, lastReceivedAt: 90 }, destinations);
  expect(log.queue).toEqual({
    unrouted: 3,
    oldestUnroutedAt: 40,
    queued: 5,
    waiting: 2,
    sending: 1,
    held: 5,
    failed: 3,
    expired: 6,
    oldestWaitingAt: 60,
  });
  expect(log).toMatchObject({
    alerts: { total: 12, lastReceivedAt: 90 },
    destinations: [{ name: "a" }, { name: "b" }, { name: "c" }],
    disk: { databaseBytes: 10, freeBytes: 20, full: true },
  });
});

it("waits for nothing without destinations", () => {
  const { queue } = viewLog(health, { total: 0 }, []);
  expect(queue).toMatchObject({ queued: 0, failed: 0 });
  expect(queue.oldestWaitingAt).toBeUndefined();
});
