import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { listenOnLoopback } from "./loopback.ts";
import { type PostgresServer, startPostgresServer } from "./postgres-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** A connection gets the address of the run's PostgreSQL, which is started for the first connection. */
    postgresDesk: number;
    /** How the names of the run's databases begin. */
    postgresNames: string;
  }
}

/** One PostgreSQL for a whole run, started when a test file asks for it. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const desk = createServer((socket) => {
    server ??= startPostgresServer({}, undefined, undefined, project.config.env?.TOCSIN_TEST_POSTGRES);
    server.then(
      ({ url }) => socket.end(JSON.stringify({ url })),
      (error: Error) => socket.end(JSON.stringify({ error: error.message })),
    );
  });
  const { port, close } = await listenOnLoopback(desk, () => {});
  desk.unref();
  project.provide("postgresDesk", port);
  const names = `tocsin_test_${randomUUID().slice(0, 8)}_`;
  project.provide("postgresNames", names);
  return async () => {
    await close();
    await (await server?.catch(() => undefined))?.end();
    // On a server of one's own nothing stays behind.
    const own = process.env.TOCSIN_TEST_DATABASE_URL;
    if (own) await dropDatabases(own, names);
  };
}

async function dropDatabases(url: string, names: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    "SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1)",
    [names],
  );
  for (const { name } of rows) await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await client.end();
}
