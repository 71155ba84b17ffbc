import fs, { mkdirSync, readlinkSync, statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { makePrivateFolder } from "../../../src/ground/files/private-folder.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

/** The folders that are fsynced from now on, in their order. */
function watchFolderSyncs(): string[] {
  const synced: string[] = [];
  const real = fs.fsyncSync;
  const spy = vi.spyOn(fs, "fsyncSync").mockImplementation((descriptor) => {
    synced.push(readlinkSync(`/proc/self/fd/${descriptor}`));
    real(descriptor);
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return synced;
}

it("makes each missing folder for its owner alone, and puts the name of each on disk", () => {
  const top = makeTempFolder();
  const synced = watchFolderSyncs();
  makePrivateFolder(join(top, "state", "data"));
  expect(statSync(join(top, "state", "data")).mode & 0o777).toBe(0o700);
  expect(synced).toEqual([top, join(top, "state")]);
});

it("leaves a folder that is there as it is", () => {
  const path = join(makeTempFolder(), "data");
  mkdirSync(path, { mode: 0o755 });
  const synced = watchFolderSyncs();
  makePrivateFolder(path);
  expect(statSync(path).mode & 0o777).toBe(0o755);
  expect(synced).toEqual([]);
});
