import { expect, it, onTestFinished } from "vitest";
import type { AppError } from "../../../src/core/errors.ts";
import { lookAtStore } from "../../../src/start/open-watches.ts";
import type { Transaction } from "../../../src/store/postgres/database.ts";
import { openPostgresDatabase } from "../../../src/store/postgres/store.ts";
import { isAnswered, isOfConnection, toStoreError, toUnavailable } from "../../../src/store/postgres/store-error.ts";
import { createFailingProxy } from "../../support/failing-proxy.ts";
import { makePostgresDatabase, openClient, runSql } from "../../support/postgres.ts";
import { startPostgresServer } from "../../support/postgres-server.ts";
import { letTransactionsWait } from "../../support/waiting-transactions.ts";
import { didWork, migrateOnly, openDatabase, openRelay, refusalOf, someDatabase } from "./open-relays.ts";

const open = (url: string, answerWithinMs?: number) => openDatabase(url, "a test", { answerWithinMs });

const save = (tx: Transaction, name: string, state = "{}") =>
  tx.query("INSERT INTO watch_states VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET state = excluded.state", [
    name,
    state,
  ]);

const namesIn = async (url: string) =>
  (await runSql<{ name: string }>(url, "SELECT name FROM watch_states ORDER BY name")).map(({ name }) => name);

const refusalAt = (url: string) => refusalOf(openDatabase(url));

it("connections to PostgreSQL write in transactions, and read beside them", async () => {
  const database = await open(await someDatabase());
  await database.transaction((tx) => save(tx, "a"));
  const failed = database.transaction(async (tx) => {
    await save(tx, "b");
    throw new Error("no");
  });
  await expect(failed).rejects.toThrow(/^no$/);
  const goneOn = database.transaction(async (tx) => {
    await save(tx, "c");
    await tx.query("SELECT 1 / 0").catch(() => {});
  });
  await expect(goneOn).rejects.toThrow("a statement failed");
  expect((await database.read.query("SELECT * FROM watch_states")).rows).toEqual([{ name: "a", state: "{}" }]);
});

it("connections to PostgreSQL say that the disk of the server is full, also where not even the look can be written, until a change has room", async () => {
  const url = await someDatabase();
  const store = await openRelay(url);
  const fill = (table: string) =>
    runSql(url, `CREATE TRIGGER full_disk BEFORE INSERT ON ${table} EXECUTE FUNCTION fail()`);
  const fails = "RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$";
  await runSql(url, `CREATE FUNCTION fail() ${fails}`);
  await fill("watch_states");
  await expect(store.saveWatchState({ name: "a", state: {} })).rejects.toThrow("disk");
  expect([await lookAtStore(store), await lookAtStore(store)]).toMatchObject([{ full: true }, { full: true }]);
  await fill("write_checks");
  expect(await lookAtStore(store)).toEqual({ full: true });
  for (const table of ["watch_states", "write_checks"]) await runSql(url, `DROP TRIGGER full_disk ON ${table}`);
  await store.saveWatchState({ name: "a", state: {} });
  expect(await lookAtStore(store)).toMatchObject({ full: false });
});

it("connections to PostgreSQL give 8 bytes as numbers, bytes as bytes, and arrays of both", async () => {
  const database = await open(await someDatabase());
  const { rows } = await database.read.query(
    "SELECT 4503599627370496::bigint AS n, sum(1::bigint) AS sum, '{1,2}'::bigint[] AS ns, '{}'::bigint[] AS none, $1::bytea AS b",
    [Buffer.from([0, 255])],
  );
  expect(rows).toEqual([{ n: 2 ** 52, sum: 1, ns: [1, 2], none: [], b: Buffer.from([0, 255]) }]);
});

it("connections to PostgreSQL do a transaction again that the server has ended for another's sake", async () => {
  letTransactionsWait();
  const url = await someDatabase();
  const database = await open(url);
  for (const name of ["a", "b"]) await database.transaction((tx) => save(tx, name));
  let [runs, locked] = [0, 0];
  const change = (first: string, second: string) =>
    database.transaction(async (tx) => {
      runs += 1;
      await save(tx, first, `"${first}${second}"`);
      locked += 1;
      // Until both have one.
      await expect.poll(() => locked, { interval: 5 }).toBeGreaterThan(1);
      await save(tx, second, `"${first}${second}"`);
    });
  await Promise.all([change("a", "b"), change("b", "a")]);
  // On a busy machine the one that begins again may come before the other has seen its lock: then that is ended as well.
  expect(runs).toBeGreaterThan(2);
  expect(await runSql<{ state: string }>(url, "SELECT DISTINCT state FROM watch_states")).toHaveLength(1);
});

