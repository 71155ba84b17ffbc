import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writeStoredLog } from "../../bench/stored-log.ts";
import { openPostgresStore } from "../../src/store/postgres/store.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { runTocsin, stdinOf } from "../support/cli.ts";
import { createDeliveryReceiver } from "../support/delivery-receiver.ts";
import { expectWords } from "../support/expect-words.ts";
import { waitForState } from "../support/journey-world.ts";
import { runOnce } from "../support/killed-runs.ts";
import { makePostgresDatabase, runSql } from "../support/postgres.ts";
import { type RelayProcess, startRelayProcess } from "../support/relay-process.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const password = "canary-move-password";

function writeLog(alerts = 20): string {
  const dataDir = makeTempFolder();
  writeStoredLog({ path: join(dataDir, "tocsin.db"), alerts, endAt: Date.UTC(2026, 10, 21, 12) });
  mkdirSync(join(dataDir, "secrets"));
  writeFileSync(join(dataDir, "secrets", "admin-token"), "an-admin-token-of-the-old-log");
  return dataDir;
}

async function makeAddress(): Promise<string> {
  const url = new URL(await makePostgresDatabase());
  url.password ||= password;
  return url.href;
}

it("move takes the address of DATABASE_URL, of standard input or of the command line, and shows no password", async () => {
  for (const way of ["environment", "standard input", "command line"]) {
    const [dataDir, url] = [writeLog(), await makeAddress()];
    const env = { DATA_DIR: dataDir, ...(way === "environment" && { DATABASE_URL: url }) };
    const value = { environment: [], "standard input": ["-"], "command line": [url] }[way] ?? [];
    const run = await runTocsin(["move", "--to", ...value], { env, cwd: dataDir, stdin: stdinOf(`${url}\n`) });
    expect(run.status).toBe(0);
    expect(run.stdout).toMatch(/in it +20 alerts in \d+ requests, \d+ deliveries with \d+ attempts\n/);
    expectWords(run.stdout, [/compared +19 tables, each row on both sides: the same/, /next +set DATABASE_URL/]);
    expect(run.stdout + run.stderr).not.toContain(password);
    expect(await runSql(url, "SELECT count(*)::integer AS alerts FROM alerts")).toEqual([{ alerts: 20 }]);
    expect(existsSync(join(dataDir, "tocsin.db"))).toBe(false);
  }
});

it("move says with --json what it has moved, and goes back into an empty folder", async () => {
  const [dataDir, url, back] = [writeLog(), await makeAddress(), makeTempFolder()];
  const given = { env: { DATA_DIR: dataDir, DATABASE_URL: url }, cwd: dataDir };
  const there = (await runTocsin(["move", "--to", "--json"], given)).json().data;
  const alerts = { name: "alerts", rows: 20, digest: expect.stringMatching(/^\w{64}$/) };
  const kept = expect.stringContaining("before-move");
  expect(there).toMatchObject({ direction: "to", dataDir, isResumed: false, kept });
  expect(there.tables).toContainEqual(alerts);
  const env = { DATA_DIR: back, DATABASE_URL: url };
  const moved = (await runTocsin(["move", "--from", "--json"], { env, cwd: back })).json().data;
  expect(moved).toMatchObject({ direction: "from", kept: null, tables: there.tables });
  const store = openLocalStore({ path: join(back, "tocsin.db"), ballastBytes: 0 });
  expect((await store.countAlerts()).kept).toBe(20);
  await store.close();
  const refused = await runTocsin(["status"], { env, cwd: back });
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("was moved to SQLite in") });
  const elsewhere = { ...env, DATA_DIR: makeTempFolder() };
  expect((await runTocsin(["move", "--from", "--cancel"], { env: elsewhere, cwd: back })).status).toBe(0);
  expect((await runTocsin(["alerts", "list"], { env, cwd: back })).status).toBe(0);
});

it("move refuses what it cannot know or read, with a word about it", async () => {
  const cwd = makeTempFolder();
  const run = (argv: string[], env = {}) => runTocsin(["move", ...argv], { env: { DATA_DIR: cwd, ...env }, cwd });
  expect(await run([])).toMatchObject({ status: 2, stderr: expect.stringContaining("--to or --from") });
  expect(await run(["--to"])).toMatchObject({ status: 2, stderr: expect.stringContaining("DATABASE_URL") });
  expect((await run(["--to", "--from"], { DATABASE_URL: "postgres://x@127.0.0.1:1/x" })).status).toBe(2);
  const bad = await run(["--to", `mysql://x:${password}@127.0.0.1/x`]);
  expect(bad).toMatchObject({ status: 2, stderr: expect.stringContaining("not the address") });
  const away = await run(["--to", `postgres://x:${password}@127.0.0.1:1/x`]);
  expect(away).toMatchObject({ status: 1, stderr: expect.stringContaining("connection refused") });
  expect(bad.stderr + away.stderr).not.toContain(password);
  const none = await run(["--to"], { DATABASE_URL: await makeAddress() });
  expect(none).toMatchObject({ status: 1, stderr: expect.stringContaining("no log of SQLite") });
});

