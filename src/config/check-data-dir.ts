import { accessSync, constants, lstatSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

export interface DataDirProblem {
  message: string;
  instead: string;
  /** Another user may be able to write there. */
  isOfUser: boolean;
}

/** File systems of the Linux kernel that keep no files (`f_type` of statfs). */
const kernelFileSystems = new Map([
  [0x9fa0, "/proc"],
  [0x62656572, "/sys"],
  [0x63677270, "a control group"],
]);

const advice = "set DATA_DIR to a folder that can be written, e.g. DATA_DIR=/var/lib/tocsin";

/** Why this folder, which need not exist yet, could store nothing. Creates nothing. */
export function findDataDirProblem(dataDir: string): DataDirProblem | undefined {
  const nearest = findNearest(dataDir);
  if (nearest === undefined) return undefined;
  const { path, fault } = nearest;
  const refuse = (message: string) => ({ message, instead: advice, isOfUser: false });
  if (fault !== undefined) return refuse(`${path} ${fault}`);
  const kernel = kernelFileSystems.get(fileSystemOf(path));
  if (kernel !== undefined) return refuse(`${dataDir} lies in ${kernel}, which keeps no files`);
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    if (code === "EROFS") return refuse(`${path} lies on a file system that is read-only`);
    const instead = `give the folder to the user of the relay, or ${advice}`;
    return { message: `${path} cannot be written by this user (${code})`, instead, isOfUser: true };
  }
}

interface Nearest {
  path: string;
  fault?: string;
}

/** The folder itself, or the nearest existing folder above it. */
function findNearest(path: string): Nearest | undefined {
  for (let current = path; ; current = dirname(current)) {
    try {
      if (statSync(current).isDirectory()) return { path: current };
      const what = current === path ? "not a folder" : "so no folder can be made in it";
      return { path: current, fault: `is a file, ${what}` };
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENAMETOOLONG" || code === "ELOOP") {
        return { path: current, fault: `cannot be a folder (${code})` };
      }
      if (code === "ENOENT" && isLink(current)) {
        return { path: current, fault: "is a link to what is not there" };
      }
      if (code !== "ENOENT" && code !== "ENOTDIR") return { path: dirname(current) };
      if (dirname(current) === current) return undefined;
    }
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function fileSystemOf(path: string): number {
  try {
    return statfsSync(path).type;
  } catch {
    return 0;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
