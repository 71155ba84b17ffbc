import { describe, expect, it } from "vitest";
import { startLease } from "../../src/core/ports/lanes.ts";

describe("a lease", () => {
  const clocks = { at: 1_000_000, elapsed: 50 };
  const start = () => startLease(14_000, { now: () => clocks.at, elapsed: () => clocks.elapsed });

  it("is over after its time, whichever clock says so", () => {
    const lease = start();
    expect([lease.isOver(), lease.leftMs()]).toEqual([false, 14_000]);
    clocks.elapsed += 13_999;
    expect([lease.isOver(), lease.leftMs()]).toEqual([false, 1]);
    clocks.elapsed += 1;
    expect([lease.isOver(), lease.leftMs()]).toEqual([true, 0]);
  });

  it("gets no longer when the machine's clock is set back, and ends when it is found far ahead", () => {
    const back = start();
    clocks.at -= 3_600_000;
    clocks.elapsed += 14_000;
    expect(back.isOver()).toBe(true);
    // The machine slept, and the other clock with it.
    const slept = start();
    clocks.at += 40_000;
    expect(slept.isOver()).toBe(true);
  });
});
