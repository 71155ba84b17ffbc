import fc from "fast-check";
import { expect, test } from "vitest";
import { compileHours } from "../../src/core/hours.ts";
import type { QuietHours } from "../../src/core/rules.ts";

const zurich = "Europe/Zurich";
const night: QuietHours = { from: "22:00", to: "07:00", except: ["critical"] };

test.each<[string, Partial<QuietHours>, string, string, string | undefined]>([
  // what, quiet hours, zone, instant, end of the window
  ["the first minute", {}, "UTC", "2026-11-21T22:00:00Z", "2026-11-22T07:00:00.000Z"],
  ["the minute before", {}, "UTC", "2026-11-21T21:59:59.999Z", undefined],
  ["after midnight", {}, "UTC", "2026-11-22T03:00:00Z", "2026-11-22T07:00:00.000Z"],
  ["the last millisecond", {}, "UTC", "2026-11-22T06:59:59.999Z", "2026-11-22T07:00:00.000Z"],
  ["the end itself", {}, "UTC", "2026-11-22T07:00:00Z", undefined],
  ["over new year", {}, "UTC", "2027-01-01T01:00:00Z", "2027-01-01T07:00:00.000Z"],
  ["within a day", { from: "12:00", to: "14:00" }, "UTC", "2026-11-21T13:00:00Z", "2026-11-21T14:00:00.000Z"],
  ["outside within a day", { from: "12:00", to: "14:00" }, "UTC", "2026-11-21T14:00:00Z", undefined],
  // Saturday night is quiet, Sunday night is not; the window belongs to the day it begins on.
  ["the night of a listed day", { days: [6] }, "UTC", "2026-11-22T05:00:00Z", "2026-11-22T07:00:00.000Z"],
  ["the night after it", { days: [6] }, "UTC", "2026-11-22T23:00:00Z", undefined],
  ["a zone east of UTC", {}, "Asia/Tokyo", "2026-11-21T13:00:00Z", "2026-11-21T22:00:00.000Z"],
  ["a zone west of UTC", {}, "America/Los_Angeles", "2026-11-21T07:00:00Z", "2026-11-21T15:00:00.000Z"],
  // Spring, 29 March 2026: the night is an hour shorter.
  ["before the jump", {}, "Europe/Zurich", "2026-03-28T21:30:00Z", "2026-03-29T05:00:00.000Z"],
  ["after the jump", {}, "Europe/Zurich", "2026-03-29T04:59:00Z", "2026-03-29T05:00:00.000Z"],
  ["awake after the jump", {}, "Europe/Zurich", "2026-03-29T05:00:00Z", undefined],
  // Autumn, 25 October 2026: an hour longer.
  ["in the repeated hour", {}, "Europe/Zurich", "2026-10-25T01:30:00Z", "2026-10-25T06:00:00.000Z"],
  // 02:30 does not exist on 29 March: the window ends when the clocks jump.
  [
    "an end that is jumped over",
    { from: "01:00", to: "02:30" },
    zurich,
    "2026-03-29T00:30:00Z",
    "2026-03-29T01:00:00.000Z",
  ],
  [
    "a start that is jumped over",
    { from: "02:30", to: "04:00" },
    zurich,
    "2026-03-29T01:00:00Z",
    "2026-03-29T02:00:00.000Z",
  ],
  // 02:30 comes twice on 25 October: the first ends the window.
  ["a repeated end", { from: "01:00", to: "02:30" }, "Europe/Zurich", "2026-10-25T00:30:00Z", undefined],
])("%s", (_what, over, zone, at, endsAt) => {
  const found = compileHours({ ...night, ...over }, zone)(Date.parse(at));
  expect(found === undefined ? undefined : new Date(found.endsAt).toISOString()).toBe(endsAt);
});

test("what it remembers of a day changes no answer", () => {
  const zones = ["Europe/Zurich", "America/Havana", "Africa/Cairo", "Australia/Lord_Howe", "America/Asuncion"];
  const hour = fc.integer({ min: 0, max: 23 }).map((value) => `${String(value).padStart(2, "0")}:30`);
  // Around the nights on which clocks change, half an hour at a time.
  const instant = fc
    .tuple(fc.constantFrom("2024-03-24", "2024-03-31", "2024-10-06", "2026-03-29", "2026-10-25"), fc.nat(400))
    .map(([day, halfHours]) => Date.parse(`${day}T00:00:00Z`) - 86_400_000 + halfHours * 1_800_000);
  const some = fc.array(instant, { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(fc.constantFrom(...zones), hour, hour, some, (zone, from, to, instants) => {
      const quietHours = { from, to, except: [] };
      const find = compileHours(quietHours, zone);
      for (const at of instants) expect(find(at)).toEqual(compileHours(quietHours, zone)(at));
    }),
    { numRuns: 60 },
  );
});
