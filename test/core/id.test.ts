import { expect, it } from "vitest";
import { createIdSource, firstIdAt, idPattern, lastIdAt } from "../../src/core/id.ts";

it("makes UUIDv7s that sort in the order they were made, also within a millisecond and when the clock goes back a little", () => {
  let now = 1_795_000_000_000;
  const newId = createIdSource(() => now);
  const ids: string[] = [];
  for (let index = 0; index < 10_000; index += 1) {
    if (index === 3_000) now += 5;
    if (index === 6_000) now -= 900;
    ids.push(newId());
  }
  expect(ids.every((id) => idPattern.test(id))).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
});

it("follows a clock that is set back further, so that no id claims a time that is far from it", () => {
  let now = 1_795_000_000_000;
  const newId = createIdSource(() => now);
  newId();
  now -= 3_600_000;
  const ids = Array.from({ length: 5_000 }, newId);
  expect(ids[0] && ids[0] >= firstIdAt(now) && ids[0] <= lastIdAt(now)).toBe(true);
  expect([...ids].sort()).toEqual(ids);
  now += 3_600_000;
  expect(newId() >= firstIdAt(now)).toBe(true);
});

it("knows the first and the last id of a millisecond", () => {
  const ms = 1_795_000_000_000;
  const ids = Array.from(
    { length: 4_096 },
    createIdSource(() => ms),
  );
  expect(ids.every((id) => id >= firstIdAt(ms) && id <= lastIdAt(ms))).toBe(true);
  expect(lastIdAt(ms - 1) < firstIdAt(ms)).toBe(true);
  expect(firstIdAt(-5)).toBe(firstIdAt(0));
  expect(lastIdAt(8.64e15)).toBe("ffffffff-ffff-7fff-bfff-ffffffffffff");
});

it("carries the time in its first 48 bits", () => {
  const id = createIdSource(() => 0x0123456789ab)();
  expect(id.startsWith("01234567-89ab-7")).toBe(true);
});
