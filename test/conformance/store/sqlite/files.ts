import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { withSqlite } from "../../../../src/store/sqlite/sqlite-library.ts";
import type { SqliteStore } from "../../../../src/store/sqlite/store.ts";
import { makeTempFolder } from "../../../support/temp-folder.ts";
import { aboutScenes, noon, openScene } from "../scene.ts";

/** What a database that is a file has to do besides. */
export const describeFiles = aboutScenes("as files", openScene<SqliteStore>, (test, open) => {
  test("knows the room on its disk, and counts what is still in the write-ahead log as its size", async (scene) => {
    const { store, dataDir, route } = scene;
    await route();
    const size = (name: string) => statSync(join(dataDir, name)).size;
    expect(size("tocsin.db-wal")).toBeGreaterThan(0);
    const { bytes, freeBytes } = await store.health();
    expect([bytes, (freeBytes ?? 0) > 0]).toEqual([size("tocsin.db") + size("tocsin.db-wal"), true]);
  });

  test("copies itself while it is written to: whole, checked, private, and nothing else beside it", async (scene) => {
    const { store, route } = scene;
    const before = await route();
    const folder = makeTempFolder();
    const path = join(folder, "copy.db");
    let copying = true;
    const backup = store.backup(path).finally(() => {
      copying = false;
    });
    const written: string[] = [];
    while (copying) {
      written.push((await route({ facts: { title: "meanwhile" } })).id);
      // A store in this thread answers without ever giving the copy its turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await backup;
    expect(readdirSync(folder)).toEqual(["copy.db"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const ids = withSqlite(path, { readonly: true }, (copy) => {
      expect(copy.pragma("integrity_check", { simple: true })).toBe("ok");
      return copy.prepare("SELECT id FROM alerts ORDER BY seq").pluck().all();
    });
    expect(ids).toEqual([before.id, ...written].slice(0, ids.length));
    expect(written.length).toBeGreaterThan(0);
  });

  test("opens from its copy", async (scene) => {
    const { id } = await scene.route();
    const dataDir = makeTempFolder();
    await scene.store.backup(join(dataDir, "tocsin.db"));
    const copy = await open(dataDir);
    expect(await copy.getAlert(id)).toEqual(await scene.store.getAlert(id));
    await copy.close();
  });

  test("copies over no file, and into no folder that is missing", async ({ store, dataDir }) => {
    const taken = join(dataDir, "taken");
    writeFileSync(taken, "precious");
    await expect(store.backup(taken)).rejects.toMatchObject({ code: "conflict" });
    expect(readFileSync(taken, "utf8")).toBe("precious");
    const nowhere = join(dataDir, "missing", "copy.db");
    await expect(store.backup(nowhere)).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("empties the write-ahead log when it is maintained, about once an hour, and goes on", async (scene) => {
    const { store, route, dataDir } = scene;
    const log = join(dataDir, "tocsin.db-wal");
    await route();
    expect(statSync(log).size).toBeGreaterThan(0);
    await store.maintain(noon);
    expect(statSync(log).size).toBeGreaterThan(0);
    expect(await store.maintain(noon + 3_600_000)).toEqual({
      logEmptied: true,
      pagesFreed: expect.any(Number),
      keysRemoved: 0,
    });
    expect(statSync(log).size).toBe(0);
    await route();
    expect((await store.countAlerts()).total).toBe(2);
  });

  test("leaves no log behind when it is closed", async (scene) => {
    await scene.route();
    await scene.restart();
    await scene.store.close();
    expect(existsSync(join(scene.dataDir, "tocsin.db-wal"))).toBe(false);
    scene.store = await open(scene.dataDir);
  });

  test("keeps its files from everybody else", async ({ route, dataDir }) => {
    await route();
    for (const file of readdirSync(dataDir))
      expect(`${file} ${(statSync(join(dataDir, file)).mode & 0o777).toString(8)}`).toBe(`${file} 600`);
  });
});
