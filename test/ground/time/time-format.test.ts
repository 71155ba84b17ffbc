import { describe, expect, it } from "vitest";
import { createTimeFormat, formatDuration } from "../../../src/ground/time/time-format.ts";

const winter = Date.UTC(2026, 10, 21, 2, 2, 5);
const summer = Date.UTC(2026, 6, 1, 23, 59, 59);

describe("times", () => {
  it.each([
    ["UTC", winter, "21 Nov 2026, 02:02:05 UTC"],
    ["Europe/Zurich", winter, "21 Nov 2026, 03:02:05 CET"],
    ["Europe/Zurich", summer, "2 Jul 2026, 01:59:59 CEST"],
    ["Europe/London", winter, "21 Nov 2026, 02:02:05 GMT"],
    ["America/New_York", winter, "20 Nov 2026, 21:02:05 EST"],
    ["Asia/Kolkata", winter, "21 Nov 2026, 07:32:05 IST"],
    ["Australia/Sydney", winter, "21 Nov 2026, 13:02:05 AEDT"],
    ["Asia/Tokyo", winter, "21 Nov 2026, 11:02:05 GMT+9"],
    ["Asia/Kathmandu", winter, "21 Nov 2026, 07:47:05 GMT+5:45"],
    ["Mars/Olympus", winter, "21 Nov 2026, 02:02:05 UTC"],
  ])("in %s are complete and name their zone", (timeZone, at, expected) => {
    expect(createTimeFormat(timeZone).full(at)).toBe(expected);
  });

  it("near the message are a clock time with its zone", () => {
    expect(createTimeFormat("Europe/Zurich").clock(winter)).toBe("03:02 CET");
  });

  it("that are no instant are said to be unknown and never throw", () => {
    for (const at of [Number.NaN, Number.POSITIVE_INFINITY, 1e18]) {
      expect(createTimeFormat("UTC").full(at)).toBe("an unknown time");
      expect(createTimeFormat("UTC").clock(at)).toBe("an unknown time");
    }
  });
});

describe("durations", () => {
  it.each([
    [-5000, "0 s"],
    [400, "0 s"],
    [90_000, "90 s"],
    [119_600, "2 min"],
    [12 * 60_000, "12 min"],
    [59.6 * 60_000, "1 h"],
    [125 * 60_000, "2 h 5 min"],
    [120 * 60_000, "2 h"],
    [76 * 3_600_000, "3 d 4 h"],
    [48 * 3_600_000, "2 d"],
  ])("of %d ms are %s", (durationMs, expected) => {
    expect(formatDuration(durationMs)).toBe(expected);
  });
});
