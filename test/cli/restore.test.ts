import { spawnSync } from "node:child_process";
import {
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { limitFiles } from "../store/small-disk.ts";
import { runTocsin } from "../support/cli.ts";
import { killAtSteps } from "../support/killed-runs.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createRelayWorld } from "./relay-world.ts";

const bin = fileURLToPath(new URL("../../bin/tocsin.js", import.meta.url));

/** A backup with one alert, of a log that has gone on to two. */
async function backedUp() {
  const world = await createRelayWorld();
  const { id } = await world.send({ title: "In the backup", severity: "critical" });
  await world.run("backup copy.db");
  const { id: late } = await world.send({ title: "After it" });
  return { world, id, late, file: join(world.dataDir, "copy.db"), path: join(world.dataDir, "tocsin.db") };
}

async function idsIn(path: string): Promise<string[]> {
  const store = openLocalStore({ path, readOnly: true });
  const alerts = await store.listAlerts({ limit: 9 });
  await store.close();
  return alerts.map((alert) => alert.id);
}

/** What the log that was put there lacks. */
async function restoredTimesIn(path: string): Promise<unknown> {
  const store = openLocalStore({ path, readOnly: true });
  const state = (await store.loadWatchState("restores")) as { times: unknown };
  await store.close();
  return state.times;
}

it("puts the backup in the place of what was there, and keeps that beside it", async () => {
  const { world, id, late, file, path } = await backedUp();
  expect((await world.run("restore copy.db --json")).json().error).toMatchObject({ code: "store_locked" });
  await world.stopRelay();
  const data = await world.data("restore copy.db");
  expect(data).toMatchObject({ database: path, alerts: 1, waiting: 0 });
  expect(data.kept).toMatch(/tocsin\.db\.before-restore-\d{8}T\d{6}Z$/);
  expect(await idsIn(path)).toEqual([id]);
  expect(await idsIn(data.kept)).toEqual([late, id]);
  expect(await restoredTimesIn(path)).toEqual([{ fromAt: Date.parse(data.lastReceivedAt), toAt: expect.any(Number) }]);
  for (const name of [file, path]) expect(statSync(name).mode & 0o777).toBe(0o600);
  expect(readdirSync(world.dataDir).filter((name) => /restoring|partial/.test(name))).toEqual([]);
});

it("makes no backup of a folder without a database", async () => {
  const DATA_DIR = makeTempFolder();
  const run = await runTocsin(["backup", "copy.db"], { env: { DATA_DIR }, cwd: DATA_DIR });
  expect([run.status, run.stderr]).toEqual([1, expect.stringContaining("there is no database")]);
});

it("keeps what a killed relay had not put into its place yet", async () => {
  const { world, id, late, file, path } = await backedUp();
  const killed = killedCopyOf(path, file);
  writeFileSync(`${killed.path}.claims`, "of then");
  expect(statSync(`${killed.path}-wal`).size).toBeGreaterThan(0);
  const env = { ...world.env, ...killed.env };
  const { data } = (await world.run("restore copy.db --json", { env })).json();
  expect(await idsIn(killed.path)).toEqual([id]);
  expect(await idsIn(data.kept)).toEqual([late, id]);
  expect(existsSync(`${killed.path}.claims`)).toBe(false);
  expect(existsSync(`${data.kept}.claims`)).toBe(true);
});

it("changes nothing for a file that is damaged, none of Tocsin's, from a newer Tocsin, or missing", async () => {
  const { world, id, late, file, path } = await backedUp();
  await world.stopRelay();
  const damaged = readFileSync(file);
  damaged.fill(0xff, 3 * 4096, 20 * 4096);
  copyFileSync(file, join(world.dataDir, "newer.db"));
  const statements = { "other.db": "CREATE TABLE things (a)", "newer.db": "PRAGMA user_version = 999" };
  for (const [name, statement] of Object.entries(statements)) {
    const db = new Sqlite(join(world.dataDir, name));
    db.exec(statement);
    db.close();
  }
  writeFileSync(join(world.dataDir, "damaged.db"), damaged);
  writeFileSync(join(world.dataDir, "text.db"), "no database at all, but a text of some length ".repeat(99));
  writeFileSync(join(world.dataDir, "empty.db"), "");
  for (const name of ["damaged.db", "text.db", "empty.db", "other.db", "newer.db", "missing.db", "."]) {
    const run = await world.run(`restore ${name}`);
    expect.soft(run.status, name).toBe(1);
    expect.soft(run.stderr.trim().split("\n").length, run.stderr).toBeLessThanOrEqual(2);
    expect.soft(run.stderr).not.toMatch(/internal|defect/);
  }
  expect(await idsIn(path)).toEqual([late, id]);
  expect(readdirSync(world.dataDir).filter((name) => /restoring|before-restore/.test(name))).toEqual([]);
});

/** As SIGKILL leaves it: what came last stands in the write-ahead log alone. */
function killedCopyOf(path: string, file: string) {
  const dataDir = join(makeTempFolder(), "data");
  mkdirSync(dataDir, { mode: 0o700 });
  for (const ending of ["", "-wal"]) copyFileSync(`${path}${ending}`, join(dataDir, `tocsin.db${ending}`));
  copyFileSync(file, join(dataDir, "copy.db"));
  return { dataDir, path: join(dataDir, "tocsin.db"), env: { DATA_DIR: dataDir } };
}

/** Read from a copy, so that looking changes nothing. */
async function idsBeside(path: string): Promise<string[]> {
  const copy = join(makeTempFolder(), "copy.db");
  for (const ending of ["", "-wal"])
    if (existsSync(`${path}${ending}`)) copyFileSync(`${path}${ending}`, `${copy}${ending}`);
  const store = openLocalStore({ path: copy, ballastBytes: 0 });
  const alerts = await store.listAlerts({ limit: 9 });
  await store.close();
  return alerts.map((alert) => alert.id);
}

it("leaves the former database or the restored one wherever it is killed, and works the next time", async () => {
  const { world, id, late, file, path } = await backedUp();
  const former = killedCopyOf(path, file);
  await world.stopRelay();
  writeFileSync(`${former.path}.claims`, "of then");
  const seen = new Set<string>();
  await killAtSteps(["restore", join(former.dataDir, "copy.db"), "--json"], former.dataDir, async (when) => {
    const ids = await idsBeside(former.path);
    seen.add(`${when} ${ids.length}`);
    expect(when === "done" ? [[id]] : [[id], [late, id]]).toContainEqual(ids);
    const names = readdirSync(former.dataDir);
    const kept = names
      .filter((name) => /before-restore-\w+(-\d)?$/.test(name))
      .map((name) => join(former.dataDir, name));
    if (when === "killed") return;
    expect(names.filter((name) => /restoring|partial|-wal$/.test(name))).toEqual([]);
    const claims = names.filter((name) => name.endsWith(".claims"));
    expect(claims.filter((name) => !names.includes(name.replace(".claims", "")))).toEqual([]);
    // Whatever was kept is no second name of what is in use, and the first of them is the former database.
    for (const one of kept) expect(statSync(one).nlink).toBe(1);
    expect(await Promise.all(kept.map(idsBeside))).toContainEqual([late, id]);
  });
  expect(seen).toEqual(new Set(["done 1", "killed 2", "killed 1"]));
});

it("keeps what an earlier restore of the same second has kept", async () => {
  const { world, id, late } = await backedUp();
  await world.stopRelay();
  const first = (await world.run("restore copy.db --json", { now: () => 0 })).json().data;
  const second = (await world.run("restore copy.db --json", { now: () => 0 })).json().data;
  expect(second.kept).not.toBe(first.kept);
  expect(await idsIn(first.kept)).toEqual([late, id]);
});

it("changes nothing while another program reads the database, and names what it is", async () => {
  const { world, late, id, path } = await backedUp();
  const killed = killedCopyOf(path, join(world.dataDir, "copy.db"));
  await world.stopRelay();
  const reader = new Sqlite(killed.path);
  reader.exec("BEGIN; SELECT count(*) FROM alerts");
  const run = await runTocsin(["restore", join(killed.dataDir, "copy.db"), "--json"], { env: killed.env });
  expect(run.json().error).toMatchObject({ code: "store_unavailable", message: expect.stringContaining("reads") });
  reader.close();
  expect(await idsBeside(killed.path)).toEqual([late, id]);
  expect(readdirSync(killed.dataDir).filter((name) => /restoring|before/.test(name))).toEqual([]);
});

it("takes a backup of an earlier Tocsin, which the next start brings up to date", async () => {
  const dataDir = makeTempFolder();
  const file = join(dataDir, "old.db");
  writeFileSync(file, gunzipSync(readFileSync(new URL("../fixtures/databases/0a9fe3b.db.gz", import.meta.url))));
  const { data } = (await runTocsin(["restore", file, "--json"], { env: { DATA_DIR: dataDir } })).json();
  expect(data.alerts).toBeGreaterThan(10);
  expect(data.waiting).toBeGreaterThan(0);
  const store = openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes: 0 });
  expect((await store.countAlerts()).kept).toBe(data.alerts);
  await store.close();
});

