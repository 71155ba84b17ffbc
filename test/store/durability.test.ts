import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { withSqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startProcess } from "./store-process.ts";

const open = (dataDir: string) => openThreadedStore({ dataDir, ballastBytes: 0, threadEntry: compiledThread() });

it("durability syncs every commit, when it makes the database and when it opens it again", () => {
  const path = join(makeTempFolder(), "tocsin.db");
  for (const time of ["made", "opened again", "opened a third time"]) {
    const db = openDatabase({ path });
    const set = ["synchronous", "journal_mode", "auto_vacuum", "foreign_keys"].map((name) =>
      db.pragma(name, { simple: true }),
    );
    expect.soft(set, time).toEqual([2, "wal", 2, 1]);
    db.close();
  }
});

it("the lock on the data folder keeps a second process out, in one clear line, and is gone when the holder is killed", async () => {
  const dataDir = makeTempFolder();
  const holder = startProcess(new URL("./hold-store.ts", import.meta.url), [dataDir]);
  await expect.poll(() => holder.said.stdout).toBe("open\n");
  const message = `Another Tocsin already uses the data folder ${dataDir}.`;
  const hint = expect.stringContaining("DATA_DIR");
  await expect(open(dataDir)).rejects.toMatchObject({ code: "store_locked", message, hint });
  holder.child.kill("SIGKILL");
  await holder.ended;
  const store = await open(dataDir);
  await store.close();
});

it("the lock on the data folder is let go when opening fails, and so is the database", async () => {
  const dataDir = makeTempFolder();
  const path = join(dataDir, "tocsin.db");
  const setVersion = (version: number) => withSqlite(path, {}, (db) => db.pragma(`user_version = ${version}`));
  setVersion(999);
  await expect(open(dataDir)).rejects.toMatchObject({ code: "store_too_new" });
  setVersion(0);
  await (await open(dataDir)).close();
});

it("the lock on the data folder says what is wrong with a folder that cannot be one", async () => {
  const dataDir = makeTempFolder();
  mkdirSync(join(dataDir, "tocsin.lock"));
  const message = `The data folder ${dataDir} cannot be opened (EISDIR).`;
  await expect(open(dataDir)).rejects.toMatchObject({ code: "store_unavailable", message });
});
