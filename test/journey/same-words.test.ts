import { appendFileSync, copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createHookWorld } from "../support/journey-world.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { findOtherWords, logIn } from "../support/same-words.ts";

it("page, status and doctor say the same of a relay with an older file, and of a database that is away", async () => {
  const server = await startPostgresServer();
  onTestFinished(server.end);
  const { dataDir, start } = await createHookWorld({ databaseUrl: server.url, longestMs: 5 });
  const file = join(dataDir, "tocsin.yaml");
  copyFileSync(file, `${file}.older`);
  await start({ RELAY_NAME: "older", DATA_DIR: join(dataDir, "older"), TOCSIN_CONFIG: `${file}.older` });
  appendFileSync(file, "routes:\n  - { name: all, to: hook }\n");
  const more = { RELAY_NAME: "newest", SPOOL_DIR: join(dataDir, "spool") };
  const relay = await start(more);
  const cookie = await logIn(relay);
  const env = { ...more, TOCSIN_CONFIG: file, DATABASE_URL: server.url };

  const troubles = async () => (await relay.getJson<{ data: { troubles: object[] } }>("/api/status")).data.troubles;
  await expect.poll(troubles).toContainEqual(expect.objectContaining({ kind: "relay" }));
  expect(await findOtherWords(relay, cookie, env, dataDir)).toEqual([]);

  await server.stop("SIGQUIT");
  expect((await relay.post('{"title":"meanwhile"}')).status).toBe(202);
  expect(await findOtherWords(relay, cookie, env, dataDir)).toEqual([]);
});
