import { randomUUID } from "node:crypto";
import pg from "pg";
import { startPostgresServer } from "../../test/support/postgres-server.ts";

export interface BenchedPostgres {
  /** The id of the server's first process. */
  pid: number;
  /** Runs with an empty database of its own, which goes afterwards. */
  withDatabase<T>(run: (url: string) => Promise<T>): Promise<T>;
  end(): Promise<void>;
}

/**
 * A PostgreSQL as it is installed, but for room in memory, in a folder of its own below this one. Whatever is committed is
 * synced: `fsync` and `synchronous_commit` are on.
 */
export async function startBenchedPostgres(folder: string): Promise<BenchedPostgres> {
  const settings = { shared_buffers: "512MB", max_wal_size: "2GB", autovacuum: "on" };
  const server = await startPostgresServer(settings, folder);
  async function ask(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  }
  return {
    pid: server.pid(),
    async withDatabase(run) {
      const name = `bench_${randomUUID().replaceAll("-", "")}`;
      await ask(`CREATE DATABASE ${name}`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      try {
        return await run(url.href);
      } finally {
        await ask(`DROP DATABASE ${name} WITH (FORCE)`);
        // What one leaves to be written is not the next one's.
        await ask("CHECKPOINT");
      }
    },
    end: () => server.end(),
  };
}
