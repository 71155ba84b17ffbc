import { randomUUID } from "node:crypto";
import { chownSync, statSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Writes a file that gets its name only when it is complete and on disk. Until then, and after a crash, readers find
 * the old file. Only its owner can read it.
 *
 * The draft is fsynced and renamed, then the folder is fsynced: without that a power cut may lose the new name. Each
 * call throws the file system's error, with its `code`.
 * @param draft the name until then, in the same folder. A file of that name, as a crash leaves it, is overwritten
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
    /** Returns the size in bytes. */
    async commit(): Promise<number> {
      await file.sync();
      await close();
      await rename(draft, path);
      committed = true;
      await syncFolder(dirname(path));
      return bytes;
    },
    /** Does nothing after `commit`. */
    async discard(): Promise<void> {
      await close();
      if (!committed) await rm(draft, { force: true });
    },
  };
}

/** Replaces a file at `path`, if there is one. Two writers at once each need a `draft` of their own. */
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

/** False, without any change, if the file exists. When several callers make it at once, the first wins. */
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
    // Unlike `rename`, this fails where the name is taken.
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

/** Gives a file of root to the owner of the folder: a service must be able to open files that a command made. */
export function giveToOwner(path: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  if (statSync(path).uid === uid) return;
  try {
    chownSync(path, uid, gid);
  } catch (error) {
    // The root of a container may not be allowed to change the owner.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

/** Gives a synced file (`syncFile`) its final name, in place of any other file. */
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

/** Some file systems cannot sync a folder, and a writable one may be unreadable. The new name is valid anyway. */
export function isWithoutFolderSync(error: unknown): boolean {
  return ["EINVAL", "ENOTSUP", "EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "");
}

export async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
