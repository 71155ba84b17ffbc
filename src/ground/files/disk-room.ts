import { statfsSync } from "node:fs";

/** The free room for this user on a folder's disk, and the disk's size for this user. Throws where the folder does not exist. */
export function readRoom(folder: string): { freeBytes: number; diskBytes: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(folder);
  return { freeBytes: bavail * bsize, diskBytes: (blocks - (bfree - bavail)) * bsize };
}
