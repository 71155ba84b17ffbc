import { AppError } from "../core/errors.ts";
import { isBug } from "./store-error.ts";

/** A failure to open, in words for whoever started Tocsin. An `AppError` passes as it is, and so does a bug. */
export function toOpenError(error: unknown, place: string): unknown {
  if (error instanceof AppError) return error;
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
