import { expect, it } from "vitest";
import { createReadingTime } from "../../../src/intake/thread/reading-time.ts";

const limitMs = 1_000;

/** Looks at a body every 250 ms for as long as it may go on; each look finds what has been done since the last. */
function watch({ limitOf = () => limitMs }: { limitOf?: (place: number) => number } = {}) {
  const at = { now: 5_000, cpuMs: 70_000 };
  const isOver = createReadingTime({ lookEveryMs: 250, limitOf, start: at });
  return (passedMs: number, cpuMs: number, place = 1) => {
    at.now += passedMs;
    at.cpuMs += cpuMs;
    return isOver({ place, ...at });
  };
}

/** Looks until it is over, which a look at a body for the first time never is. */
function countLooks(look: () => boolean): number {
  for (let looks = 0; looks < 10_000; looks += 1) if (look()) return looks;
  throw new Error("never over");
}

it("ends a body that works on for the limit", () => {
  const look = watch();
  expect(countLooks(() => look(250, 250))).toBe(4);
});

it("gives a body as long as its place may take, and each one its own time", () => {
  const look = watch({ limitOf: (place) => (place === 2 ? 2_000 : 1_000) });
  for (const place of [1, 1, 1, 1, 2]) expect(look(250, 250, place)).toBe(false);
  expect(countLooks(() => look(250, 250, 2))).toBe(7);
});

it("does not hold against a body that the process was stopped, or the machine asleep", () => {
  const look = watch();
  look(250, 250);
  for (const pauseMs of [10_000, 3_600_000, 10_000]) expect(look(pauseMs, 2)).toBe(false);
  expect(look(250, 250)).toBe(false);
});

it("does not hold against a body that others used the processors", () => {
  const look = watch();
  for (let looks = 0; looks < 90; looks += 1) expect(look(250, 10)).toBe(false);
  expect(countLooks(() => look(250, 250))).toBeLessThan(4);
});

it("counts no look for more than two, however late it comes and whatever worked meanwhile", () => {
  const look = watch();
  look(250, 250);
  expect(look(60_000, 60_000)).toBe(false);
  expect(look(250, 250)).toBe(false);
  expect(look(250, 250)).toBe(true);
});

it("ends a body that waits for what never comes", () => {
  const look = watch();
  expect(countLooks(() => look(250, 0))).toBe(120);
});