it.each(["57P01", "57P02", "57P03", "08006", "53300", "25006"])(
  "connections to PostgreSQL are given up where the server goes, comes or takes nobody (%s), and what was under way has had no answer",
  (code) => {
    const said = Object.assign(new Error("said by the server"), { code, severity: "FATAL" });
    expect(toStoreError(said)).toMatchObject({ code: "store_unavailable" });
    expect([isAnswered(said), isOfConnection(said)]).toEqual([false, true]);
  },
);

it("connections to PostgreSQL go on over others when theirs were cut, and nobody who asks then hears of it", async () => {
  const proxy = await createFailingProxy(await someDatabase());
  const database = await open(proxy.url);
  await database.transaction((tx) => save(tx, "a"));
  for (const name of ["b", "c"]) {
    proxy.cut();
    await database.transaction((tx) => save(tx, name));
    expect((await database.read.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  }
});

it.each([
  ["transaction", "COMMIT\0"],
  ["statement", "INSERT INTO watch_states"],
] as const)("connections to PostgreSQL say that a %s is unknown whose answer was lost", async (way, last) => {
  const url = await someDatabase();
  const proxy = await createFailingProxy(url);
  const database = await open(proxy.url);
  let runs = 0;
  proxy.loseAnswerTo(last);
  const lost = database[way]((tx) => {
    runs += 1;
    return save(tx, "a");
  });
  const [message, hint] = ["unknown", "idempotency key"].map((words) => expect.stringContaining(words));
  await expect(lost).rejects.toMatchObject({ code: "store_unavailable", message, hint });
  expect(runs).toBe(1);
  await expect.poll(() => namesIn(url)).toEqual(["a"]);
});

it("connections to PostgreSQL take one statement where one commits by itself, and do it again after a conflict", async () => {
  const url = await someDatabase();
  const database = await open(url);
  const two = database.statement((tx) => Promise.all([save(tx, "a"), save(tx, "b")]));
  await expect(two).rejects.toThrow("second statement");
  let runs = 0;
  await database.statement(async (tx) => {
    runs += 1;
    const conflict = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'deadlock_detected'; END $$";
    await tx.query(runs === 1 ? conflict : "INSERT INTO watch_states VALUES ('c', '{}')");
  });
  expect(runs).toBe(2);
  expect(await namesIn(url)).toContain("c");
});

it("connections to PostgreSQL count a server as away that does not answer, and go on when it does", async () => {
  letTransactionsWait();
  const proxy = await createFailingProxy(await someDatabase());
  const answerWithinMs = 3_000;
  const database = await open(proxy.url, answerWithinMs);
  // Several lie idle.
  await Promise.all(["a", "b", "c"].map((name) => database.transaction((tx) => save(tx, name))));
  proxy.hang();
  const asked = [database.transaction((tx) => save(tx, "b")), database.read.query("SELECT 1")];
  for (const outcome of await Promise.allSettled(asked))
    expect(outcome).toMatchObject({ reason: { code: "store_unavailable", retryAfterMs: expect.any(Number) } });
  const askedAt = performance.now();
  await expect(database.transaction((tx) => save(tx, "b"))).rejects.toMatchObject({ code: "store_unavailable" });
  expect(performance.now() - askedAt, "those that lay idle are not waited for").toBeLessThan(answerWithinMs * 0.8);
  proxy.goOn();
  await expect.poll(() => didWork(database.transaction((tx) => save(tx, "c")))).toBe(true);
});

it("connections to PostgreSQL say to whoever reads that the database is busy when all others are at work there, and count it as away for nobody", async () => {
  const url = await someDatabase();
  const reasons: AppError[] = [];
  const onAway = (reason: AppError) => void reasons.push(reason);
  const store = await openRelay(url, "a test", { answerWithinMs: 12_000, onAway });
  const client = await openClient(url);
  await client.query("BEGIN; LOCK TABLE relays IN ACCESS EXCLUSIVE MODE");
  const slow = Array.from({ length: 4 }, () => store.listRelays());
  const message = "The database is busy with other searches and pages.";
  await expect(store.listRelays()).rejects.toMatchObject({ code: "store_unavailable", message, retryAfterMs: 2_000 });
  expect(reasons).toEqual([]);
  expect(await store.health()).toMatchObject({ writable: true });
  await client.query("COMMIT");
  await Promise.all(slow);
  expect(await store.listRelays()).toEqual([]);
  expect(reasons).toEqual([]);
});

it("connections to PostgreSQL ask a server again that was silent, though somebody asks all the time", async () => {
  letTransactionsWait();
  const proxy = await createFailingProxy(await someDatabase());
  const database = await open(proxy.url, 500);
  const ask = () => didWork(database.transaction((tx) => save(tx, "a")));
  expect(await ask()).toBe(true);
  proxy.hang();
  expect(await ask()).toBe(false);
  proxy.goOn();
  const asking = setInterval(() => void ask(), 20);
  onTestFinished(() => clearInterval(asking));
  await expect.poll(ask).toBe(true);
});

it("connections to PostgreSQL end a statement that takes too long, and a transaction that stands still", async () => {
  const database = await open(await someDatabase(), 5_000);
  const refusal = { code: "store_unavailable", message: expect.stringContaining("too long") };
  await expect(database.read.query("SELECT pg_sleep(60)")).rejects.toMatchObject(refusal);
  const settings = await database.transaction((tx) =>
    tx.query("SELECT current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('jit') AS jit"),
  );
  expect(settings.rows).toEqual([{ idle: "3750ms", jit: "off" }]);
});

it("connections to PostgreSQL refuse whatever is asked after the end", async () => {
  const database = await openPostgresDatabase({ url: await someDatabase(), relayName: "a test" });
  await database.close();
  await expect(database.read.query("SELECT 1")).rejects.toMatchObject({ message: "The store is closed." });
});

it.each([
  ["synchronous_commit = off", "synchronous_commit = off"],
  ["default_transaction_read_only = on", "read-only"],
])("a PostgreSQL that must not be used is refused at the start: %s", async (setting, told) => {
  const url = await makePostgresDatabase();
  await runSql(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting}`);
  const refusal = await refusalAt(url);
  expect(refusal).toMatchObject({ code: "store_unavailable", message: expect.stringContaining(told) });
  expect(refusal.message).toContain(new URL(url).pathname.slice(1));
  expect(await runSql(url, "SELECT to_regclass('alerts') AS alerts")).toEqual([{ alerts: null }]);
});

const unsafe: Record<string, string>[] = [
  { fsync: "off" },
  { full_page_writes: "off" },
  { synchronous_commit: "local", synchronous_standby_names: "x" },
];
it.each(unsafe)("a PostgreSQL that must not be used is refused as a server: %j", async (settings) => {
  const server = await startPostgresServer(settings);
  onTestFinished(server.end);
  const [name] = Object.entries(settings)[0] as [string, string];
  const { message, hint } = await refusalAt(server.url);
  expect(message).toContain(`${name} = `);
  expect(message).toContain("may lose alerts");
  expect(hint).toContain(name);
});

it("a PostgreSQL that must not be used is refused with another encoding", async () => {
  const url = await makePostgresDatabase();
  const name = `${new URL(url).pathname.slice(1)}_latin`;
  await runSql(url, `CREATE DATABASE ${name} ENCODING 'LATIN1' TEMPLATE template0`);
  onTestFinished(() => runSql(url, `DROP DATABASE ${name}`).then(() => {}));
  expect((await refusalAt(new URL(`/${name}`, url).href)).message).toContain("encoding is LATIN1");
});

it("a PostgreSQL that must not be used is named without the password, whatever is wrong", async () => {
  const { host, pathname } = new URL(await someDatabase());
  const code = { away: "store_unavailable", wrong: "config_invalid" };
  for (const [address, expected] of Object.entries({
    [`postgres://nobody_of_that_name:geheim%2Fwort@${host}${pathname}`]: code.away,
    [`postgres://nobody_of_that_name:geheim%2Fwort@127.0.0.1:1${pathname}`]: code.away,
    [`postgres://postgres:geheim%2Fwort@${host}/no_such_database`]: code.away,
    "postgres://user:geheim/wort@host/db": code.wrong,
    "mysql://user:geheim@host/db": code.wrong,
  })) {
    const refusal = await refusalAt(address);
    expect(refusal.code).toBe(expected);
    expect(refusal.hint).toBeTruthy();
    expect([refusal.message, refusal.hint, refusal.stack, String(refusal.cause)].join("\n")).not.toMatch(/geheim/);
  }
});

