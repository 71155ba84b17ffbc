import { expect, it } from "vitest";
import { makeTempFolder } from "../support/temp-folder.ts";
import { findDiskMaker, limitFiles } from "./small-disk.ts";
import { startProcess } from "./store-process.ts";

const makeDisk = findDiskMaker();

async function liveThrough(way: "fill" | "limit"): Promise<[string, unknown][]> {
  const folder = makeTempFolder();
  const wrap = way === "fill" && makeDisk ? makeDisk(folder, "10m") : limitFiles(3.5 * 1024);
  const process = startProcess(new URL("./live-through-full-disk.ts", import.meta.url), [folder, way], wrap);
  return (await process.linesUntilEnd()).map((line) => JSON.parse(line));
}

/** Whether it is refused once more hangs on how long the rest took: there is a look for room each second. */
const onlyRefusals = expect.toSatisfy((others: string[]) => others.every((other) => other === "store_unavailable"));

/** The search index stands still meanwhile: 0. */
const through = (count: number) => ({ sent: count, ended: count, indexed: 0, isRecorded: true });

it.skipIf(makeDisk === undefined)(
  "a full disk: the relay refuses new alerts, goes on delivering, is read, takes alerts again by itself, and can be started on",
  async () => {
    expect(await liveThrough("fill")).toEqual([
      ["refused", "store_unavailable"],
      ["delivered", through(60)],
      ["looked", { full: true, writable: true, listed: 5 }],
      ["resumed", onlyRefusals],
      ["looked", { full: false, writable: true, listed: 5 }],
      ["kept", true],
      ["opened", false],
      ["refused", "store_unavailable"],
      ["delivered", through(10)],
      ["resumed", onlyRefusals],
    ]);
  },
);

// Where nobody may mount, and everywhere else too: it fails in another way, with EFBIG for a file instead of ENOSPC.
// The disk itself has room, so the ballast is laid by again after a second, and alerts are taken again.
it("a full disk behaves so when files may not grow", async () => {
  expect(await liveThrough("limit")).toMatchObject([
    ["refused", "store_unavailable"],
    ["delivered", { sent: 60, ended: 60, isRecorded: true }],
    ["looked", { writable: true, listed: 5 }],
    ["resumed", onlyRefusals],
    ["looked", { full: false, writable: true, listed: 5 }],
    ["kept", true],
  ]);
});
