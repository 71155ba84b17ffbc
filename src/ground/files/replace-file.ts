import { randomUUID } from "node:crypto";
import { chownSync, statSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Writes a file that gets its name only when it is complete and on disk. Until then, and after a crash or a power cut, readers
 * find the old file. Readable by its owner only.
 *
 * The file is written under another name, fsynced and renamed. Then the folder is fsynced: without that a power cut may lose
 * the new name. Every call throws the file system's own error, with its `code`.
 * @param draft the name until the file is complete, in the same folder. A file of that name, as a crash leaves it, is
 *   overwritten
 */
export async function openReplacement(path: string, draft: string) {
  const file = await open(draft, "w", 0o600);
  let bytes = 0;
  let isOpen = true;
  let committed = false;
  const close = async () => {
    if (isOpen) await file.close();
    isOpen = false;
  };
  return {
    async write(text: string): Promise<void> {
      await file.writeFile(text);
      bytes += Buffer.byteLength(text);
    },
    /** Puts the file on disk under its name. Returns its size in bytes. */
    async commit(): Promise<number> {
      await file.sync();
      await close();
      await rename(draft, path);
      committed = true;
      await syncFolder(dirname(path));
      return bytes;
    },
    /** Removes a draft that was not committed. Does nothing after `commit`. */
    async discard(): Promise<void> {
      await close();
      if (!committed) await rm(draft, { force: true });
    },
  };
}

/** Writes `text` to the file at `path`, whether or not it exists. Two concurrent writers each need a `draft` of their own. */
export async function replaceFile(path: string, text: string, draft = `${path}.new`): Promise<void> {
  const file = await openReplacement(path, draft);
  try {
    await file.write(text);
    giveToOwner(draft);
    await file.commit();
  } finally {
    await file.discard();
  }
}

/**
 * Makes the file at `path` with `text`. False, and nothing is changed, if it exists. If several make it at once, the first
 * wins.
 */
export async function createFile(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}.new`;
  const file = await open(draft, "wx", 0o600);
  try {
    try {
      await file.writeFile(text);
      giveToOwner(draft);
      await file.sync();
    } finally {
      await file.close();
    }
    // Fails where the name is taken, unlike `rename`.
    await link(draft, path);
    await syncFolder(dirname(path));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Gives a file that root has made to the owner of the folder, since a service must be able to open a command's files. */
export function giveToOwner(path: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  if (statSync(path).uid === uid) return;
  try {
    chownSync(path, uid, gid);
  } catch (error) {
    // The root of a container may lack the right to change the owner.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

/** Gives a synced file (`syncFile`) its final name. Replaces a file of that name. */
export async function renameFile(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
}

async function syncFolder(path: string): Promise<void> {
  try {
    await syncFile(path);
  } catch (error) {
    if (!isWithoutFolderSync(error)) throw error;
  }
}

/**
 * Whether a folder cannot be synced: some file systems do not support it, and a folder may be writable without being readable.
 * The new name is valid anyway.
 */
export function isWithoutFolderSync(error: unknown): boolean {
  return ["EINVAL", "ENOTSUP", "EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "");
}

/** Syncs the content of a file, or the names in a folder. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
