import { statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";

const memoryDisk = { path: "/dev/shm", type: 0x01021994 };
const enoughBytes = 4 * 1024 ** 3;

/**
 * Where tests and what they start write: in memory, if there is room, since a sync costs nothing there, and what is killed loses
 * no more than on a disk. With `TMPDIR` there. In memory nothing may be run on many machines.
 */
export const scratch = process.env.TMPDIR === undefined && hasRoom() ? memoryDisk.path : tmpdir();

function hasRoom(): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(memoryDisk.path);
    return type === memoryDisk.type && Math.min(bavail * bsize, freemem()) >= enoughBytes;
  } catch {
    return false;
  }
}
