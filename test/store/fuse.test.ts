import { expect, it } from "vitest";
import { RunAgain } from "../../src/store/sqlite/transactions/context.ts";
import { createFuse } from "../../src/store/sqlite/transactions/fuse.ts";

const minute = 60_000;
const noon = Date.UTC(2026, 10, 21, 12);

function fail(code: string): never {
  throw Object.assign(new Error("it failed"), { code });
}

it("leaves a part out for a minute after it has failed, and no longer when the clock is set back", () => {
  const fuse = createFuse();
  expect(fuse.guard(noon, () => 17)).toBe(17);
  expect(fuse.blown(noon)).toBeUndefined();
  expect(() => fuse.guard(noon, () => fail("SQLITE_CORRUPT"))).toThrow(RunAgain);
  expect(fuse.blown(noon)).toBe("it failed");
  expect(fuse.blown(noon + minute - 1)).toBe("it failed");
  expect(fuse.blown(noon + minute)).toBeUndefined();
  expect(fuse.blown(noon - minute)).toBeUndefined();
});

it("takes a full disk for no failure of the part", () => {
  const fuse = createFuse();
  expect(() => fuse.guard(noon, () => fail("SQLITE_FULL"))).toThrow(
    expect.objectContaining({ code: "SQLITE_FULL" }),
  );
  expect(fuse.blown(noon)).toBeUndefined();
});
