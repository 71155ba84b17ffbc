import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { type Migration, migrate, readMigrations, requireNewest } from "../../../src/store/postgres/migrate.ts";
import { makePostgresDatabase, openClient, runSql } from "../../support/postgres.ts";
import { letTransactionsWait } from "../../support/waiting-transactions.ts";
import { migrateOnly, openDatabase, refusalOf } from "./open-relays.ts";

const present = readMigrations();

function step(number: number, sql: string, oldestCode = number): Migration {
  return { number, name: `${String(number).padStart(4, "0")}_test.sql`, sql, oldestCode };
}

/** What the version after the present one brings. */
const next = (sql: string, oldestCode?: number): Migration[] => [
  ...present,
  step(present.length + 1, sql, oldestCode ?? present.length),
];

async function beginWith(url: string, sql: string) {
  const client = await openClient(`${url}?application_name=a%20long%20dump`);
  await client.query(`BEGIN; ${sql}`);
  return client;
}

it("migrations of PostgreSQL each say that code of the version before runs on them", () => {
  for (const { number, name, oldestCode } of present.slice(1))
    expect(oldestCode, `${name} says "-- Runs with code of N and newer."`).toBeLessThan(number);
});

it("migrations of PostgreSQL are made once when several relays start on an empty database at once", async () => {
  for (let round = 0; round < 5; round += 1) {
    const url = await makePostgresDatabase();
    const clients = await Promise.all(Array.from({ length: 6 }, () => openClient(url)));
    await Promise.all(clients.map((client) => migrate(client)));
    expect(await runSql(url, "SELECT count(*)::integer AS made FROM migrations")).toEqual([{ made: present.length }]);
  }
});

it("migrations of PostgreSQL each say which tables they lock, when those are several", async () => {
  const client = await openClient(await makePostgresDatabase());
  const strong = ["ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"];
  for (const { name, sql, locks = [] } of present) {
    const { rows: before } = await client.query<{ oid: number }>("SELECT oid FROM pg_class WHERE relkind = 'r'");
    await client.query("BEGIN");
    await client.query(sql);
    const { rows: locked } = await client.query<{ name: string }>(
      `SELECT DISTINCT relation::regclass::text AS name FROM pg_locks
         WHERE pid = pg_backend_pid() AND relation = ANY($1::oid[]) AND mode = ANY($2::text[]) ORDER BY name`,
      [before.map(({ oid }) => oid), strong],
    );
    await client.query("COMMIT");
    const names = locked.map((table) => table.name);
    if (names.length > 1) expect([...locks].sort(), `${name} says "-- Locks first: …."`).toEqual(names);
  }
});

it("migrations of PostgreSQL wait for a table as long as it takes until autovacuum gives way, which is a second", async () => {
  const url = await makePostgresDatabase();
  await openDatabase(url);
  // One that may not be cancelled in its place: it lets go when somebody has waited for so long.
  const vacuum = await beginWith(url, "LOCK TABLE lanes IN SHARE UPDATE EXCLUSIVE MODE");
  const waited = `SELECT FROM pg_locks WHERE relation = 'lanes'::regclass AND waitstart < clock_timestamp() - interval '1 second'`;
  const giveWay = async () => {
    await expect.poll(async () => (await vacuum.query(waited)).rowCount, { interval: 10 }).toBeGreaterThan(0);
    await vacuum.query("COMMIT");
  };
  const client = await openClient(url);
  const sql = "ALTER TABLE alerts ADD COLUMN added integer; ALTER TABLE lanes ADD COLUMN added integer";
  const migrations = next(sql).map((one) => ({ ...one, locks: one.locks ?? ["alerts", "lanes"] }));
  await Promise.all([giveWay(), migrate(client, { migrations })]);
  await client.query("SELECT added FROM lanes");
});

