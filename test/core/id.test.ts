import { expect, it } from "vitest";
import { createIdSource, idPattern } from "../../src/core/id.ts";

it("makes UUIDv7s that sort in the order they were made, also within a millisecond and when the clock goes back", () => {
  let now = 1_795_000_000_000;
  const newId = createIdSource(() => now);
  const ids: string[] = [];
  for (let index = 0; index < 10_000; index += 1) {
    if (index === 3_000) now += 5;
    if (index === 6_000) now -= 60_000;
    ids.push(newId());
  }
  expect(ids.every((id) => idPattern.test(id))).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
});

it("carries the time in its first 48 bits", () => {
  const id = createIdSource(() => 0x0123456789ab)();
  expect(id.startsWith("01234567-89ab-7")).toBe(true);
});
