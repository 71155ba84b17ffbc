import { AppError } from "../../core/errors.ts";
import { libraryRepair } from "./sqlite-library.ts";
import { isBug } from "./store-error.ts";

/** better-sqlite3 is compiled for one version of Node, when it is installed and where install scripts are allowed. */
function describeUnusableLibrary(error: unknown): AppError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  const isForeign = code === "ERR_DLOPEN_FAILED";
  const isMissing =
    code === "MODULE_NOT_FOUND" || error.message.startsWith("Could not locate the bindings file");
  if (!isForeign && !isMissing) return undefined;
  const node = `Node ${process.versions.node}`;
  const what = /NODE_MODULE_VERSION/.test(error.message)
    ? `was built for another version of Node and cannot be used by this one (${node})`
    : isForeign
      ? `cannot be loaded by this ${node}`
      : `has not been built for this ${node}`;
  return new AppError("failed", `The database library better-sqlite3 ${what}.`, {
    hint: libraryRepair,
    cause: error,
  });
}

/** A failure to open, in words for whoever started Tocsin. An `AppError` passes as it is, and so does a bug. */
export function toOpenError(error: unknown, place: string): unknown {
  if (error instanceof AppError) return error;
  const notUsable = describeUnusableLibrary(error);
  if (notUsable !== undefined) return notUsable;
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string" || isBug(code)) return error;
  if (code === "SQLITE_NOTADB" || code.startsWith("SQLITE_CORRUPT")) {
    return new AppError("store_unavailable", `${place} is not a database, or it is damaged (${code}).`, {
      hint: "Keep a copy of the folder, and put a backup in its place.",
      cause: error,
    });
  }
  if (code === "SQLITE_BUSY") {
    return new AppError("store_unavailable", `Another program is working on ${place}.`, {
      hint: "Wait until it has finished, or stop it.",
      cause: error,
    });
  }
  if (code.startsWith("SQLITE_") || code.startsWith("E")) {
    return new AppError("store_unavailable", `${place} cannot be opened (${code}).`, {
      hint: "Is the folder there, on a disk with room, and may this user write in it?",
      cause: error,
    });
  }
  return error;
}
