import { existsSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../../core/errors.ts";
import type { Store } from "../../core/ports/store.ts";

/** The data folder holds no database: no relay has run with it yet. */
export class DatabaseMissing extends AppError {
  constructor(path: string) {
    super("not_found", `there is no database ${path}`, {
      hint: "it is made when the relay starts: tocsin serve. If it is elsewhere, set DATA_DIR",
    });
    this.name = "DatabaseMissing";
  }
}

/**
 * The database of a relay, running or not, for reading only.
 * @throws AppError `not_found` (`DatabaseMissing`), and what opening it refuses with.
 */
export async function openDatabaseFile(dataDir: string): Promise<Store> {
  const { databaseFileName } = await import("../../store/sqlite/threaded-store.ts");
  const { openLocalStore } = await import("../../store/sqlite/local-store.ts");
  const path = join(dataDir, databaseFileName);
  if (!existsSync(path)) throw new DatabaseMissing(path);
  try {
    return openLocalStore({ path, readOnly: true });
  } catch (error) {
    if (error instanceof AppError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new AppError("failed", `the database ${path} cannot be read: ${why}`, {
      hint: "check its permissions; one of another version is brought up to date when the relay starts",
    });
  }
}
