import { randomUUID } from "node:crypto";
import { chownSync, statSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * A file that has its name only when it is complete and on disk; until then readers find what was there before, and so
 * they do after a crash or a power cut. Readable by its owner only.
 *
 * Written under another name, fsynced, renamed, and the folder fsynced: without the last the new name may be lost with the power.
 * Every call throws the file system's own error, with its `code`.
 * @param draft the name until it is complete, in the same folder; a file of that name, as a crash leaves it, is overwritten
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
    /** Puts it on disk under its name. Its size in bytes. */
    async commit(): Promise<number> {
      await file.sync();
      await close();
      await rename(draft, path);
      committed = true;
      await syncFolder(dirname(path));
      return bytes;
    },
    /** Removes what was not committed. Does nothing afterwards. */
    async discard(): Promise<void> {
      await close();
      if (!committed) await rm(draft, { force: true });
    },
  };
}

/**
 * Puts `text` into the file at `path`, whether there is one or not. Two that write at once each need a `draft` of
 * their own.
 */
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
 * Makes the file at `path` with `text`; false, and nothing is changed, where there is one. When several make it at once, the
 * first wins.
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
    // Unlike `rename`, it fails where the name is taken.
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

/** What root makes in the folder of another user is that user's: a service must be able to open what a command has left there. */
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

/** Gives a file whose content is on disk (`syncFile`) its name for good; replaces one that has it. */
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
 * Some file systems know no sync of a folder, and a folder may be writable without being readable: the name stands
 * either way.
 */
export function isWithoutFolderSync(error: unknown): boolean {
  return ["EINVAL", "ENOTSUP", "EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "");
}

/** Puts on disk what was written to a file, or which names a folder has. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
