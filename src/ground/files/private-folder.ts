import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isWithoutFolderSync } from "./replace-file.ts";

/**
 * Makes a folder that only its owner can enter (mode 0700), with missing parents. An existing folder stays unchanged.
 * The name of each new folder is synced, or a power cut could remove it.
 *
 * `mkdir` with `recursive` is not used. In an existing folder that refuses new names with ENOENT, such as /proc, Node
 * 20 to 24 tries for ever and answers no signal.
 * @throws the error of the first call that was refused, with its `code`
 */
export function makePrivateFolder(path: string): void {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) makePrivateFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
    syncNames(parent);
  } catch (error) {
    // Another process may have made the folder meanwhile.
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
