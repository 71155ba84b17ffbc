import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { valueTicks } from "../../src/charts/plot.ts";
import { timeTicks } from "../../src/charts/time-axis.ts";

const start = Date.UTC(2026, 10, 20, 12);
const hour = 3_600_000;
const labels = (ticks: { label: string }[]) => ticks.map(({ label }) => label);

describe("the value axis", () => {
  it.each([
    [0, 100, ["0", "20", "40", "60", "80", "100"]],
    [1_000_000, 1_235_000, ["1.00 M", "1.05 M", "1.10 M", "1.15 M", "1.20 M", "1.25 M"]],
    [0.9998, 1.0003, ["0.9998", "0.9999", "1.0000", "1.0001", "1.0002", "1.0003"]],
    [-2, 3, ["−2", "−1", "0", "1", "2", "3"]],
    [1e-8, 3e-8, ["1.0e-8", "1.5e-8", "2.0e-8", "2.5e-8", "3.0e-8"]],
    [91_000, 91_500, ["91,000", "91,100", "91,200", "91,300", "91,400", "91,500"]],
    [5, 5, ["4.94", "4.96", "4.98", "5.00", "5.02", "5.04", "5.06"]],
    [0, 5e18, ["0", "1e18", "2e18", "3e18", "4e18", "5e18"]],
    [2e12, 3e12, ["2.0 tn", "2.2 tn", "2.4 tn", "2.6 tn", "2.8 tn", "3.0 tn"]],
  ])("from %d to %d has round labels that differ", (low, high, expected) => {
    expect(labels(valueTicks(low, high, 6))).toEqual(expected);
  });

  it("covers whatever values there are with labels that differ", () => {
    const value = fc.double({ noNaN: true, min: -1e14, max: 1e14 });
    fc.assert(
      fc.property(value, fc.double({ noNaN: true, min: 1e-4, max: 10 }), (low, share) => {
        const high = low + Math.max(Math.abs(low), 1e-3) * share;
        const ticks = valueTicks(low, high, 5);
        const room = Math.abs(high - low) * 1e-6;
        expect(ticks.length).toBeGreaterThan(1);
        expect(ticks.length).toBeLessThan(14);
        expect(ticks[0]?.value).toBeLessThanOrEqual(low + room);
        expect(ticks.at(-1)?.value).toBeGreaterThanOrEqual(high - room);
        expect(new Set(labels(ticks)).size).toBe(ticks.length);
      }),
    );
  });
});

describe("the time axis", () => {
  const utc = (...date: [number, number, number, number?]) => Date.UTC(...date);
  it.each<[string, ...Parameters<typeof timeTicks>]>([
    ["hours within a day, and the day at midnight", start, start + 24 * hour, 5],
    ["seconds within a minute or two", start + 500, start + 20_000, 5],
    ["a second alone", start + 7_000, start + 7_000, 5],
    ["a minute alone", start, start, 5],
    ["days over a week", start, start + 7 * 24 * hour, 4],
    ["each day of a week", start, start + 7 * 24 * hour, 7],
    ["the year over many of them", utc(2020, 0, 1), utc(2026, 0, 1), 7],
    // Six hours by the clock from midnight on, five by the sun.
    ["the wall clock over an hour that is left out", utc(2026, 2, 28, 20), utc(2026, 2, 29, 14), 8, "Europe/Berlin"],
    ["the wall clock over one that comes twice", utc(2026, 9, 24, 20), utc(2026, 9, 25, 14), 8, "Europe/Berlin"],
    ["the quarters of a zone that is 5 h 45 min ahead", start, start + 3 * hour, 4, "Asia/Kathmandu"],
  ])("names %s", (_what, ...asked) => {
    const ticks = timeTicks(...asked).map(({ value, label }) => `${new Date(value).toISOString()} ${label}`);
    expect(`\n${ticks.join("\n")}\n`).toMatchSnapshot();
  });

  it("takes a zone that nobody knows for UTC", () => {
    expect(timeTicks(start, start + 24 * hour, 5, "Not/AZone")).toEqual(timeTicks(start, start + 24 * hour, 5));
  });

  it("has few marks in order, whatever the span", () => {
    const spans = fc.record({
      from: fc.integer({ min: 0, max: 4e12 }),
      length: fc.integer({ min: 0, max: 4e12 }),
      count: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(spans, fc.constantFrom("UTC", "America/New_York"), ({ from, length, count }, zone) => {
        const at = timeTicks(from, from + length, count, zone).map(({ value }) => value);
        expect(at.length).toBeLessThanOrEqual(2 * count + 2);
        expect([...new Set(at)].sort((a, b) => a - b)).toEqual(at);
        for (const one of at) expect(one >= from && one <= from + length).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});
