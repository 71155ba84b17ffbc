import { describe, expect, it } from "vitest";
import { type DiskSight, openDiskWatch } from "../../src/watch/disk.ts";
import { findDiskMaker } from "../store/small-disk.ts";
import { startProcess } from "../store/store-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { tellWatches, type WatchStep, writeView } from "./tell-watch.ts";
import { minute, second, startWatchWorld } from "./watch-world.ts";

const mb = 1024 ** 2;
const gb = 1024 * mb;

type Disk = Awaited<ReturnType<typeof start>>;
type Step = WatchStep<Disk>;

async function start({ diskBytes = 20 * gb, isServers = false } = {}) {
  let sight: DiskSight = { full: false, freeBytes: diskBytes / 2, diskBytes };
  let refused = 0;
  const world = await startWatchWorld((deps) =>
    openDiskWatch(isServers ? { databaseUrl: "postgres://db", spool: {} } : {}, {
      ...deps,
      lookAtDisk: async () => sight,
      countStoreRefused: () => refused,
      isShared: false,
    }),
  );
  const { restart } = world;
  return Object.assign(world, {
    /** @param freeBytes undefined: the database is on another machine */
    async leave(freeBytes: number | undefined, full: boolean, forMs: number) {
      sight = freeBytes === undefined ? { full } : { full, freeBytes, diskBytes };
      await world.clock.advance(forMs);
    },
    refuse(count: number) {
      refused += count;
    },
    /** The next process counts from 0. */
    async restart() {
      refused = 0;
      await restart();
    },
  });
}

/** So much is free, and so much time passes. */
const leaves =
  (freeBytes: number | undefined, forMs = 2 * minute): Step =>
  (disk) =>
    disk.leave(freeBytes, false, forMs);
const isFull =
  (forMs = 2 * minute, freeBytes = 0): Step =>
  (disk) =>
    disk.leave(freeBytes, true, forMs);
/** So many requests are answered 503. */
const refuses =
  (count: number): Step =>
  (disk) =>
    disk.refuse(count);
const takesNotices =
  (refusal?: Error): Step =>
  (disk) => {
    disk.refusal = refusal;
  };

describe("a disk that gets full", () => {
  tellWatches<Disk, Parameters<typeof start>[0]>(start, ({ watch }, at) => writeView(watch.view(), at))([
    [
      "is told at a tenth, at the last 50 MB and when alerts are refused, once each, and when it is over, with how many",
      [
        ...[leaves(1.5 * gb, 20 * second), 60 * minute, leaves(40 * mb), refuses(3), isFull(20 * second)],
        ...[refuses(309), 4 * minute, "restart" as const, refuses(1), 10 * minute],
        // Room that comes and goes is no end.
        ...Array.from({ length: 5 }, () => [leaves(10 * gb, 30 * second), isFull(30 * second)]).flat(),
        ...[leaves(10 * gb), "restart" as const, 60 * minute],
      ],
    ],
    [
      "has one end where the room that came is short, and is told anew when it goes again, not for a little above a tenth",
      [isFull(), ...[100 * mb, 10 * gb, 1.5 * gb, 2.1 * gb, 3 * gb].map((freeBytes) => leaves(freeBytes))],
    ],
    [
      "that takes no notice either is told of when it does, in one notice",
      [takesNotices(new Error("full")), refuses(7), isFull(10 * minute, 10 * gb), takesNotices(), leaves(10 * gb)],
    ],
    [
      "is the spool's and then the server's beside a database server, in words of their own",
      [leaves(gb), isFull(2 * minute, gb)],
      { isServers: true },
    ],
    [
      "is no matter where much is left, or nobody can say",
      [leaves(20 * gb, 60 * minute), leaves(undefined)],
      { diskBytes: 2000 * gb },
    ],
  ]);

  const makeDisk = findDiskMaker();
  it.skipIf(makeDisk === undefined)("is told by notices that the full disk itself keeps", async () => {
    const folder = makeTempFolder();
    const script = new URL("./tell-through-full-disk.ts", import.meta.url);
    const lines = await startProcess(script, [folder], makeDisk?.(folder, "60m")).linesUntilEnd();
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      ["critical firing: The disk of Tocsin is nearly full: N are free", "sent"],
      ["critical firing: The disk of Tocsin is full", "sent"],
      ["info resolved: Alerts are accepted again: the disk of Tocsin was full for N", "sent"],
    ]);
  });
});
