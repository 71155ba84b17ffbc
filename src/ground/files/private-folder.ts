import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isWithoutFolderSync } from "./replace-file.ts";

/**
 * Makes a folder that only its owner can enter (mode 0700), and those above it that are missing. One that is there
 * stays as it is. The name of each that is made is on disk: else a power cut could take it with all that was synced in
 * it.
 *
 * Not `mkdir` with `recursive`: where a folder that is there refuses new names with ENOENT, as /proc does, Node 20 to
 * 24 try again for ever and answer no signal.
 *
 * @throws the error of the first call that was refused, with its `code`.
 */
export function makePrivateFolder(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makePrivateFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
    syncNames(parent);
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !isFolder(path)) throw error;
  }
}

function syncNames(folder: string): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(folder, "r");
    fsyncSync(descriptor);
  } catch (error) {
    if (!isWithoutFolderSync(error)) throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
