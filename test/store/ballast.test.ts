import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { Ballast } from "../../src/store/sqlite/ballast.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const bytes = 2.5 * 1024 * 1024;

function setUp(size = bytes, name = "ballast") {
  const disk = { free: bytes * 10, now: 1_000_000 };
  const path = join(makeTempFolder(), name);
  const ballast = new Ballast({ path, bytes: size }, { freeBytes: () => disk.free, now: () => disk.now });
  return { disk, path, ballast };
}

it("the ballast is laid by when it is asked for, of the full size and of bytes that do not compress", () => {
  const { ballast, path } = setUp();
  expect([ballast.isSpent(), ballast.restore(), ballast.isSpent()]).toEqual([true, true, false]);
  expect(statSync(path)).toMatchObject({ size: bytes, mode: 0o100600 });
  expect(gzipSync(readFileSync(path)).length).toBeGreaterThan(bytes * 0.99);
});

it("the ballast is laid by again when there is room for it twice, looking once a second, also by a clock that was set back", () => {
  const { ballast, disk } = setUp();
  const restoresAfter = (ms: number, free = disk.free) => {
    Object.assign(disk, { now: disk.now + ms, free });
    return ballast.restore();
  };
  ballast.restore();
  ballast.spend();
  expect(restoresAfter(999)).toBe(false);
  expect(restoresAfter(1, bytes * 2 - 1)).toBe(false);
  expect(restoresAfter(999, bytes * 2)).toBe(false);
  expect([restoresAfter(1), ballast.isSpent()]).toEqual([true, false]);
  ballast.spend();
  expect(restoresAfter(-3_600_000)).toBe(true);
});

it("the ballast stays spent when its file cannot be written, and leaves no half of it", () => {
  const { ballast, path } = setUp(bytes, "missing/ballast");
  expect([ballast.restore(), ballast.isSpent(), existsSync(path)]).toEqual([false, true, false]);
});

it("the ballast of no size asks for no room, and only waits its second", () => {
  const { ballast, disk, path } = setUp(0);
  expect([ballast.isSpent(), ballast.spend(), ballast.isSpent()]).toEqual([false, true, true]);
  Object.assign(disk, { now: disk.now + 1000, free: 0 });
  expect([ballast.restore(), existsSync(path)]).toEqual([true, false]);
});
