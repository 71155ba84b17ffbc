import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDuration, writeDuration } from "../../../src/ground/time/duration.ts";

describe("durations", () => {
  test.each([
    ["90s", 90_000],
    ["15m", 900_000],
    ["2h", 7_200_000],
    ["7d", 604_800_000],
    ["1h30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["250ms", 250],
    ["0s", 0],
  ])("%s is %i ms", (text, durationMs) => {
    expect(parseDuration(text)).toBe(durationMs);
  });

  test.each(["", "5", "5 m", "m", "-5m", "5y", "1e3s", "5m!", `${"9".repeat(30)}d`])("%j is none", (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  test("are written so that they read the same", () => {
    fc.assert(
      fc.property(fc.nat(), (durationMs) => {
        expect(parseDuration(writeDuration(durationMs))).toBe(durationMs);
      }),
    );
  });
});
