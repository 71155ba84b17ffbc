import { expect, it } from "vitest";
import { checkDatabase } from "../../../src/cli/doctor/check-machine.ts";
import type { RelayRun } from "../../../src/cli/relay/connect-relay.ts";
import type { Config } from "../../../src/config/config.ts";
import type { SignalTopic } from "../../../src/core/ports/signals.ts";
import { Secret } from "../../../src/core/secret.ts";
import { moveToPostgres } from "../../../src/store/move-log.ts";
import { createAccepting } from "../../../src/store/postgres/accepting.ts";
import type { PostgresStoreOptions } from "../../../src/store/postgres/store.ts";
import { request } from "../../conformance/store/scene-samples.ts";
import { makePostgresDatabaseOfFile, runSql } from "../../support/postgres.ts";
import { createPostgresPooler } from "../../support/postgres-pooler.ts";
import { acceptRequests } from "../../support/postgres-transactions.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";
import { openDatabase } from "./open-relays.ts";

const database = makePostgresDatabaseOfFile();

const topics: SignalTopic[] = ["changed", "mutes", "secrets", "lanes", "mail", "left", "due"];

async function open(url: string, options: Partial<PostgresStoreOptions> = {}) {
  const opened = await openDatabase(url, "a test", options);
  const heard: string[] = [];
  for (const topic of topics) opened.subscribe(topic, () => void heard.push(topic));
  const { acceptRequest } = createAccepting(opened, { relayName: "a test", now: Date.now, acceptRequests });
  const say = () =>
    opened.transaction(async (tx) => {
      tx.notes.due.add("desk");
    });
  return { ...opened, acceptRequest, heard, say };
}

it("PostgreSQL behind a pooler in transaction mode is migrated, written and read, and nothing is asked of a session that others get next", async () => {
  const url = await database;
  const pooler = await createPostgresPooler(url);
  const relays = await Promise.all([open(pooler.url), open(pooler.url)]);
  const requests = Array.from({ length: 60 }, (_, index) => request({ dedupeKey: `key ${index % 20}` }));
  const kinds = await Promise.all(
    requests.map((one, index) => relays[index % 2]?.acceptRequest(one).then(({ kind }) => kind)),
  );
  expect(kinds.filter((kind) => kind === "accepted")).toHaveLength(20);
  for (const { read, single } of relays)
    for (const sql of [read, single])
      expect((await sql.query("SELECT count(*) FROM alerts WHERE item >= $1", [0])).rows).toEqual([{ count: 20 }]);
  expect(pooler.violations).toEqual([]);
  expect(relays[0]?.hearing().isPooled).toBe(true);
});

it("PostgreSQL behind a pooler in transaction mode has each transaction on its own terms, whatever somebody has set for the session", async () => {
  const pooler = await createPostgresPooler(await database, 1);
  const { transaction, read, single } = await open(pooler.url, { answerWithinMs: 3_000 });
  await runSql(pooler.url, "SET synchronous_commit = off; SET statement_timeout = 0");
  const setting = (name: string) => `current_setting('${name}')`;
  const asked = `SELECT ${setting("synchronous_commit")} AS commits, ${setting("statement_timeout")} AS ends`;
  const ways = [read.query(asked), single.query(asked), transaction((tx) => tx.query(asked))];
  for (const { rows } of await Promise.all(ways)) expect(rows).toEqual([{ commits: "on", ends: "2700ms" }]);
  const failing = single.query("INSERT INTO watch_states VALUES ('a', '{}'), ('a', '{}')");
  await expect(failing).rejects.toMatchObject({ code: "23505" });
  await single.query("INSERT INTO watch_states VALUES ('a', '{}')");
  await expect(read.query("SELECT 1 / 0")).rejects.toMatchObject({ code: "22012" });
  expect((await read.query("SELECT name FROM watch_states")).rows).toEqual([{ name: "a" }]);
});

