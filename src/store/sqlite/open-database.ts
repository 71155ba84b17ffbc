import { chmodSync, closeSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Database } from "better-sqlite3";
import { makePrivateFolder } from "../../ground/files/private-folder.ts";
import { type Migration, migrate, readMigrations, requireVersion } from "./migrate.ts";
import { Sqlite } from "./sqlite-library.ts";
import { toOpenError } from "./store-error.ts";

export interface DatabaseOptions {
  path: string;
  /** For reading only. Neither creates nor migrates. Default false. */
  readOnly?: boolean;
  /** Default: the files in the folder `migrations`. */
  migrations?: Migration[];
}

/**
 * Opens the database with the settings that the promises depend on.
 *
 * `synchronous = FULL` is set on every open: better-sqlite3 is compiled to open an existing WAL database with NORMAL, which loses
 * acknowledged commits at a power cut. `fullfsync` is for macOS, whose fsync leaves the data in the drive's cache (fcntl(2),
 * F_FULLFSYNC).
 *
 * New databases have pages of 4 KiB, those of an earlier version 8 KiB. A single alert mostly costs the pages that are copied for
 * it, once into the log and once out of it (docs/adr/0004-what-an-accepted-alert-writes.md). In commands SQLite itself copies the
 * log, at each 4 MiB. A relay copies it in steps (write-ahead-log.ts).
 *
 * Each connection has a cache of 8 MiB. A larger one would hold the same pages as the system's cache.
 * @throws AppError `store_too_new`, before anything is written; `store_unavailable` when it cannot be opened.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { path, readOnly = false, migrations = readMigrations() } = options;
  let db: Database | undefined;
  try {
    if (!readOnly) makePrivate(path);
    db = new Sqlite(path, { readonly: readOnly, fileMustExist: readOnly });
    db.pragma("busy_timeout = 5000");
    requireVersion(db, migrations, { exactly: readOnly });
    if (!readOnly) {
      db.pragma("page_size = 4096");
      db.pragma("auto_vacuum = INCREMENTAL");
      db.pragma("journal_mode = WAL");
      db.pragma("synchronous = FULL");
      db.pragma("fullfsync = ON");
      db.pragma("checkpoint_fullfsync = ON");
      db.pragma("wal_autocheckpoint = 500");
      db.pragma("journal_size_limit = 67108864");
    }
    db.pragma("foreign_keys = ON");
    db.pragma("cache_size = -8192");
    db.pragma("temp_store = MEMORY");
    if (!readOnly) {
      migrate(db, migrations);
      requireFullSync(db);
    }
    return db;
  } catch (error) {
    db?.close();
    throw toOpenError(error, `The database ${path}`);
  }
}

/** Throws AppError `failed` where the library is compiled for another Node. The error says how to build it again. */
export function requireDatabaseLibrary(): void {
  try {
    new Sqlite(":memory:").close();
  } catch (error) {
    throw toOpenError(error, "A database in memory");
  }
}

/** Reads the setting back, since a 202 means nothing without it. */
function requireFullSync(db: Database): void {
  const level = db.pragma("synchronous", { simple: true });
  if (level !== 2) throw new Error(`the database runs at synchronous = ${level}, not FULL`);
}

/** Runs before SQLite opens the file: the write-ahead log gets the permissions that the database has then. */
function makePrivate(path: string): void {
  makePrivateFolder(dirname(path));
  closeSync(openSync(path, "a", 0o600));
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
}
