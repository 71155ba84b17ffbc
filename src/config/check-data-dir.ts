import { accessSync, constants, lstatSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

export interface DataDirProblem {
  message: string;
  instead: string;
  /** Only this user cannot write there; another one may. */
  isOfUser: boolean;
}

/** File systems of the Linux kernel that keep no files (`f_type` of statfs). */
const kernelFileSystems = new Map([
  [0x9fa0, "/proc"],
  [0x62656572, "/sys"],
  [0x63677270, "a control group"],
]);

const advice = "set DATA_DIR to a folder that can be written, e.g. DATA_DIR=/var/lib/tocsin";

/** Why nothing could be stored in this folder, which need not exist yet. Makes nothing. */
export function findDataDirProblem(dataDir: string): DataDirProblem | undefined {
  const nearest = findNearest(dataDir);
  if (nearest === undefined) return undefined;
  if (nearest.fault !== undefined) {
    return { message: `${nearest.path} ${nearest.fault}`, instead: advice, isOfUser: false };
  }
  const { path, isFolder } = nearest;
  if (!isFolder) {
    const message =
      path === dataDir ? `${path} is a file, not a folder` : `${path} is a file, so no folder can be made in it`;
    return { message, instead: advice, isOfUser: false };
  }
  const kernel = kernelFileSystems.get(fileSystemOf(path));
  if (kernel !== undefined) {
    return {
      message: `${dataDir} lies in ${kernel}, which keeps no files`,
      instead: advice,
      isOfUser: false,
    };
  }
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    const isReadOnly = code === "EROFS";
    const why = isReadOnly ? "lies on a file system that is read-only" : `cannot be written by this user (${code})`;
    const instead = isReadOnly ? advice : `give the folder to the user of the relay, or ${advice}`;
    return { message: `${path} ${why}`, instead, isOfUser: !isReadOnly };
  }
}

interface Nearest {
  path: string;
  isFolder: boolean;
  /** Why it can be none. */
  fault?: string;
}

/** The folder itself, or the nearest one above it that is there. */
function findNearest(path: string): Nearest | undefined {
  for (let current = path; ; current = dirname(current)) {
    try {
      return { path: current, isFolder: statSync(current).isDirectory() };
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENAMETOOLONG" || code === "ELOOP") {
        return { path: current, isFolder: false, fault: `cannot be a folder (${code})` };
      }
      if (code === "ENOENT" && isLink(current)) {
        return { path: current, isFolder: false, fault: "is a link to what is not there" };
      }
      if (code !== "ENOENT" && code !== "ENOTDIR") return { path: dirname(current), isFolder: true };
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
