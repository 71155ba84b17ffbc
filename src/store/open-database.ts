import { chmodSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import Sqlite, { type Database } from "better-sqlite3";
import { migrate } from "./migrate.ts";

export interface DatabaseOptions {
  path: string;
  /** A second connection for reading; it neither creates nor migrates. */
  readOnly?: boolean;
}

/**
 * Opens the database with the settings that the promises rest on.
 *
 * `synchronous = FULL` is set on every open: better-sqlite3 is compiled so that a WAL database that is opened again
 * runs at NORMAL, which loses acknowledged commits at a power cut.
 */
export function openDatabase({ path, readOnly = false }: DatabaseOptions): Database {
  if (!readOnly) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const db = new Sqlite(path, { readonly: readOnly, fileMustExist: readOnly });
  try {
    db.pragma("busy_timeout = 5000");
    if (!readOnly) {
      db.pragma("auto_vacuum = INCREMENTAL");
      db.pragma("journal_mode = WAL");
      db.pragma("synchronous = FULL");
      db.pragma("wal_autocheckpoint = 1000");
      db.pragma("journal_size_limit = 67108864");
    }
    db.pragma("foreign_keys = ON");
    db.pragma("cache_size = -32768");
    db.pragma("temp_store = MEMORY");
    if (!readOnly) {
      migrate(db);
      chmodSync(path, 0o600);
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