it("migrations of PostgreSQL let older code start on what they say it runs on, and refuse it otherwise", async () => {
  const client = await openClient(await makePostgresDatabase());
  const n = present.length;
  const one = next("CREATE TABLE a (x integer)", n);
  const two = [...one, step(n + 2, "ALTER TABLE a ADD COLUMN z integer", n + 1)];
  await migrate(client, { migrations: present });
  await migrate(client, { migrations: one });
  await migrate(client, { migrations: present });
  await requireNewest(client, present);
  await migrate(client, { migrations: two });
  await migrate(client, { migrations: one });
  const runs = `on which Tocsins that know ${n + 1} or more can run; this one knows versions up to ${n}.`;
  const refusal = { code: "store_too_new", message: `The database is of version ${n + 2}, ${runs}` };
  await expect(migrate(client, { migrations: present })).rejects.toMatchObject(refusal);
  await expect(requireNewest(client, present)).rejects.toMatchObject(refusal);
});

it("migrations of PostgreSQL can tell older code so in a database of the first version, which has no place for that", async () => {
  const url = await makePostgresDatabase();
  await migrateOnly(url);
  await runSql(url, "ALTER TABLE migrations DROP COLUMN oldest_code");
  await openDatabase(url);
  await migrate(await openClient(url), { migrations: next("CREATE TABLE added (x integer)") });
  await openDatabase(url);
  await runSql(url, "UPDATE migrations SET oldest_code = NULL");
  expect(await refusalOf(openDatabase(url))).toMatchObject({ code: "store_too_new" });
});

it("migrations of PostgreSQL wait for whoever holds a table without keeping others from it for longer than a moment", async () => {
  const url = await makePostgresDatabase();
  const database = await openDatabase(url);
  const dump = await beginWith(url, "LOCK TABLE watch_states IN ACCESS SHARE MODE");
  const client = await openClient(url);
  const done = vi.fn();
  const migrations = next("ALTER TABLE watch_states ADD COLUMN added integer");
  const migrating = migrate(client, { migrations }).finally(done);
  let longestMs = 0;
  for (let count = 0; count < 40; count += 1) {
    const began = performance.now();
    await database.read.query("SELECT name, state FROM watch_states");
    longestMs = Math.max(longestMs, performance.now() - began);
    await sleep(25);
  }
  expect(done).not.toHaveBeenCalled();
  // Behind the dump it would never end.
  expect(longestMs).toBeLessThan(5_000);
  await dump.query("COMMIT");
  await migrating;
  await database.read.query("SELECT added FROM watch_states");
});

it("migrations of PostgreSQL give up with the name of who holds the table, and leave the database as it was", async () => {
  const url = await makePostgresDatabase();
  await openDatabase(url);
  await beginWith(url, "LOCK TABLE watch_states IN ACCESS SHARE MODE");
  const client = await openClient(url);
  const sql = "CREATE TABLE added (x integer); ALTER TABLE watch_states ADD COLUMN added integer";
  const refusal = { code: "store_unavailable", message: expect.stringContaining("a long dump") };
  expect(await refusalOf(migrate(client, { migrations: next(sql), tryForMs: 400 }))).toMatchObject(refusal);
  const left = "SELECT to_regclass('added')::text AS added, (SELECT max(number) FROM migrations) AS last";
  expect(await runSql(url, left)).toEqual([{ added: null, last: present.length }]);
});

it("migrations of PostgreSQL leave no prepared statement behind that fails, on whichever connection it was prepared", async () => {
  letTransactionsWait();
  const url = await makePostgresDatabase();
  const database = await openDatabase(url);
  const all = "SELECT * FROM watch_states";
  const ways = [database.read, database.single, { query: () => database.transaction((tx) => tx.query(all)) }];
  const askAll = () => Promise.all(Array.from({ length: 24 }, (_, index) => ways[index % 3]?.query(all)));
  await askAll();
  await migrate(await openClient(url), { migrations: next("ALTER TABLE watch_states ADD COLUMN added integer") });
  await askAll();
});
