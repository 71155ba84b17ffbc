import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { AppError } from "../../core/errors.ts";
import type { Administration } from "../../core/ports/administration.ts";
import type { Signals } from "../../core/ports/signals.ts";
import type { StorePlace } from "../../core/store-place.ts";
import type { SqliteStore } from "../../store/sqlite/store.ts";
import type { Output } from "../shell/output.ts";
import type { RelayConnection } from "./connect-relay.ts";
import { RelayUnreachable } from "./relay-transport.ts";

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
  | "listRelays"
  | "countByDestination"
  | "health"
  | "close"
> &
  // PostgreSQL has tools of its own for it.
  Partial<Pick<SqliteStore, "backup">> &
  Pick<Administration, "standbys"> &
  Pick<Signals, "hearing">;

/**
 * For commands that work on the file of SQLite.
 * @returns its folder
 * @throws AppError `conflict` where PostgreSQL is used
 */
export function requireSqlite(place: StorePlace, instead: string): string {
  if (place.databaseUrl === undefined) return place.dataDir;
  throw new AppError("conflict", "the log is in PostgreSQL (DATABASE_URL is set), and this is for SQLite's file", {
    hint: instead,
  });
}

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
 * The store of a relay, running or not. The one place where a command opens it: the PostgreSQL of DATABASE_URL, or else a file
 * in DATA_DIR.
 * @throws AppError `not_found` (`DatabaseMissing`), and what opening it refuses with.
 */
export async function openReadOnly(config: StorePlace): Promise<ReadOnlyStore> {
  if (config.databaseUrl !== undefined) {
    const { databaseUrl, databaseListenUrl } = config;
    const { openPostgresStore } = await import("../../store/postgres/store.ts");
    return openPostgresStore({
      url: databaseUrl.reveal(),
      listenUrl: databaseListenUrl?.reveal(),
      relayName: "command",
      isExisting: true,
    });
  }
  const { databaseFileName } = await import("../../store/sqlite/threaded-store.ts");
  const { openLocalStore } = await import("../../store/sqlite/local-store.ts");
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

/** `in /data`, `of DATABASE_URL`: behind "the database". */
export function whereIs({ dataDir, databaseUrl }: StorePlace): string {
  return databaseUrl === undefined ? `in ${dataDir}` : "of DATABASE_URL";
}

/**
 * The store and the configuration that a relay left, when it does not answer; a note on stderr says so. With `--url`
 * there is no such way out: the file here need not be that relay's.
 * @param failure what asking the relay has thrown; thrown again when there is no way out
 */
export async function openWithoutRelay(
  failure: unknown,
  { isElsewhere, loadConfig }: RelayConnection,
  output: Output,
): Promise<{ store: ReadOnlyStore; config: Config }> {
  if (!(failure instanceof RelayUnreachable) || isElsewhere) throw failure;
  const config = await loadConfig();
  const store = await openReadOnly(config).catch((reason: unknown) => {
    // Without a database no relay has ever run here, so that nothing answers is the news.
    throw reason instanceof DatabaseMissing ? failure : reason;
  });
  await output.note(`${failure.message}; reading the database ${whereIs(config)} instead`);
  return { store, config };
}
