import { expect, it } from "vitest";
import { createFloodGauge } from "../../src/intake/door/flood-gauge.ts";
import type { DoorCounters } from "../../src/intake/door/refusals.ts";

function setUp() {
  const state = { now: 1_000, inFlight: 0, accepted: 0 };
  const door = {
    inFlight: () => state.inFlight,
    get counters() {
      return { accepted: state.accepted } as DoorCounters;
    },
  };
  const isFlooded = createFloodGauge(door, () => state.now);
  return {
    state,
    isFlooded,
    /** Time passes, and this many are accepted in it. */
    pass(ms: number, accepted: number) {
      state.now += ms;
      state.accepted += accepted;
      return isFlooded();
    },
  };
}

it("is a flood while many requests are at the door", () => {
  const { state, isFlooded } = setUp();
  state.inFlight = 8;
  expect(isFlooded()).toBe(false);
  state.inFlight = 9;
  expect(isFlooded()).toBe(true);
  state.inFlight = 0;
  expect(isFlooded()).toBe(false);
});

it("is a flood while more than two thousand a second are accepted, and ends when they stop", () => {
  const { pass } = setUp();
  expect(pass(50, 100)).toBe(false);
  expect(pass(50, 101)).toBe(true);
  expect(pass(49, 0)).toBe(true);
  expect(pass(1, 0)).toBe(false);
});

it("takes 1,000 alerts in a second for no flood, nor a few after a long silence", () => {
  const { pass } = setUp();
  expect(pass(3_600_000, 5)).toBe(false);
  for (let turn = 0; turn < 20; turn += 1) expect(pass(50, 50)).toBe(false);
});

it("goes on when the clock is set back", () => {
  const { pass } = setUp();
  expect(pass(-3_600_000, 10)).toBe(true);
  expect(pass(50, 10)).toBe(false);
  expect(pass(50, 200)).toBe(true);
});
