import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createZonedClock, isTimeZone } from "../../../src/ground/time/zoned-time.ts";

const iso = (at: number): string => new Date(at).toISOString();

describe("the wall clock of a zone", () => {
  test.each([
    // zone, wall time, instant
    ["UTC", [2026, 11, 21, 7, 0], "2026-11-21T07:00:00.000Z"],
    ["Europe/Zurich", [2026, 7, 1, 22, 0], "2026-07-01T20:00:00.000Z"],
    ["Europe/Zurich", [2026, 12, 1, 22, 0], "2026-12-01T21:00:00.000Z"],
    // Clocks jump from 02:00 to 03:00 on 29 March 2026: 02:30 does not exist.
    ["Europe/Zurich", [2026, 3, 29, 2, 30], "2026-03-29T01:00:00.000Z"],
    ["Europe/Zurich", [2026, 3, 29, 3, 0], "2026-03-29T01:00:00.000Z"],
    // 02:30 happens twice on 25 October 2026; the first one counts.
    ["Europe/Zurich", [2026, 10, 25, 2, 30], "2026-10-25T00:30:00.000Z"],
    ["America/New_York", [2026, 3, 8, 2, 15], "2026-03-08T07:00:00.000Z"],
    ["America/New_York", [2026, 11, 1, 1, 30], "2026-11-01T05:30:00.000Z"],
    // Half an hour of summer time.
    ["Australia/Lord_Howe", [2026, 10, 4, 2, 15], "2026-10-03T15:30:00.000Z"],
    ["Asia/Kathmandu", [2026, 1, 1, 0, 0], "2025-12-31T18:15:00.000Z"],
    ["Pacific/Kiritimati", [2026, 1, 1, 0, 0], "2025-12-31T10:00:00.000Z"],
    // The day after 31 January, and midnight that is jumped over.
    ["UTC", [2026, 1, 32, 0, 0], "2026-02-01T00:00:00.000Z"],
    ["Africa/Cairo", [2026, 4, 24, 0, 0], "2026-04-23T22:00:00.000Z"],
  ] as const)("in %s, %j is %s", (zone, [year, month, day, hour, minute], expected) => {
    expect(iso(createZonedClock(zone).instantOf(year, month, day, hour, minute))).toBe(expected);
  });

  test("an instant read from the clock and looked up again is the same one, or its first occurrence", () => {
    const zones = ["UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"];
    const clocks = new Map(zones.map((zone) => [zone, createZonedClock(zone)]));
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.integer({ min: 0, max: 60 * 24 * 366 * 80 }), (zone, minutes) => {
        const clock = clocks.get(zone);
        if (clock === undefined) throw new Error("no clock");
        const at = minutes * 60_000;
        const wall = clock.wallTimeAt(at);
        const again = clock.instantOf(wall.year, wall.month, wall.day, wall.hour, wall.minute);
        expect(again).toBeLessThanOrEqual(at);
        expect(clock.wallTimeAt(again)).toEqual(wall);
      }),
      { numRuns: 150 },
    );
  });

  test("shows the same of an instant whatever else was asked of the minute, also where clocks change", () => {
    // St. John's changed at 00:01, Amsterdam was 19 min 32 s ahead until 1937.
    const changes = [
      ["America/St_Johns", "2010-03-14T03:31:00Z"],
      ["Europe/Zurich", "2026-03-29T01:00:00Z"],
      ["Europe/Amsterdam", "1937-06-30T23:40:28Z"],
      ["Africa/Monrovia", "1972-01-07T00:44:30Z"],
    ] as const;
    for (const [zone, change] of changes) {
      const used = createZonedClock(zone);
      for (let at = Date.parse(change) - 61_500; at < Date.parse(change) + 61_500; at += 500)
        expect(used.wallTimeAt(at)).toEqual(createZonedClock(zone).wallTimeAt(at));
    }
  });

  test("knows zones from other words", () => {
    expect(isTimeZone("Europe/Zurich")).toBe(true);
    expect(isTimeZone("Europe/Zürich")).toBe(false);
    expect(isTimeZone("")).toBe(false);
  });
});