it("PostgreSQL behind a pooler in transaction mode is refused as soon as it leads to a server that might lose what is acknowledged", async () => {
  const url = await database;
  const pooler = await createPostgresPooler(url, 1);
  const away: string[] = [];
  const relay = await open(pooler.url, { onAway: ({ message }) => void away.push(message) });
  await relay.acceptRequest(request());
  const name = new URL(url).pathname.slice(1);
  await runSql(url, `ALTER DATABASE ${name} SET synchronous_commit = off`);
  // The connections of the relay stay; those of the pooler are new.
  const endOthers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  await runSql(url, endOthers);
  const again = async () =>
    (await relay.acceptRequest(request()).catch((error: Error) => ({ kind: error.message }))).kind;
  await expect.poll(again).toContain("synchronous_commit = off");
  expect(away.at(-1)).toContain("synchronous_commit = off");
  await runSql(url, `ALTER DATABASE ${name} RESET synchronous_commit`);
  await runSql(url, endOthers);
  await expect.poll(again).toBe("accepted");
});

it("commands behind a pooler move nothing, and say which address they need", async () => {
  const pooler = await createPostgresPooler(await database);
  const { signal } = new AbortController();
  const place = { dataDir: makeTempFolder(), url: pooler.url };
  const moving = moveToPostgres({ ...place, now: Date.now, signal, onProgress: async () => {} });
  const [message, hint] = ["leads through a pooler", "DATABASE_LISTEN_URL"].map((one) => expect.stringContaining(one));
  await expect(moving).rejects.toMatchObject({ message, hint });
  expect(pooler.violations).toEqual([]);
});

it("commands behind a pooler say how relays hear of each other: doctor", async () => {
  const url = await database;
  const pooler = await createPostgresPooler(url);
  const signalsOf = async (databaseUrl: string, databaseListenUrl?: string) => {
    const listen = databaseListenUrl && { databaseListenUrl: new Secret(databaseListenUrl) };
    const place = { databaseUrl: new Secret(databaseUrl), ...listen } as Config;
    return (await checkDatabase({} as RelayRun, place)).find(({ check }) => check === "signals");
  };
  const says = (words: string) => expect.stringContaining(words);
  expect(await signalsOf(url)).toMatchObject({ verdict: "ok", detail: expect.not.stringContaining("pooler") });
  expect(await signalsOf(pooler.url, url)).toMatchObject({ verdict: "ok", detail: says("pooler") });
  const warning = { verdict: "warning", detail: says("only by looking"), mend: says("DATABASE_LISTEN_URL") };
  expect(await signalsOf(pooler.url)).toMatchObject(warning);
});

it("signals of relays behind a pooler are heard at an address of their own", async () => {
  const url = await database;
  const pooler = await createPostgresPooler(url);
  const [one, two] = [await open(pooler.url, { listenUrl: url }), await open(pooler.url, { listenUrl: url })];
  expect(two.hearing()).toEqual({ by: "listen", isPooled: true });
  await one.say();
  await expect.poll(() => two.heard).toEqual(["due"]);
  expect(pooler.violations).toEqual([]);
});

it("signals of relays behind a pooler are replaced by looking where there is none, or nothing is heard there, and why is said", async () => {
  const url = await database;
  const pooler = await createPostgresPooler(url);
  const elsewhere = new URL("/postgres", url);
  const without = await open(pooler.url);
  const said: unknown[] = [];
  const onHearing = (hearing: unknown) => void said.push(hearing);
  const wrong = await open(pooler.url, { listenUrl: elsewhere.href, onHearing });
  const why = expect.stringContaining("DATABASE_LISTEN_URL is not set");
  expect(without.hearing()).toMatchObject({ by: "polls", why });
  expect(said).toEqual([{ by: "polls", why: expect.stringContaining("is not heard there") }]);
  const all = new Set(topics.filter((topic) => topic !== "due"));
  for (const { heard } of [without, wrong]) await expect.poll(() => new Set(heard), { timeout: 10_000 }).toEqual(all);
});