it("move --from is ended by the next run wherever it was killed, and what waited in PostgreSQL is sent once by a relay on SQLite", async () => {
  const [folder, url] = [makeTempFolder(), await makePostgresDatabase()];
  const receiver = await createDeliveryReceiver({ longestMs: 5, random: createSeededRandom(9).next });
  const config = join(folder, "tocsin.yaml");
  const desk = `{ type: webhook, url: "${receiver.url}", allowInternal: ["127.0.0.1"] }`;
  writeFileSync(config, `destinations: { desk: ${desk} }`);
  const before = await startRelayProcess(folder, { TOCSIN_CONFIG: config, DATABASE_URL: url });
  const change = (relay: RelayProcess, how: "pause" | "resume") =>
    relay.api(`/api/destinations/desk/${how}`, { method: "POST" }).then(({ status }) => status);
  expect((await before.post('{"title":"sent before"}')).status).toBe(202);
  await expect.poll(() => receiver.received.length).toBe(1);
  expect(await change(before, "pause")).toBe(200);
  const ids: string[] = [];
  for (let count = 0; count < 30; count += 1) ids.push(...(await before.post(`{"title":"waits ${count}"}`)).ids);
  const waiting = "SELECT count(*)::integer AS waiting FROM deliveries WHERE due_at IS NOT NULL";
  await expect.poll(() => runSql(url, waiting)).toEqual([{ waiting: 30 }]);
  expect(await before.stop()).toBe(0);

  const isOpen = () =>
    openPostgresStore({ url, relayName: "a test" }).then(
      (store) => store.close().then(() => true),
      () => false,
    );
  const prepare = async () => {
    await runSql(url, "DROP TABLE IF EXISTS moves");
    const dataDir = makeTempFolder();
    return { dataDir, env: { DATA_DIR: dataDir, HOME: dataDir, DATABASE_URL: url, TOCSIN_CONFIG: config } };
  };
  const argv = ["move", "--from", "--json"];
  const counted = await prepare();
  const steps = Number((await runOnce(argv, counted.env, 0)).said);
  expect(steps).toBeGreaterThan(10);
  // Most at the last steps, which give the log to SQLite.
  const points = [Math.floor(steps / 2), ...[4, 2, 1, 0].map((left) => steps - left)];
  let last = counted;
  for (const point of points) {
    last = await prepare();
    expect((await runOnce(argv, last.env, point)).killed, `at step ${point} of ${steps}`).toBe(true);
    const [path, isOpenThen] = [join(last.dataDir, "tocsin.db"), await isOpen()];
    expect(existsSync(path) && isOpenThen, `both have the log, killed at step ${point} of ${steps}`).toBe(false);
    const cancelled = await runTocsin(["move", "--from", "--cancel"], { env: last.env, cwd: last.dataDir });
    if (existsSync(path)) expect([cancelled.status, await isOpen()]).toEqual([1, false]);
    else expect(await isOpen()).toBe(true);
    // Behind the very last step there is nothing to go on with.
    const isOver = existsSync(path) && !existsSync(join(last.dataDir, "move.json"));
    if (!isOver) await runOnce(argv, last.env, 0);
    expect([existsSync(path), await isOpen()]).toEqual([true, false]);
  }
  // The last of all went on where it was killed, without having been given up.
  last = await prepare();
  const isMoved = () => existsSync(join(last.dataDir, "tocsin.db"));
  for (const point of [Math.floor(steps / 2), Math.floor(steps / 3), 0])
    if (!isMoved()) await runOnce(argv, last.env, point);
  expect(isMoved()).toBe(true);

  const after = await startRelayProcess(last.dataDir, { TOCSIN_CONFIG: config });
  expect(receiver.received).toHaveLength(1);
  expect(await change(after, "resume")).toBe(200);
  const sent = () => receiver.received.slice(1).flatMap(({ alertIds }) => alertIds);
  await expect.poll(() => sent().length).toBeGreaterThanOrEqual(30);
  for (const id of ids) await waitForState(after, id, "digested");
  expect(await after.stop()).toBe(0);
  expect(sent().sort()).toEqual([...ids].sort());
  expect(receiver.received.some(({ markedRepeat }) => markedRepeat)).toBe(false);
});

it.each([
  [["backup", "x.db"], "pg_dump --format=custom"],
  [["restore", "x.db"], "pg_restore --clean --if-exists --no-owner --single-transaction"],
  [["repair"], "pg_amcheck"],
])("commands for SQLite's file name that of PostgreSQL: %s", async (argv, command) => {
  const cwd = makeTempFolder();
  const run = await runTocsin(argv, { env: { DATA_DIR: cwd, DATABASE_URL: "postgres://x@127.0.0.1:1/x" }, cwd });
  expect(run.status).toBe(1);
  expect(run.stderr).toContain(command);
});
