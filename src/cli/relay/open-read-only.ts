import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { AppError } from "../../core/errors.ts";
import type { SqliteStore } from "../../store/sqlite/store.ts";

/** What a command may ask of a store without a relay: nothing that writes to it. */
export type ReadOnlyStore = Pick<
  SqliteStore,
  | "isPosition"
  | "listAlertsWithin"
  | "getAlert"
  | "findByIdPart"
  | "countAlerts"
  | "listMutes"
  | "listFacts"
  | "listRefused"
  | "getRefused"
  | "loadWatchState"
  | "loadStatuses"
  | "countByDestination"
  | "health"
  | "backup"
  | "close"
>;

/** The configuration leads to no database: no relay has run with it yet. */
export class DatabaseMissing extends AppError {
  constructor(path: string) {
    super("not_found", `there is no database ${path}`, {
      hint: "it is made when the relay starts: tocsin serve. If it is elsewhere, set DATA_DIR",
    });
    this.name = "DatabaseMissing";
  }
}

/**
 * The store of a relay, running or not. The one place where a command opens it: for SQLite a file in DATA_DIR.
 * @throws AppError `not_found` (`DatabaseMissing`), and what opening it refuses with.
 */
export async function openReadOnly({ dataDir }: Config): Promise<ReadOnlyStore> {
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
