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
      /** The address of the PostgreSQL database that relays share. */
      databaseUrl: Secret;
      /** Another address of the same database, for signals when the first leads through a pooler. */
      databaseListenUrl?: Secret;
      /** The folder for small journals of this relay alone. Absent: the relay writes nothing to disk. */
      dataDir?: string;
    };
