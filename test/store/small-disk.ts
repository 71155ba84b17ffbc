import { spawnSync } from "node:child_process";

/**
 * Puts a command into a world of its own, where the folder lies on a disk of this size; the disk goes with the
 * process.
 */
export type Wrap = (command: string[]) => string[];

/** Of util-linux. */
const unshare = "unshare";
const mountAndRun = 'mount -t tmpfs -o size="$1" tmpfs "$2" && shift 2 && exec "$@"';

/** As root with a mount namespace, as anybody with a user namespace too, where the system grants them. */
export function findDiskMaker(): ((folder: string, size: string) => Wrap) | undefined {
  const flags = ["-m", "-Urm"].find(
    (flag) =>
      spawnSync(unshare, [flag, "sh", "-c", mountAndRun, "sh", "64k", "/tmp", "true"], {
        stdio: "ignore",
      }).status === 0,
  );
  if (flags === undefined) return undefined;
  return (folder, size) => (command) => ["unshare", flags, "sh", "-c", mountAndRun, "sh", size, folder, ...command];
}

/** A limit on the size of each file instead of a full disk; the process may lift it with prlimit(1). */
export function limitFiles(kibibytes: number): Wrap {
  return (command) => ["sh", "-c", `ulimit -S -f ${kibibytes * 2} && exec "$@"`, "sh", ...command];
}
