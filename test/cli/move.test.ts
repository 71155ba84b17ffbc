import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { writeStoredLog } from "../../bench/stored-log.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { runTocsin } from "../support/cli.ts";
import { makePostgresDatabase, runSql } from "../support/postgres.ts";
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
  return (await makePostgresDatabase()).replace(
    /\/\/([^:@]+)(:[^@]*)?@/,
    (_, user, own) => `//${user}${own ?? `:${password}`}@`,
  );
}

function inputOf(text: string): PassThrough {
  const stdin = new PassThrough();
  stdin.end(text);
  return stdin;
}

describe("move", () => {
  it("takes the address of DATABASE_URL, of standard input or of the command line, and shows no password", async () => {
    for (const way of ["environment", "standard input", "command line"]) {
      const [dataDir, url] = [writeLog(), await makeAddress()];
      const env = { DATA_DIR: dataDir, ...(way === "environment" && { DATABASE_URL: url }) };
      const value = { environment: [], "standard input": ["-"], "command line": [url] }[way] ?? [];
      const run = await runTocsin(["move", "--to", ...value], { env, cwd: dataDir, stdin: inputOf(`${url}\n`) });
      expect(run.status).toBe(0);
      expect(run.stdout).toMatch(/in it +20 alerts in \d+ requests, \d+ deliveries with \d+ attempts\n/);
      expect(run.stdout).toMatch(/compared +17 tables, each row on both sides: the same/);
      expect(run.stdout).toMatch(/next +set DATABASE_URL/);
      expect(run.stdout + run.stderr).not.toContain(password);
      expect(await runSql(url, "SELECT count(*)::integer AS alerts FROM alerts")).toEqual([{ alerts: 20 }]);
      expect(existsSync(join(dataDir, "tocsin.db"))).toBe(false);
    }
  });

  it("says with --json what it has moved, and goes back into an empty folder", async () => {
    const [dataDir, url, back] = [writeLog(), await makeAddress(), makeTempFolder()];
    const there = await runTocsin(["move", "--to", "--json"], {
      env: { DATA_DIR: dataDir, DATABASE_URL: url },
      cwd: dataDir,
    });
    expect(there.json().data).toMatchObject({
      direction: "to",
      dataDir,
      isResumed: false,
      kept: expect.stringContaining("before-move"),
      tables: expect.arrayContaining([{ name: "alerts", rows: 20, digest: expect.stringMatching(/^\w{64}$/) }]),
    });
    const env = { DATA_DIR: back, DATABASE_URL: url };
    expect((await runTocsin(["move", "--from", "--json"], { env, cwd: back })).json().data).toMatchObject({
      direction: "from",
      kept: null,
      tables: there.json().data.tables,
    });
    const store = openLocalStore({ path: join(back, "tocsin.db"), ballastBytes: 0 });
    expect((await store.countAlerts()).kept).toBe(20);
    await store.close();
    const refused = await runTocsin(["status"], { env, cwd: back });
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain("was moved to SQLite in");
    expect(
      (await runTocsin(["move", "--from", "--cancel"], { env: { ...env, DATA_DIR: makeTempFolder() }, cwd: back }))
        .status,
    ).toBe(0);
    expect((await runTocsin(["alerts", "list"], { env, cwd: back })).status).toBe(0);
  });

  it("refuses what it cannot know or read, with a word about it", async () => {
    const cwd = makeTempFolder();
    const run = (argv: string[], env = {}) => runTocsin(["move", ...argv], { env: { DATA_DIR: cwd, ...env }, cwd });
    expect(await run([])).toMatchObject({ status: 2, stderr: expect.stringContaining("--to or --from") });
    expect(await run(["--to"])).toMatchObject({ status: 2, stderr: expect.stringContaining("DATABASE_URL") });
    expect((await run(["--to", "--from"], { DATABASE_URL: "postgres://x@127.0.0.1:1/x" })).status).toBe(2);
    const bad = await run(["--to", `mysql://x:${password}@127.0.0.1/x`]);
    expect(bad).toMatchObject({ status: 2, stderr: expect.stringContaining("not the address") });
    const away = await run(["--to", `postgres://x:${password}@127.0.0.1:1/x`]);
    expect(away).toMatchObject({ status: 1, stderr: expect.stringContaining("ECONNREFUSED") });
    expect(bad.stderr + away.stderr).not.toContain(password);
    const none = await run(["--to"], { DATABASE_URL: await makeAddress() });
    expect(none).toMatchObject({ status: 1, stderr: expect.stringContaining("no log of SQLite") });
  });
});

describe("commands for SQLite's file", () => {
  it.each([
    [["backup", "x.db"], "pg_dump --format=custom"],
    [["restore", "x.db"], "pg_restore --clean --if-exists --no-owner --single-transaction"],
    [["repair"], "pg_amcheck"],
    [["alerts", "import", "x.ndjson"], "tocsin move --to"],
  ])("name that of PostgreSQL: %s", async (argv, command) => {
    const cwd = makeTempFolder();
    const run = await runTocsin(argv, { env: { DATA_DIR: cwd, DATABASE_URL: "postgres://x@127.0.0.1:1/x" }, cwd });
    expect(run.status).toBe(1);
    expect(run.stderr).toContain(command);
  });
});
