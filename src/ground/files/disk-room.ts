import { statfsSync } from "node:fs";

/** What is free for this user on the disk of a folder, and its size as this user sees it. Throws where there is no such folder. */
export function readRoom(folder: string): { freeBytes: number; diskBytes: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(folder);
  return { freeBytes: bavail * bsize, diskBytes: (blocks - (bfree - bavail)) * bsize };
}
