import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import { waitAfter } from "../../src/delivery/plan/back-off.ts";

const { schedule, webhookSchedule } = defaultDeliverySettings();
const middle = () => 0.5;

describe("the schedule", () => {
  it("is the one of the documentation", () => {
    const waits = Array.from({ length: 11 }, (_, index) => waitAfter(index + 1, schedule, 0.2, middle));
    expect(waits.map((ms) => (ms ?? 0) / 1000)).toEqual([1, 5, 15, 30, 60, 120, 300, 600, 900, 900, 900]);
  });

  it("ends for outgoing webhooks", () => {
    expect(waitAfter(9, webhookSchedule, 0, middle)).toBe(24 * 3_600_000);
    expect(waitAfter(10, webhookSchedule, 0, middle)).toBeUndefined();
  });

  it("stays within the jitter, and never gets shorter with more failures when that is taken out", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.double({ min: 0, max: 0.5, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (failures, jitter, random) => {
          const base = waitAfter(failures, schedule, 0, middle) ?? 0;
          const wait = waitAfter(failures, schedule, jitter, () => random) ?? 0;
          expect(wait).toBeGreaterThanOrEqual(Math.floor(base * (1 - jitter)));
          expect(wait).toBeLessThanOrEqual(Math.ceil(base * (1 + jitter)));
          expect(waitAfter(failures + 1, schedule, 0, middle)).toBeGreaterThanOrEqual(base);
        },
      ),
    );
  });
});
