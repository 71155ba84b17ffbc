import { AppError } from "../../core/errors.ts";

/**
 * Codes by which a disk without room shows itself in WAL mode; a quota's EDQUOT comes as a failed write, and where room
 * is only given out at a sync as a failed sync.
 */
const codesOfFullDisk = new Set([
  "SQLITE_FULL",
  "SQLITE_IOERR_WRITE",
  "SQLITE_IOERR_FSYNC",
  "SQLITE_IOERR_SHMSIZE",
]);

/** Codes of a statement that this program should not have made: no state of a disk explains them. */
const codesOfBugs = /^SQLITE_(ERROR|CONSTRAINT|MISMATCH|MISUSE|RANGE|TOOBIG)/;

export function isDiskFull(error: unknown): boolean {
  return codesOfFullDisk.has(sqliteCode(error) ?? "");
}

/** Whether a code of SQLite tells of a mistake in this program. */
export function isBug(code: string): boolean {
  return codesOfBugs.test(code);
}

/** What the port rejects with: `store_unavailable` for what the disk or the database refuses; a bug stays what it is. */
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
    hint: "Free space or enlarge the volume; Tocsin goes on by itself when there is room.",
    cause,
    retryAfterMs: 30_000,
  });
}

function sqliteCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code.startsWith("SQLITE_") ? code : undefined;
}
