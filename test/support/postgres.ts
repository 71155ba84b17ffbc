import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import pg from "pg";
import { inject, onTestFinished } from "vitest";

const databases = new Map<string, Promise<string>>();
const free: string[] = [];
let server: Promise<string> | undefined;

/** The server of `TOCSIN_TEST_DATABASE_URL`, whose role may create databases, or else the one that this run starts. */
function serverUrl(): Promise<string> {
  server ??= askDesk();
  return server;
}

async function askDesk(): Promise<string> {
  const own = process.env.TOCSIN_TEST_DATABASE_URL;
  if (own) return own;
  const answer = JSON.parse(await text(connect(inject("postgresDesk"), "127.0.0.1"))) as {
    url: string;
    error?: string;
  };
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer.url;
}

/** The address of an empty database, which goes when the test has ended. */
export async function makePostgresDatabase(): Promise<string> {
  const url = await createDatabase();
  onTestFinished(() => dropDatabase(url));
  return url;
}

/** The same for all tests of a file together: it goes when all files have ended. */
export const makePostgresDatabaseOfFile = createDatabase;

/**
 * The database that stands for this folder: the same folder is the same database while a test runs. Emptied, it serves the
 * next test: making one and dropping it takes a second.
 */
export function postgresDatabaseOf(dataDir: string): Promise<string> {
  const known = databases.get(dataDir);
  if (known !== undefined) return known;
  const taken = Promise.resolve(free.pop() ?? createDatabase());
  databases.set(dataDir, taken);
  onTestFinished(async () => {
    databases.delete(dataDir);
    const url = await taken;
    await runSql(url, emptyAll);
    free.push(url);
  });
  return taken;
}

const emptyAll = `DO $$
DECLARE one record;
BEGIN
  PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid();
  -- Twice, since triggers count what goes.
  FOR turn IN 1..2 LOOP
    FOR one IN SELECT oid::regclass AS name FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'migrations' LOOP
      EXECUTE format('DELETE FROM %s', one.name);
    END LOOP;
  END LOOP;
  FOR one IN SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S' LOOP
    PERFORM setval(one.name, 1, false);
  END LOOP;
END $$`;

async function createDatabase(): Promise<string> {
  const name = `${inject("postgresNames")}${randomUUID().replaceAll("-", "")}`;
  await runSql(await serverUrl(), `CREATE DATABASE ${name}`);
  const url = new URL(await serverUrl());
  url.pathname = `/${name}`;
  return url.href;
}

async function dropDatabase(url: string): Promise<void> {
  await runSql(await serverUrl(), `DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
}

/** A connection of a test's own, next to the store's. */
export async function openClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // Its database may go first.
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** For what a test looks at or prepares behind the store's back. */
export async function runSql<Row extends object>(url: string, sql: string, values?: unknown[]): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}
