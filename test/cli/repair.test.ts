import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writeStoredLog } from "../../bench/stored-log.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { runTocsin } from "../support/cli.ts";
import { expectWords } from "../support/expect-words.ts";
import { killAtSteps } from "../support/killed-runs.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const count = 600;

function storedLog(alerts = count) {
  const dataDir = makeTempFolder();
  const path = join(dataDir, "tocsin.db");
  writeStoredLog({ path, alerts });
  const run = () => runTocsin(["repair", "--json"], { env: { DATA_DIR: dataDir }, cwd: dataDir });
  return { dataDir, path, run };
}

/** Pages of a table or an index that hold rows, in the order of the rows. */
function leavesOf(path: string, name: string): number[] {
  const db = new Sqlite(path, { readonly: true });
  const pages = db
    .prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path")
    .pluck()
    .all(name) as number[];
  db.close();
  return pages;
}

function overwrite(path: string, page: number): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(4096, 0x5a), 0, 4096, (page - 1) * 4096);
  closeSync(file);
}

const alertsOf = async (path: string) => {
  const store = openLocalStore({ path, ballastBytes: 0 });
  await store.maintain(0);
  const listed = await store.listAlerts({ limit: 1000 });
  const counts = await store.countByDestination();
  await store.close();
  return { ids: listed.map(({ id }) => id), counts };
};

it("repair does nothing to a log that is whole", async () => {
  const { dataDir, path, run } = storedLog();
  const before = readFileSync(path);
  expect((await run()).json().data).toMatchObject({ found: [], kept: null });
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(readdirSync(dataDir).filter((name) => /repair/.test(name))).toEqual([]);
});

it("repair saves every row when only an index or the search is damaged, and keeps the original", async () => {
  const { path, run } = storedLog();
  const whole = await alertsOf(path);
  for (const name of ["deliveries_by_state", "sqlite_autoindex_alerts_1", "alerts_search_data"]) {
    const leaves = leavesOf(path, name);
    overwrite(path, leaves[Math.floor(leaves.length / 2)] as number);
  }
  const damaged = readFileSync(path);
  const { data } = (await run()).json();
  expect(data.found.length).toBeGreaterThan(0);
  expect(data.tables.flatMap(({ lost }: { lost: unknown[] }) => lost)).toEqual([]);
  expect(await alertsOf(path)).toEqual(whole);
  expect(readFileSync(data.kept).equals(damaged)).toBe(true);
  expect((await run()).json().data).toMatchObject({ found: [], kept: null });
});

it("repair says in words what was lost: when alerts came, what was not sent, which bodies are gone", async () => {
  const { dataDir, path } = storedLog();
  const db = new Sqlite(path);
  const page = (name: string, place: number) => leavesOf(path, name)[place] as number;
  db.exec("UPDATE deliveries SET state = 'queued', due_at = 1, finished_at = NULL WHERE alert_seq < 300");
  db.close();
  for (const [name, place] of [
    ["alerts", 3],
    ["deliveries", 8],
    ["requests", 6],
  ] as const)
    overwrite(path, page(name, place));
  const { stdout } = await runTocsin(["repair"], { env: { DATA_DIR: dataDir }, cwd: dataDir });
  expect(stdout).toMatch(/alerts between positions \d+ and \d+ \(after 20\S+Z until 20\S+Z\)/);
  expect(stdout).toMatch(/\d+ deliveries of lost alerts, \d+ of them not sent yet/);
  expectWords(stdout, [/\d+ alerts without a delivery that was decided/, /the bodies of \d+ alerts/]);
});

it("repair counts rows that were read and cannot be right", async () => {
  const { path, run } = storedLog();
  const db = new Sqlite(path);
  // What a damaged page may say: a text where a number has to be.
  db.unsafeMode(true);
  db.pragma("writable_schema = ON");
  db.exec("UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'attempts'");
  db.pragma("writable_schema = RESET");
  db.exec("UPDATE attempts SET at = 'never' WHERE seq IN (3, 5)");
  db.close();
  overwrite(path, leavesOf(path, "attempts_by_delivery")[0] as number);
  const { data } = (await run()).json();
  expect(data.tables.find(({ name }: { name: string }) => name === "attempts")).toMatchObject({ lost: [], unfit: 2 });
});

it("repair leaves the damaged database or the mended one wherever it is killed, and works the next time", async () => {
  const { path } = storedLog(count / 2);
  const whole = await alertsOf(path);
  const leaves = leavesOf(path, "deliveries_by_state");
  overwrite(path, leaves[Math.floor(leaves.length / 2)] as number);
  const damaged = readFileSync(path);
  const dataDir = join(makeTempFolder(), "data");
  mkdirSync(dataDir, { mode: 0o700 });
  writeFileSync(join(dataDir, "tocsin.db"), damaged);
  let [former, mended] = [0, 0];
  await killAtSteps(["repair", "--json"], dataDir, async (when) => {
    const file = join(dataDir, "tocsin.db");
    const isFormer = readFileSync(file).equals(damaged);
    if (when === "killed") {
      if (isFormer) former += 1;
      else mended += 1;
      return;
    }
    expect(await alertsOf(file)).toEqual(whole);
    const kept = readdirSync(dataDir).filter((name) => /before-repair/.test(name));
    expect(kept.some((name) => readFileSync(join(dataDir, name)).equals(damaged))).toBe(true);
    expect(readdirSync(dataDir).filter((name) => /repairing/.test(name))).toEqual([]);
  });
  expect(former).toBeGreaterThan(3);
  expect(mended).toBeGreaterThan(0);
});

it("repair changes nothing where nothing can be saved, and where there is no database", async () => {
  const { dataDir, path, run } = storedLog();
  copyFileSync(path, join(dataDir, "whole.db"));
  overwrite(path, 1);
  const before = readFileSync(path);
  const result = await run();
  expect(result.status).toBe(1);
  expect(result.json().error.hint).toContain("tocsin restore");
  expect(readFileSync(path).equals(before)).toBe(true);
  writeFileSync(path, "");
  expect((await run()).status).toBe(1);
  const elsewhere = makeTempFolder();
  const none = await runTocsin(["repair"], { env: { DATA_DIR: elsewhere }, cwd: elsewhere });
  expect(none.stderr).toContain("there is no database");
});
