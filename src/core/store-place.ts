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
      /** The address of the PostgreSQL that relays share. */
      databaseUrl: Secret;
      /** Another address of the same database: signals are heard there when the first leads through a pooler. */
      databaseListenUrl?: Secret;
      /** For small journals of this relay alone. Absent: it writes nothing to disk. */
      dataDir?: string;
    };
