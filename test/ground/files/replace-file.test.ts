import { chownSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createFile, openReplacement, renameFile, replaceFile } from "../../../src/ground/files/replace-file.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

/** What is fsynced while `act` runs: which path, and whether the file at `watched` holds the new text by then. */
async function watchSyncs(watched: string, text: string, act: () => Promise<unknown>) {
  const syncs: { path: string; isNamed: boolean }[] = [];
  const handle = await open(makeTempFolder(), "r");
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const real = prototype.sync;
  const spy = vi.spyOn(prototype, "sync").mockImplementation(async function (this: FileHandle) {
    const path = readlinkSync(`/proc/self/fd/${this.fd}`);
    syncs.push({ path, isNamed: readOrNothing(watched) === text });
    return real.call(this);
  });
  try {
    await act();
  } finally {
    spy.mockRestore();
  }
  return syncs;
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

const ways: [string, (path: string) => Promise<unknown>][] = [
  ["replaceFile", (path) => replaceFile(path, "new")],
  ["createFile", (path) => createFile(path, "new")],
  [
    "openReplacement",
    async (path) => {
      const file = await openReplacement(path, `${path}.partial`);
      await file.write("ne");
      await file.write("w");
      expect(await file.commit()).toBe(3);
    },
  ],
];

test.skipIf(process.platform !== "linux").each(ways)(
  "%s syncs the content before it has its name, and the folder after it",
  async (_, write) => {
    const folder = makeTempFolder();
    const path = join(folder, "state");
    const [content, names, ...more] = await watchSyncs(path, "new", () => write(path));
    expect(content?.path.startsWith(`${path}.`)).toBe(true);
    expect(content?.isNamed).toBe(false);
    expect(names).toEqual({ path: folder, isNamed: true });
    expect(more).toEqual([]);
    expect(readdirSync(folder)).toEqual(["state"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  },
);

test.skipIf(process.platform !== "linux")("renameFile syncs the folder", async () => {
  const folder = makeTempFolder();
  const path = join(folder, "copy");
  writeFileSync(`${path}.partial`, "new");
  const syncs = await watchSyncs(path, "new", () => renameFile(`${path}.partial`, path));
  expect(syncs).toEqual([{ path: folder, isNamed: true }]);
});

describe("a write that fails", () => {
  test("leaves what was there, and nothing beside it", async () => {
    const folder = makeTempFolder();
    await mkdir(join(folder, "state"));
    await expect(replaceFile(join(folder, "state"), "new")).rejects.toMatchObject({ code: "EISDIR" });
    expect(readdirSync(folder)).toEqual(["state"]);
  });

  test("that is discarded leaves the old text", async () => {
    const path = join(makeTempFolder(), "state");
    writeFileSync(path, "old");
    const file = await openReplacement(path, `${path}.partial`);
    await file.write("new");
    await file.discard();
    await file.discard();
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(readOrNothing(`${path}.partial`)).toBeUndefined();
  });

  test("overwrites what a crash left beside", async () => {
    const path = join(makeTempFolder(), "state");
    writeFileSync(`${path}.new`, "a longer text that was never finished");
    await replaceFile(path, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
  });
});

test("createFile leaves a file that is there, and of several at once one wins", async () => {
  const folder = makeTempFolder();
  const path = join(folder, "secret");
  const made = await Promise.all(["a", "b", "c"].map((text) => createFile(path, text)));
  expect(made.filter(Boolean)).toHaveLength(1);
  const text = readFileSync(path, "utf8");
  expect(await createFile(path, "d")).toBe(false);
  expect(readFileSync(path, "utf8")).toBe(text);
  expect(readdirSync(folder)).toEqual(["secret"]);
});

test("writes into a folder that may be entered but not read", async () => {
  const folder = join(makeTempFolder(), "drop");
  await mkdir(folder, { mode: 0o300 });
  await withoutRoot([dirname(folder), folder], async () => {
    expect(() => readdirSync(folder)).toThrow("EACCES");
    await replaceFile(join(folder, "state"), "new");
    expect(readFileSync(join(folder, "state"), "utf8")).toBe("new");
  });
});

test.skipIf(process.geteuid?.() !== 0).each([
  ["replaceFile", replaceFile],
  ["createFile", createFile],
])("%s as root leaves a file that the folder's owner may read", async (_, write) => {
  const folder = makeTempFolder();
  chownSync(folder, 12_345, 12_346);
  const path = join(folder, "secrets");
  await write(path, "new");
  expect(statSync(path)).toMatchObject({ uid: 12_345, gid: 12_346 });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

/** Root may read every folder: until `act` ends this process is somebody else, who owns `folders`. */
async function withoutRoot(folders: string[], act: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return act();
  const nobody = 65534;
  for (const folder of folders) chownSync(folder, nobody, nobody);
  process.seteuid?.(nobody);
  try {
    await act();
  } finally {
    process.seteuid?.(0);
  }
}
