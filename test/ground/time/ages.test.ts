import { expect, it } from "vitest";
import { relativeTime } from "../../../src/ground/time/ages.ts";

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

it.each([
  ["in 12 s", 12_000],
  ["in 1 min", 59_600],
  ["in 1 h", 59.6 * minute],
  ["in 1 h", hour + 20 * minute],
  ["in 2 h", hour + 59 * minute],
  ["in 2 d", 47.6 * hour],
  ["in 90 d", 90 * day - minute],
  ["just now", 4_000],
])("says %s of what comes: to the nearest", (words, inMs) => {
  expect(relativeTime(inMs, 0)).toBe(words);
});

it.each([
  ["59 min ago", 59.6 * minute],
  ["1 h ago", hour + 59 * minute],
  ["89 d ago", 90 * day - minute],
])("says %s of what has passed: in whole units", (words, agoMs) => {
  expect(relativeTime(0, agoMs)).toBe(words);
});
