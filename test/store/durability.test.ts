import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startProcess } from "./store-process.ts";

const open = (dataDir: string) => openThreadedStore({ dataDir, ballastBytes: 0, threadEntry: compiledThread() });

describe("durability", () => {
  it("syncs every commit, when it makes the database and when it opens it again", () => {
    const path = join(makeTempFolder(), "tocsin.db");
    for (const time of ["made", "opened again", "opened a third time"]) {
      const db = openDatabase({ path });
      expect.soft(db.pragma("synchronous", { simple: true }), time).toBe(2);
      expect.soft(db.pragma("journal_mode", { simple: true }), time).toBe("wal");
      expect.soft(db.pragma("auto_vacuum", { simple: true }), time).toBe(2);
      expect.soft(db.pragma("foreign_keys", { simple: true }), time).toBe(1);
      db.close();
    }
  });

  it("still needs to ask for it: a database that is opened again would not sync every commit", () => {
    const path = join(makeTempFolder(), "tocsin.db");
    openDatabase({ path }).close();
    const db = new Sqlite(path);
    onTestFinished(() => void db.close());
    db.prepare("SELECT count(*) FROM alerts").get();
    expect(db.pragma("synchronous", { simple: true })).toBe(1);
  });

  it("has every acknowledged alert after SIGKILL amid many callers, time after time", async () => {
    const dataDir = makeTempFolder();
    const acknowledged: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const relay = startProcess(new URL("./accept-for-ever.ts", import.meta.url), [dataDir]);
      expect(await relay.nextLine()).toBe("open");
      const wanted = 250 + round * 101;
      for (let count = 0; count < wanted; count += 1) acknowledged.push(await relay.nextLine());
      await relay.kill();
      acknowledged.push(...(await relay.linesUntilEnd()).filter((line) => line.length === 36));
    }
    const store = await open(dataDir);
    onTestFinished(() => store.close());
    const lost: string[] = [];
    for (const id of acknowledged) {
      const kept = (await store.getAlert(id))?.request?.body;
      if (kept === undefined || Buffer.from(kept).toString() !== `{"id":"${id}"}`) lost.push(id);
    }
    expect(lost).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(1000);
    expect((await store.health()).unrouted).toBeGreaterThanOrEqual(acknowledged.length);
  });
});

describe("the lock on the data folder", () => {
  it("keeps a second process out, in one clear line, and is gone when the holder is killed", async () => {
    const dataDir = makeTempFolder();
    const holder = startProcess(new URL("./accept-for-ever.ts", import.meta.url), [dataDir]);
    await holder.nextLine();
    await expect(open(dataDir)).rejects.toMatchObject({
      code: "store_locked",
      message: `Another Tocsin already uses the data folder ${dataDir}.`,
      hint: expect.stringContaining("DATA_DIR"),
    });
    await holder.kill();
    const store = await open(dataDir);
    await store.close();
  });

  it("keeps out a second store of the same process, and lets it in after the first has closed", async () => {
    const dataDir = makeTempFolder();
    const first = await open(dataDir);
    await expect(open(dataDir)).rejects.toMatchObject({ code: "store_locked" });
    await first.close();
    await (await open(dataDir)).close();
  });

  it("is let go when opening fails, and so is the database", async () => {
    const dataDir = makeTempFolder();
    const path = join(dataDir, "tocsin.db");
    const newer = new Sqlite(path);
    newer.pragma("user_version = 999");
    newer.close();
    await expect(open(dataDir)).rejects.toMatchObject({ code: "store_too_new" });
    const mended = new Sqlite(path);
    mended.pragma("user_version = 0");
    mended.close();
    await (await open(dataDir)).close();
  });

  it("says what is wrong with a folder that cannot be one", async () => {
    const dataDir = makeTempFolder();
    mkdirSync(join(dataDir, "tocsin.lock"));
    await expect(open(dataDir)).rejects.toMatchObject({
      code: "store_unavailable",
      message: `The data folder ${dataDir} cannot be opened (EISDIR).`,
    });
  });
});
