import { AppError } from "../../core/errors.ts";
import { libraryRepair } from "./sqlite-library.ts";

/** A full disk in WAL mode. A quota (EDQUOT) is a failed write. A disk that allots room at a sync fails there. */
const codesOfFullDisk = new Set(["SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_SHMSIZE"]);

/** A faulty statement of this program: no state of a disk explains these. */
const isBug = (code: string) => /^SQLITE_(ERROR|CONSTRAINT|MISMATCH|MISUSE|RANGE|TOOBIG)/.test(code);

export function isDiskFull(error: unknown): boolean {
  return codesOfFullDisk.has(sqliteCode(error) ?? "");
}

/** Whether a page could not be read. A call that does not need the page may succeed. */
export function isDamage(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB|IOERR)/.test(sqliteCode(error) ?? "") && !isDiskFull(error);
}

/** The port's error: `store_unavailable` for refusals of the disk or the database. A bug stays as it is. */
export function toStoreError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code === undefined || isBug(code)) return error;
  if (isDiskFull(error)) return diskFullError(error);
  return new AppError("store_unavailable", `The database could not take the change (${code}).`, {
    hint: "Look at the volume that DATA_DIR lies on: is it mounted, writable and healthy?",
    cause: error,
    retryAfterMs: 10_000,
  });
}

export function diskFullError(cause?: unknown): AppError {
  const code = sqliteCode(cause);
  const shown = code === undefined || code === "SQLITE_FULL" ? "" : ` or refuses to be written (${code})`;
  return new AppError("store_unavailable", `The disk that holds the database is full${shown}.`, {
    hint: "Free space or enlarge the volume; Tocsin recovers by itself when there is room.",
    cause,
    retryAfterMs: 30_000,
  });
}

function sqliteCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code.startsWith("SQLITE_") ? code : undefined;
}

/** better-sqlite3 is compiled for one version of Node when it is installed, and only where install scripts are allowed. */
function describeUnusableLibrary(error: unknown): AppError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as NodeJS.ErrnoException;
  const isForeign = code === "ERR_DLOPEN_FAILED";
  const isMissing = code === "MODULE_NOT_FOUND" || error.message.startsWith("Could not locate the bindings file");
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

/** A failure to open, in words for the person who started Tocsin. An `AppError` or a bug stays as it is. */
export function toOpenError(error: unknown, place: string): unknown {
  if (error instanceof AppError) return error;
  const notUsable = describeUnusableLibrary(error);
  if (notUsable !== undefined) return notUsable;
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string" || isBug(code)) return error;
  const refusal = (message: string, hint: string) => new AppError("store_unavailable", message, { hint, cause: error });
  if (code === "SQLITE_NOTADB" || code.startsWith("SQLITE_CORRUPT"))
    return refusal(
      `${place} is not a database, or it is damaged (${code}).`,
      "Keep a copy of the folder, and put a backup in its place.",
    );
  if (code === "SQLITE_BUSY")
    return refusal(`Another program is working on ${place}.`, "Wait until it has finished, or stop it.");
  if (code.startsWith("SQLITE_") || code.startsWith("E"))
    return refusal(
      `${place} cannot be opened (${code}).`,
      "Is the folder there, on a disk with room, and may this user write in it?",
    );
  return error;
}
