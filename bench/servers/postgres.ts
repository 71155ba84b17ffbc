import { startPostgresServer } from "../../test/support/postgres-server.ts";
import { makeScratchDatabase } from "../../workshop/demo/scratch-database.ts";
import { querySql } from "../harness/query-sql.ts";

export type BenchedPostgres = Awaited<ReturnType<typeof startBenchedPostgres>>;

/**
 * A PostgreSQL as it is installed, but for room in memory, in a folder of its own below this one. Whatever is committed is
 * synced: `fsync` and `synchronous_commit` are on.
 */
export async function startBenchedPostgres(folder: string) {
  const settings = { shared_buffers: "512MB", max_wal_size: "2GB", autovacuum: "on" };
  const server = await startPostgresServer(settings, folder);
  return {
    /** The id of the server's first process. */
    pid: server.pid(),
    /** Runs with an empty database of its own, which goes afterwards. */
    async withDatabase<T>(run: (url: string) => Promise<T>): Promise<T> {
      const { url, drop } = await makeScratchDatabase(server.url, "bench");
      try {
        return await run(url);
      } finally {
        await drop(0);
        // What one leaves to be written is not the next one's.
        await querySql(server.url, "CHECKPOINT");
      }
    },
    end: () => server.end(),
  };
}