it.skipIf(process.getuid?.() !== 0)(
  "leaves nothing of root's in the folder of the user that Tocsin runs as",
  async () => {
    const { world } = await backedUp();
    const dataDir = join(makeTempFolder(), "data");
    mkdirSync(dataDir, { mode: 0o700 });
    chownSync(dataDir, 12_345, 12_345);
    const argv = ["restore", join(world.dataDir, "copy.db")];
    expect(await runTocsin(argv, { env: { DATA_DIR: dataDir } })).toMatchObject({ status: 0 });
    const names = readdirSync(dataDir);
    expect(names).toContain("tocsin.db");
    expect(names.filter((name) => statSync(join(dataDir, name)).uid !== 12_345)).toEqual([]);
  },
);

it("refuses the database itself, also by a second name", async () => {
  const { world, path } = await backedUp();
  await world.stopRelay();
  linkSync(path, `${path}.before-restore-x`);
  for (const name of ["tocsin.db", "tocsin.db.before-restore-x"])
    expect((await world.run(`restore ${name} --json`)).json().error.message).toContain("the database itself");
});

it("changes nothing where there is no room for the copy, nor does repair, and says so", async () => {
  const { world, id, file, path } = await backedUp();
  const { dataDir, path: there, env } = killedCopyOf(path, file);
  await world.stopRelay();
  copyFileSync(file, there);
  rmSync(`${there}-wal`);
  const whole = readFileSync(there);
  const damaged = Buffer.from(whole);
  damaged.fill(0x5a, whole.length - 3 * 4096, whole.length - 4096);
  const runWithout = (argv: string[]) => {
    const [command = "", ...args] = limitFiles(256)([process.execPath, bin, ...argv, "--json"]);
    const run = spawnSync(command, args, { env: { PATH: process.env.PATH, ...env }, encoding: "utf8" });
    expect.soft(run.status, run.stdout).toBe(1);
    return JSON.parse(run.stdout).error;
  };
  // SQLite's own copying says no more of a file that may not grow.
  expect(runWithout(["restore", join(dataDir, "copy.db")]).message).toMatch(/^there is no room in |SQLITE_IOERR/);
  expect(await idsBeside(there)).toEqual([id]);
  writeFileSync(there, damaged);
  expect(runWithout(["repair"]).message).toMatch(/^there is no room in |repairing cannot be opened/);
  expect(readFileSync(there).equals(damaged)).toBe(true);
  expect(readdirSync(dataDir).filter((name) => /restoring|repairing|partial|before/.test(name))).toEqual([]);
});
