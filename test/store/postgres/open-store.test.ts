import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Secret } from "../../../src/core/secret.ts";
import { findUnusedLog, openStore } from "../../../src/store/open-store.ts";
import { request } from "../../conformance/store/scene-samples.ts";
import { compiledThread } from "../../support/compiled-thread.ts";
import { postgresDatabaseOf } from "../../support/postgres.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

const relayName = "a test";

it("the store that is opened is PostgreSQL where its address is known, and SQLite otherwise", async () => {
  const dataDir = makeTempFolder();
  const databaseUrl = new Secret(await postgresDatabaseOf(dataDir));
  const shared = await openStore({ dataDir, databaseUrl, relayName });
  await shared.acceptRequest(request());
  expect(shared.capabilities).toEqual({ sharedByRelays: true });
  expect((await shared.countAlerts()).total).toBe(1);
  await shared.close();
  expect(existsSync(join(dataDir, "tocsin.db"))).toBe(false);
  const own = await openStore({ dataDir, relayName, threadEntry: compiledThread() });
  expect(own.capabilities).toEqual({ sharedByRelays: false });
  expect((await own.countAlerts()).total).toBe(0);
  await own.close();
});

it("the store that is opened locks its folder with PostgreSQL too, until it is closed or could not be opened", async () => {
  const dataDir = makeTempFolder();
  const databaseUrl = new Secret(await postgresDatabaseOf(dataDir));
  const nowhere = new Secret("postgres://user:geheim@127.0.0.1:1/x");
  await expect(openStore({ dataDir, databaseUrl: nowhere, relayName })).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringContaining("The database x at 127.0.0.1:1 cannot be used"),
  });
  const store = await openStore({ dataDir, databaseUrl, relayName });
  await expect(openStore({ dataDir, databaseUrl, relayName })).rejects.toMatchObject({ code: "store_locked" });
  await store.close();
  await (await openStore({ dataDir, databaseUrl, relayName })).close();
});

it("the store that is opened takes over what the process before it had in the same folder, and nothing of another's", async () => {
  const [dataDir, otherDir] = [makeTempFolder(), makeTempFolder()];
  const databaseUrl = new Secret(await postgresDatabaseOf(dataDir));
  const bot = [{ group: "bot", statuses: [], paces: [] }];
  const killed = await openStore({ dataDir, databaseUrl, relayName });
  expect(await killed.acquireLanes("process 1", bot, 3_600_000)).toHaveLength(1);
  await killed.acceptRequest(request());
  // Its lanes are not given back, as by a process that is killed.
  await killed.close();
  const other = await openStore({ dataDir: otherDir, databaseUrl, relayName });
  expect(await other.acquireLanes("process 2", bot, 3_600_000)).toEqual([]);
  const next = await openStore({ dataDir, databaseUrl, relayName });
  expect(await next.acquireLanes("process 3", bot, 3_600_000)).toHaveLength(1);
  expect(await next.listUnrouted(10, Number.MAX_SAFE_INTEGER)).toHaveLength(1);
  await Promise.all([other.close(), next.close()]);
});

it("the store that is opened leaves a log of SQLite alone, which is to be said", () => {
  const dataDir = makeTempFolder();
  const databaseUrl = new Secret("postgres://db/x");
  expect(findUnusedLog({ dataDir, databaseUrl })).toBeUndefined();
  writeFileSync(join(dataDir, "tocsin.db"), "");
  expect(findUnusedLog({ dataDir, databaseUrl })).toBe(dataDir);
  expect(findUnusedLog({ dataDir })).toBeUndefined();
});
