import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createRelayWorld } from "./relay-world.ts";

/** A backup with one alert, of a log that has gone on to two. */
async function backedUp() {
  const world = await createRelayWorld();
  const [id = ""] = await world.post({ title: "In the backup", severity: "critical" });
  await world.ended(id);
  await world.run(["backup", "copy.db"]);
  const [late = ""] = await world.post({ title: "After it" });
  await world.ended(late);
  return { world, id, late, file: join(world.dataDir, "copy.db"), path: join(world.dataDir, "tocsin.db") };
}

async function idsIn(path: string): Promise<string[]> {
  const store = openLocalStore({ path, readOnly: true });
  const alerts = await store.listAlerts({ limit: 9 });
  await store.close();
  return alerts.map((alert) => alert.id);
}

it("puts the backup in the place of what was there, and keeps that beside it", async () => {
  const { world, id, late, path } = await backedUp();
  const running = await world.run(["restore", "copy.db", "--json"]);
  expect(running.json().error).toMatchObject({ code: "store_locked" });
  await world.stopRelay();
  const { data } = (await world.run(["restore", "copy.db", "--json"])).json();
  expect(data).toMatchObject({ database: path, alerts: 1, waiting: 0 });
  expect(data.kept).toMatch(/tocsin\.db\.before-restore-\d{8}T\d{6}Z$/);
  expect(await idsIn(path)).toEqual([id]);
  expect(await idsIn(data.kept)).toEqual([late, id]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(world.dataDir).filter((name) => /restoring|partial/.test(name))).toEqual([]);
});

it("keeps what a killed relay had not put into its place yet", async () => {
  const { world, id, late, path } = await backedUp();
  // As SIGKILL leaves it: with changes in the write-ahead log alone.
  const killed = join(makeTempFolder(), "killed");
  mkdirSync(killed);
  for (const ending of ["", "-wal"]) copyFileSync(`${path}${ending}`, join(killed, `tocsin.db${ending}`));
  writeFileSync(join(killed, "tocsin.db.claims"), "of then");
  expect(statSync(join(killed, "tocsin.db-wal")).size).toBeGreaterThan(0);
  const env = { ...world.env, DATA_DIR: killed };
  const { data } = (await world.run(["restore", "copy.db", "--json"], { env })).json();
  expect(await idsIn(join(killed, "tocsin.db"))).toEqual([id]);
  expect(await idsIn(data.kept)).toEqual([late, id]);
  expect(existsSync(join(killed, "tocsin.db.claims"))).toBe(false);
  expect(existsSync(`${data.kept}.claims`)).toBe(true);
});

it("changes nothing for a file that is damaged, none of Tocsin's, from a newer Tocsin, or missing", async () => {
  const { world, id, late, file, path } = await backedUp();
  await world.stopRelay();
  const damaged = readFileSync(file);
  damaged.fill(0xff, 3 * 8192, 20 * 8192);
  const other = new Sqlite(join(world.dataDir, "other.db"));
  other.exec("CREATE TABLE things (a)");
  other.close();
  copyFileSync(file, join(world.dataDir, "newer.db"));
  const newer = new Sqlite(join(world.dataDir, "newer.db"));
  newer.pragma("user_version = 999");
  newer.close();
  writeFileSync(join(world.dataDir, "damaged.db"), damaged);
  writeFileSync(join(world.dataDir, "text.db"), "no database at all, but a text of some length ".repeat(99));
  writeFileSync(join(world.dataDir, "empty.db"), "");
  for (const name of ["damaged.db", "text.db", "empty.db", "other.db", "newer.db", "missing.db", "."]) {
    const run = await world.run(["restore", name]);
    expect.soft(run.status, name).toBe(1);
    expect.soft(run.stderr.trim().split("\n").length, run.stderr).toBeLessThanOrEqual(2);
    expect.soft(run.stderr).not.toMatch(/internal|defect/);
  }
  expect(await idsIn(path)).toEqual([late, id]);
  expect(readdirSync(world.dataDir).filter((name) => /restoring|before-restore/.test(name))).toEqual([]);
});
