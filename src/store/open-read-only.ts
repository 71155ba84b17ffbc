import { existsSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../core/errors.ts";
import type { AlertLog } from "../core/ports/alert-log.ts";
import type { Store } from "../core/ports/store.ts";
import type { StorePlace } from "../core/store-place.ts";

/** What a command may ask of a store without a relay. No method writes. */
export type ReadOnlyStore = AlertLog &
  Pick<Store, "listMutes" | "countSilenced" | "listRefused" | "getRefused" | "loadWatchState" | "loadStatuses"> &
  // `backup`: PostgreSQL has its own tools for it.
  Pick<Store, "countByDestination" | "listRelays" | "health" | "backup" | "standbys" | "close" | "hearing">;

/** The data folder, for commands that work on SQLite's file. Throws AppError `conflict` where PostgreSQL is used. */
export function requireSqlite(place: StorePlace, instead: string): string {
  if (place.databaseUrl === undefined) return place.dataDir;
  throw new AppError("conflict", "the log is in PostgreSQL (DATABASE_URL is set), and this is for SQLite's file", {
    hint: instead,
  });
}

/** The configured database does not exist: no relay has run with it yet. */
export class DatabaseMissing extends AppError {
  constructor(path: string) {
    super("not_found", `there is no database ${path}`, {
      hint: "it is made when the relay starts: tocsin serve. If it is elsewhere, set DATA_DIR",
    });
    this.name = "DatabaseMissing";
  }
}

/** The store of a relay, running or not: PostgreSQL or a file. Throws `DatabaseMissing`, and the errors of opening it. */
export async function openReadOnly(config: StorePlace): Promise<ReadOnlyStore> {
  if (config.databaseUrl !== undefined) {
    const { databaseUrl, databaseListenUrl } = config;
    const { openPostgresStore } = await import("./postgres/store.ts");
    return openPostgresStore({
      url: databaseUrl.reveal(),
      listenUrl: databaseListenUrl?.reveal(),
      relayName: "command",
      isExisting: true,
    });
  }
  const { databaseFileName } = await import("./sqlite/threaded-store.ts");
  const { openLocalStore } = await import("./sqlite/local-store.ts");
  const path = join(config.dataDir, databaseFileName);
  if (!existsSync(path)) throw new DatabaseMissing(path);
  try {
    return openLocalStore({ path, readOnly: true });
  } catch (error) {
    if (error instanceof AppError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new AppError("failed", `the database ${path} cannot be read: ${why}`, {
      hint: "check its permissions; one of an older version is updated when the relay starts",
    });
  }
}
