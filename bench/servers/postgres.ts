import pg from "pg";
import { startPostgresServer } from "../../test/support/postgres-server.ts";
import { makeScratchDatabase } from "../../workshop/demo/scratch-database.ts";

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

type Written = Record<"commits" | "statements" | "walKb", number>;

/** All since the database was made. `walKb` is of the whole server. */
export async function countWritten(databaseUrl: string): Promise<Written> {
  const sql = `SELECT xact_commit::float8 AS commits, (pg_current_wal_lsn() - '0/0')::float8 / 1000 AS "walKb",
      (SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements s WHERE s.dbid = d.datid) AS statements
    FROM pg_stat_database d WHERE datname = current_database()`;
  return (await querySql<Written>(databaseUrl, sql))[0] as Written;
}

async function querySql<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<Row>(sql).finally(() => client.end());
  return rows;
}
