import type { Secret } from "./secret.ts";

export type StorePlace =
  | {
      /** The folder of SQLite's file, absolute. */
      dataDir: string;
      databaseUrl?: undefined;
      databaseListenUrl?: undefined;
    }
  | {
      /** The address of the PostgreSQL database that relays share. */
      databaseUrl: Secret;
      /** The database's own address, for signals, where `databaseUrl` is a pooler's. */
      databaseListenUrl?: Secret;
      /** For small journals of this relay alone. Absent: the relay writes nothing to disk. */
      dataDir?: string;
    };
