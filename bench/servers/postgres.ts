import { startPostgresServer } from "../../test/support/postgres-server.ts";
import { makeScratchDatabase } from "../../workshop/demo/scratch-database.ts";
import { querySql } from "../harness/query-sql.ts";

export type BenchedPostgres = Awaited<ReturnType<typeof startBenchedPostgres>>;

/** Default settings except for more memory and counted statements. Commits are synced. */
export async function startBenchedPostgres(folder: string) {
  const settings = { shared_buffers: "512MB", max_wal_size: "2GB", autovacuum: "on" };
  const server = await startPostgresServer({ ...settings, shared_preload_libraries: "pg_stat_statements" }, folder);
  return {
    /** The id of the server's first process. */
    pid: server.pid(),
    /** Runs with an empty database, which is removed afterwards. */
    async withDatabase<T>(run: (url: string) => Promise<T>): Promise<T> {
      const { url, drop } = await makeScratchDatabase(server.url, "bench");
      try {
        await querySql(url, "CREATE EXTENSION pg_stat_statements");
        return await run(url);
      } finally {
        await drop(0);
        // Pending writes of one run must not slow the next.
        await querySql(server.url, "CHECKPOINT");
      }
    },
    end: () => server.end(),
  };
}
