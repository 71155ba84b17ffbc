import { expect, test } from "vitest";
import type { RingRule } from "../../src/core/ring.ts";
import type { PlannedDelivery } from "../../src/core/rules.ts";
import { createRingTally } from "../../src/explain/ring-tally.ts";
import { facts, noon } from "../routing/sample.ts";

const minute = 60_000;
const pools: PlannedDelivery = {
  destination: "desk",
  channel: "telegram",
  recipient: "-1",
  route: "pools",
  state: "queued",
  reason: "",
  dueAt: noon,
  updates: "auto",
  ring: { flapping: true },
};

/** A price below 100 that falls a little each quarter of an hour, and is over between. */
function history(count: number, deliveries: PlannedDelivery[]) {
  const tally = createRingTally();
  const alerts = Array.from({ length: count }, (_, index) => [
    { id: `fires ${index}`, receivedAt: noon + index * 16 * minute, value: String(98 - index / 10) },
    { id: `ends ${index}`, receivedAt: noon + (index * 16 + 8) * minute, value: "100.2", status: "resolved" as const },
  ]);
  for (const { id, receivedAt, ...over } of alerts.flat().reverse())
    tally.add({ id, receivedAt, facts: facts({ threshold: "100", alertKey: "pool", ...over }) }, deliveries);
  return tally.tally();
}

test("counts by destination and route what rings and what is held back, with the worst of it", () => {
  expect(history(8, [pools]).places).toEqual([
    {
      destination: "desk",
      route: "pools",
      alerts: 8,
      rings: 4,
      heldBack: 4,
      worst: { id: "fires 7", receivedAt: "2026-11-21T13:52:00.000Z", change: "−0.41 %" },
    },
  ]);
});

test("proposes options that would have rung less, and says the largest move that they hold", () => {
  const off: RingRule = { flapping: false, cooldownMs: 1000 };
  const { proposals } = history(30, [{ ...pools, ring: off }]);
  expect(proposals.map(({ options, rings, insteadOf, worst }) => [options, rings, insteadOf, worst?.change])).toEqual([
    ["again: { furtherBy: 3% }, rearm: { backBy: 3% }", 1, 30, "−3.0 %"],
  ]);
});

test("judges nothing that is muted or that a program reads, and counts what no option holds back", () => {
  const hook: PlannedDelivery = { ...pools, channel: "webhook", destination: "hook", ring: undefined };
  const all = { ...pools, destination: "ops", ring: undefined };
  expect(history(8, [hook, { ...pools, state: "muted" }, all]).places).toMatchObject([
    { destination: "ops", rings: 8, heldBack: 0 },
  ]);
});
