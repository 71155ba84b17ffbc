import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createDisk, type Disk } from "./disk.ts";
import type { Call, Effect } from "./trace.ts";

let place = 0;

function call(effect: Effect): Call {
  place += 2;
  return { ...effect, begin: place - 1, end: place } as Call;
}

function run(disk: Disk, ...effects: Effect[]): void {
  for (const effect of effects) {
    const made = call(effect);
    disk.begin(made);
    disk.end(made);
  }
}

const newDisk = () => createDisk("/d", new Map(), () => false);
const create = (path: string): Effect => ({
  ...{ kind: "open", path, descriptor: 3 },
  ...{ creates: true, empties: false, appends: false },
});
const sync = (path: string): Effect => ({ kind: "sync", path });
const write = (path: string, text: string, at = 0): Effect => ({
  ...{ kind: "write", path, descriptor: 3, at },
  bytes: Buffer.from(text),
});

/** What is found at a path after 300 cuts of every kind, each once; `nothing` where the name is gone. */
function outcomes(disk: Disk, path: string, describeFile: (content: unknown) => string = String): Set<string> {
  const cuts = Array.from({ length: 300 }, (_, seed) => disk.cut(createSeededRandom(seed)).get(path));
  return new Set(cuts.map((content) => (content === undefined ? "nothing" : describeFile(content))));
}

describe("the model of a disk", () => {
  it("keeps what was synced, and of a write since then anything", () => {
    const disk = newDisk();
    run(disk, create("/d/a"), write("/d/a", "old"), sync("/d/a"), sync("/d"));
    expect(outcomes(disk, "/d/a")).toEqual(new Set(["old"]));
    run(disk, write("/d/a", "new"));
    expect(outcomes(disk, "/d/a")).toEqual(new Set(["old", "new"]));
  });

  it("tears a write at sectors, and keeps a later one without an earlier one", () => {
    const disk = newDisk();
    run(disk, create("/d/a"), write("/d/a", "-".repeat(2048)), sync("/d/a"), sync("/d"));
    run(disk, write("/d/a", "1".repeat(1024)), write("/d/a", "2".repeat(1024), 1024));
    const sectors = (content: unknown) => [0, 512, 1024, 1536].map((at) => String(content)[at]).join("");
    const found = outcomes(disk, "/d/a", sectors);
    for (const state of ["----", "1122", "1---", "--22", "-1--", "11-2"]) expect(found).toContain(state);
  });

  it("finds zeros or a shorter file where one had grown", () => {
    const disk = newDisk();
    run(disk, create("/d/a"), sync("/d/a"), sync("/d"), write("/d/a", "grown"));
    expect(outcomes(disk, "/d/a")).toEqual(new Set(["", "grown", "\0".repeat(5)]));
  });

  it("brings back what was cut off, until that is synced", () => {
    const disk = newDisk();
    run(disk, create("/d/a"), write("/d/a", "whole"), sync("/d/a"), sync("/d"));
    run(disk, { kind: "truncate", path: "/d/a", size: 0 });
    expect(outcomes(disk, "/d/a")).toEqual(new Set(["whole", ""]));
    run(disk, sync("/d/a"));
    expect(outcomes(disk, "/d/a")).toEqual(new Set([""]));
  });

  it("loses the name of a synced file whose folder was not, and with a folder all that is in it", () => {
    const disk = newDisk();
    run(
      disk,
      { kind: "folder", path: "/d/f" },
      create("/d/f/a"),
      write("/d/f/a", "text"),
      sync("/d/f/a"),
      sync("/d/f"),
    );
    expect(outcomes(disk, "/d/f/a")).toEqual(new Set(["nothing", "text"]));
    run(disk, sync("/d"));
    expect(outcomes(disk, "/d/f/a")).toEqual(new Set(["text"]));
  });

  it("renames in one step: the name stands for the old file or for the new one", () => {
    const disk = newDisk();
    run(disk, create("/d/a"), write("/d/a", "old"), sync("/d/a"), create("/d/b"), write("/d/b", "new"), sync("/d/b"));
    run(disk, sync("/d"), { kind: "rename", from: "/d/b", to: "/d/a" });
    expect(outcomes(disk, "/d/a")).toEqual(new Set(["old", "new"]));
    run(disk, sync("/d"));
    expect(outcomes(disk, "/d/a")).toEqual(new Set(["new"]));
    expect(outcomes(disk, "/d/b")).toEqual(new Set(["nothing"]));
  });

  it("syncs one file alone, what had been written before the sync began, and only when it has ended", () => {
    const disk = newDisk();
    run(disk, create("/d/a"), create("/d/b"), sync("/d"), sync("/d/a"), sync("/d/b"));
    run(disk, write("/d/b", "other"), write("/d/a", "1"));
    const syncing = call(sync("/d/a"));
    disk.begin(syncing);
    run(disk, write("/d/a", "2", 1));
    expect(outcomes(disk, "/d/a")).toContain("");
    disk.end(syncing);
    expect(outcomes(disk, "/d/a")).toEqual(new Set(["1", "12", "1\0"]));
    expect(outcomes(disk, "/d/b")).toContain("");
  });

  it("does the same for the same seed", () => {
    const disk = newDisk();
    run(
      disk,
      create("/d/a"),
      sync("/d"),
      ...Array.from({ length: 50 }, (_, at) => write("/d/a", "x".repeat(700), at * 700)),
    );
    const cut = () => String(disk.cut(createSeededRandom(4)).get("/d/a"));
    const first = cut();
    expect(cut() === first).toBe(true);
  });
});
