import type { Secret } from "./secret.ts";

/** Where the log is. */
export type StorePlace =
  | {
      /** Absolute path of the folder of SQLite's file. */
      dataDir: string;
      databaseUrl?: undefined;
      databaseListenUrl?: undefined;
    }
  | {
      /** Of the PostgreSQL that relays share. */
      databaseUrl: Secret;
      /** Of the same database: where signals are heard when the other one leads through a pooler. */
      databaseListenUrl?: Secret;
      /** For small journals of this relay alone. Absent: it writes nothing to disk. */
      dataDir?: string;
    };
