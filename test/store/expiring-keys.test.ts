import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { migrate, readMigrations } from "../../src/store/sqlite/migrate.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const entry = { key: "k1", expiresAt: 2_000 };

it("gives a key to one of two processes that share the database", async () => {
  const path = join(makeTempFolder(), "tocsin.db");
  const stores = [1, 2].map(() => openLocalStore({ path, ballastBytes: 0 }));
  onTestFinished(async () => {
    for (const store of stores) await store.close();
  });
  const puts = stores.map((store) => store.putKeyIfAbsent("used-login-code", entry, 1_000));
  expect((await Promise.all(puts)).sort()).toEqual([false, true]);
  for (const store of stores) expect(await store.hasKey("used-login-code", "k1", 1_000)).toBe(true);
});

it("is there in a database of the version before", async () => {
  const path = join(makeTempFolder(), "tocsin.db");
  const db = new Sqlite(path);
  const all = readMigrations();
  const own = all.findIndex(({ name }) => name.endsWith("expiring_keys.sql"));
  migrate(db, all.slice(0, own));
  db.close();
  const store = openLocalStore({ path, ballastBytes: 0 });
  onTestFinished(() => store.close());
  expect(await store.putKeyIfAbsent("ended-session", entry, 1_000)).toBe(true);
});