it("a PostgreSQL that must not be used is named with a hint that fits what is wrong", async () => {
  const url = await someDatabase();
  const hintAt = async (address: string) => (await refusalAt(address)).hint;
  expect(await hintAt(`${url}?sslmode=verify-full&sslrootcert=/no/such/file`)).toContain("/no/such/file (sslrootcert");
  const nobody = url.replace(/@[^/]+/, "@127.0.0.1:1");
  expect(await hintAt(nobody)).toBe("Is DATABASE_URL right, and does the server run there?");
});

it.each([
  ["53300", 'too many connections for database "tocsin"', /the database's \(`ALTER DATABASE/],
  ["53300", "sorry, too many clients already", /the server's \(`max_connections`\)/],
  ["53300", "zu viele Verbindungen", /ALTER ROLE.*ALTER DATABASE.*max_connections/],
  ["57P03", "the database system is starting up", /^It starts, or recovers/],
])("a PostgreSQL that must not be used is named with a hint that fits what it says: %s, %s", (code, message, hint) => {
  expect(toUnavailable(Object.assign(new Error(message), { code, severity: "FATAL" })).hint).toMatch(hint);
});

it("a PostgreSQL that must not be used is one without TLS where the address asks for it, which no warning of the driver says among the lines of the log", async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error) => warnings.push(warning);
  process.on("warning", warn);
  onTestFinished(() => void process.off("warning", warn));
  const url = await someDatabase();
  for (const mode of ["require", "verify-ca", "prefer", "verify-full", "no-verify"]) {
    const { message, hint } = await refusalAt(`${url}?application_name=x&sslmode=${mode}`);
    expect(message).toContain("does not support SSL");
    expect(hint).toContain("`sslmode`");
  }
  await (await openPostgresDatabase({ url: `${url}?sslmode=disable`, relayName: "a test" })).close();
  expect(warnings).toEqual([]);
});

