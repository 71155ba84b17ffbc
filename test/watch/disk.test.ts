import { expect, it } from "vitest";
import { type DiskSight, openDiskWatch } from "../../src/watch/disk.ts";
import { findDiskMaker } from "../store/small-disk.ts";
import { startProcess } from "../store/store-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { minute, second, startWatchWorld } from "./watch-world.ts";

const mb = 1024 ** 2;
const gb = 1024 * mb;

async function start(diskBytes = 20 * gb, whose: "own" | "server" = "own") {
  let sight: DiskSight = { full: false, freeBytes: diskBytes / 2, diskBytes };
  let refused = 0;
  const world = await startWatchWorld((deps) =>
    openDiskWatch(whose === "own" ? {} : { databaseUrl: "postgres://db", spool: {} }, {
      ...deps,
      lookAtDisk: async () => sight,
      countStoreRefused: () => refused,
      isShared: false,
    }),
  );
  return {
    world,
    notices: world.told,
    told: world.lines,
    view: () => world.watch.view(),
    async leave(freeBytes: number, full = false, forMs = 2 * minute) {
      sight = { full, freeBytes, diskBytes };
      await world.clock.advance(forMs);
    },
    refuse(count: number) {
      refused += count;
    },
    /** The next process counts from 0. */
    async restart() {
      refused = 0;
      await world.restart();
    },
  };
}

const low = "warning firing: The disk of Tocsin is nearly full: 1.5 GiB of 20.0 GiB are free";
const scarce = "critical firing: The disk of Tocsin is nearly full: 40.0 MiB of 20.0 GiB are free";
const full = "critical firing: The disk of Tocsin is full";

it("a disk that gets full is told at a tenth, at the last 50 MB and when alerts are refused, once each, and when it is over, with how many", async () => {
  const world = await start();
  expect(world.view()).toMatchObject({ verdict: "well", summary: "10.0 GiB of 20.0 GiB are free" });
  await world.leave(1.5 * gb, false, 20 * second);
  expect(world.told()).toEqual([low]);
  expect(world.view()).toMatchObject({ verdict: "trouble", level: "warn" });
  await world.leave(1.5 * gb, false, 60 * minute);
  await world.leave(40 * mb);
  expect(world.told()).toEqual([low, scarce]);
  world.refuse(3);
  await world.leave(0, true, 20 * second);
  expect(world.told()).toEqual([low, scarce, full]);
  expect(world.notices[2]?.text).toMatch(/^New alerts are refused with 503 since .* UTC; senders that repeat/);
  world.refuse(309);
  await world.leave(0, true, 4 * minute);
  await world.restart();
  world.refuse(1);
  await world.leave(0, true, 10 * minute);
  // Room that comes and goes is no end.
  for (let round = 0; round < 5; round += 1) {
    await world.leave(10 * gb, false, 30 * second);
    await world.leave(0, true, 30 * second);
  }
  expect(world.told()).toHaveLength(3);
  await world.leave(10 * gb);
  const [over, ...more] = world.told().slice(3);
  expect(more).toEqual([]);
  expect(over).toMatch(/^info resolved: Alerts are accepted again: the disk of Tocsin was full for (19|20) min$/);
  expect(world.notices[3]?.text).toContain("313 requests were refused meanwhile.");
  expect(world.view()).toMatchObject({ verdict: "well" });
  await world.restart();
  await world.leave(10 * gb, false, 60 * minute);
  expect(world.told()).toHaveLength(4);
});

it("a disk that gets full has one end where the room that came is short, and is told anew when it goes again", async () => {
  const world = await start();
  await world.leave(0, true);
  await world.leave(100 * mb);
  expect(world.told().at(-1)).toContain("Alerts are accepted again");
  expect(world.notices.at(-1)?.text).toContain("Only 100.0 MiB of 20.0 GiB are free: free more.");
  expect(world.notices.at(-1)?.text).toContain("No request of a sender was refused meanwhile.");
  await world.leave(10 * gb);
  expect(world.told()).toHaveLength(2);
  await world.leave(1.5 * gb);
  await world.leave(2.1 * gb);
  // A little above a tenth is not over.
  expect(world.told().slice(2)).toEqual([low]);
  await world.leave(3 * gb);
  expect(world.told().at(-1)).toBe("info resolved: The disk of Tocsin has room again: 3.0 GiB of 20.0 GiB are free");
  expect(world.told()).toHaveLength(4);
});

it("a disk that gets full that takes no notice either is told of when it does, in one notice", async () => {
  const { world: disk, ...world } = await start();
  disk.refusal = new Error("full");
  world.refuse(7);
  await world.leave(10 * gb, true, 10 * minute);
  disk.refusal = undefined;
  await world.leave(10 * gb);
  expect(world.told()).toEqual([expect.stringContaining("was full for 10 min")]);
  expect(world.notices[0]?.text).toContain("7 requests were refused meanwhile.");
});

it("a disk that gets full is the spool's and then the server's beside a database server, in words of their own", async () => {
  const { leave, notices } = await start(20 * gb, "server");
  await leave(gb);
  await leave(gb, true);
  expect(notices.map(({ title, text }) => `${title}. ${text}`)).toEqual([
    "The disk of the spool is nearly full: 1.0 GiB of 20.0 GiB are free. When it is full, alerts that come while the database is away are refused. Free space or enlarge the volume.",
    expect.stringMatching(/^The disk of the database server is full\. New alerts wait in the spool since /),
  ]);
});

it("a disk that gets full is no matter where much is left, or nobody can say", async () => {
  const world = await start(2000 * gb);
  await world.leave(20 * gb, false, 60 * minute);
  expect(world.told()).toEqual([]);
  await world.leave(Number.NaN);
  expect(world.view().verdict).toBe("well");
});

const makeDisk = findDiskMaker();
it.skipIf(makeDisk === undefined)(
  "a disk that gets full is told by notices that the full disk itself keeps",
  async () => {
    const folder = makeTempFolder();
    const script = new URL("./tell-through-full-disk.ts", import.meta.url);
    const lines = await startProcess(script, [folder], makeDisk?.(folder, "60m")).linesUntilEnd();
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      ["critical firing: The disk of Tocsin is nearly full: N are free", "sent"],
      ["critical firing: The disk of Tocsin is full", "sent"],
      ["info resolved: Alerts are accepted again: the disk of Tocsin was full for N", "sent"],
    ]);
  },
);
