import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Ballast } from "../../src/store/sqlite/ballast.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const bytes = 2.5 * 1024 * 1024;

function setUp(size = bytes) {
  const disk = { free: bytes * 10, now: 1_000_000 };
  const path = join(makeTempFolder(), "ballast");
  const open = () => new Ballast({ path, bytes: size }, { freeBytes: () => disk.free, now: () => disk.now });
  return { disk, path, open, ballast: open() };
}

describe("the ballast", () => {
  it("is laid by when it is asked for, of the full size and of bytes that do not compress", () => {
    const { ballast, path } = setUp();
    expect(ballast.isSpent()).toBe(true);
    expect(ballast.restore()).toBe(true);
    expect(ballast.isSpent()).toBe(false);
    expect(statSync(path)).toMatchObject({ size: bytes, mode: 0o100600 });
    expect(gzipSync(readFileSync(path)).length).toBeGreaterThan(bytes * 0.99);
  });

  it("is laid by again when there is room for it twice, looking once a second", () => {
    const { ballast, disk } = setUp();
    ballast.restore();
    ballast.spend();
    disk.now += 999;
    expect(ballast.restore()).toBe(false);
    disk.now += 1;
    disk.free = bytes * 2 - 1;
    expect(ballast.restore()).toBe(false);
    disk.free = bytes * 2;
    disk.now += 999;
    expect(ballast.restore()).toBe(false);
    disk.now += 1;
    expect(ballast.restore()).toBe(true);
    expect(ballast.isSpent()).toBe(false);
  });

  it("is laid by again after the clock was set back", () => {
    const { ballast, disk } = setUp();
    ballast.restore();
    ballast.spend();
    disk.now -= 3_600_000;
    expect(ballast.restore()).toBe(true);
  });

  it("stays spent when its file cannot be written, and leaves no half of it", () => {
    const disk = { free: Number.MAX_SAFE_INTEGER, now: 0 };
    const path = join(makeTempFolder(), "missing", "ballast");
    const ballast = new Ballast({ path, bytes }, { freeBytes: () => disk.free, now: () => disk.now });
    expect(ballast.restore()).toBe(false);
    expect(ballast.isSpent()).toBe(true);
    expect(existsSync(path)).toBe(false);
  });

  it("of no size asks for no room, and only waits its second", () => {
    const { ballast, disk, path } = setUp(0);
    expect(ballast.isSpent()).toBe(false);
    expect(ballast.spend()).toBe(true);
    expect(ballast.isSpent()).toBe(true);
    disk.now += 1000;
    disk.free = 0;
    expect(ballast.restore()).toBe(true);
    expect(existsSync(path)).toBe(false);
  });
});