it("a PostgreSQL that must not be used is waited for while nobody may connect to it", async () => {
  const url = await makePostgresDatabase();
  const { pathname } = new URL(url);
  const server = url.replace(/[^/]*$/, "postgres");
  await runSql(server, `ALTER DATABASE ${pathname.slice(1)} ALLOW_CONNECTIONS false`);
  const refusal = await refusalAt(url);
  expect(refusal).toMatchObject({ code: "store_unavailable", retryAfterMs: 5_000 });
  expect(refusal.hint).toContain("ALLOW_CONNECTIONS true");
  expect(isOfConnection(refusal.cause)).toBe(true);
  expect(toStoreError(refusal.cause)).toMatchObject({ message: expect.stringContaining("is closed") });
});

it("a PostgreSQL that must not be used is one that a newer Tocsin has written, which stays as it is", async () => {
  const url = await makePostgresDatabase();
  await migrateOnly(url);
  await runSql(url, "INSERT INTO migrations VALUES (9999, '9999_future.sql')");
  expect(await refusalAt(url)).toMatchObject({ code: "store_too_new", message: expect.stringContaining("9999") });
});

it("migrations of PostgreSQL wait for a lock of the others without a statement's limit", async () => {
  const url = await makePostgresDatabase();
  const other = await openClient(url);
  await other.query("BEGIN; SELECT pg_advisory_xact_lock(8072401173)");
  const opening = openPostgresDatabase({ url, relayName: "a test", answerWithinMs: 2_000 });
  const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
      AND clock_timestamp() - query_start > interval '3 s'`;
  await expect.poll(async () => (await runSql(url, waits)).length).toBe(1);
  await other.query("COMMIT");
  await (await opening).close();
});
