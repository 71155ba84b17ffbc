import { statfsSync } from "node:fs";

/** Both as this user may use them. Throws where the folder does not exist. */
export function readRoom(folder: string): { freeBytes: number; diskBytes: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(folder);
  return { freeBytes: bavail * bsize, diskBytes: (blocks - (bfree - bavail)) * bsize };
}
