import { expect, it } from "vitest";
import { describeAge, describeSpan, withAge } from "../../src/cli/shell/amounts.ts";

const now = Date.UTC(2026, 10, 21, 12);

it.each([
  [0, "just now"],
  [900, "just now"],
  [59_000, "59 s ago"],
  [119_000, "119 s ago"],
  [120_000, "2 min ago"],
  [7_199_000, "119 min ago"],
  [7_200_000, "2 h ago"],
  [172_800_000, "2 d ago"],
  [-300_000, "in 5 min"],
])("tells %i ms as %s", (distanceMs, words) => {
  expect(describeAge(now - distanceMs, now)).toBe(words);
});

it("leaves a text that is no time as it is", () => {
  expect(withAge("soon", now)).toBe("soon");
  expect(withAge("2026-11-21T11:57:00.123Z", now)).toBe("2026-11-21T11:57:00Z (2 min ago)");
});

it.each([
  [40, "0.0 s"],
  [1_250, "1.3 s"],
  [59_600, "60 s"],
  [185_000, "3 min 5 s"],
])("tells a span of %i ms as %s", (ms, words) => {
  expect(describeSpan(ms)).toBe(words);
});
