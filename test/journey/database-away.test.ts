import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createHookWorld } from "../support/journey-world.ts";
import { runSql } from "../support/postgres.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { keepPosting } from "../support/posting.ts";
import { waitUntil, webhookSecret } from "../support/relay-process.ts";

async function createWorld() {
  const server = await startPostgresServer();
  onTestFinished(server.end);
  return {
    server,
    ...(await createHookWorld({ databaseUrl: server.url, longestMs: 5, more: "sources:\n  git: {}\n" })),
  };
}

const statusOf = async (url: string) => (await fetch(url)).status;

it("a start while PostgreSQL is away answers, waits, and goes on by itself", async () => {
  const { server, start, arrived } = await createWorld();
  await server.stop("SIGQUIT");
  const relay = await start();
  const refused = await fetch(relay.hookUrl, { method: "POST", body: "{}" });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, expect.any(String)]);
  // It may be the secret of a source, which lies in the database.
  expect(await statusOf(`${relay.url}/hooks/another`)).toBe(503);
  expect(await statusOf(`${relay.url}/healthz`)).toBe(200);
  expect(await (await fetch(`${relay.url}/readyz`)).json()).toEqual({ data: { ready: false } });
  const status = await relay.api("/api/status");
  expect([status.status, ((await status.json()) as { error: { code: string } }).error.code]).toEqual([
    503,
    "store_unavailable",
  ]);
  await server.start();
  await expect.poll(() => statusOf(`${relay.url}/readyz`)).toBe(200);
  expect(await statusOf(`${relay.url}/hooks/another`)).toBe(404);
  const { ids } = await relay.post('{"title":"after"}');
  await expect.poll(arrived).toContain(ids[0] ?? "");
  expect(relay.log().match(/store\.awaited/g)).toHaveLength(1);
  expect(relay.log()).toContain("store.reached");
  expect(await relay.stop()).toBe(0);
});

it("a start while PostgreSQL is away takes alerts into its spool, over a stop in good order, and sends them when it is there", async () => {
  const { server, start, dataDir, arrived } = await createWorld();
  await server.stop("SIGQUIT");
  const env = { SPOOL_DIR: join(dataDir, "spool") };
  const first = await start(env);
  const early = await first.post('{"title":"early"}');
  expect(early.status).toBe(202);
  expect(await (await fetch(`${first.url}/readyz`)).json()).toEqual({ data: { ready: false, spooled: 1 } });
  expect(await statusOf(`${first.url}/readyz?alerts`)).toBe(200);
  expect(await first.stop()).toBe(0);
  const second = await start(env);
  const late = await second.post('{"title":"late"}');
  await server.start();
  await expect.poll(() => arrived().sort()).toEqual([...early.ids, ...late.ids].sort());
});

it("a start while PostgreSQL is away says which limit leaves it without connections, waits, and works over two", async () => {
  const { server, start, arrived } = await createWorld();
  const url = new URL(server.url);
  await runSql(
    url.href,
    `CREATE ROLE limited LOGIN PASSWORD 'x' CONNECTION LIMIT 1; GRANT ALL ON SCHEMA public TO limited;
       GRANT ALL ON DATABASE ${url.pathname.slice(1)} TO limited`,
  );
  url.username = "limited";
  url.password = "x";
  const relay = await start({ DATABASE_URL: url.href });
  expect(await statusOf(`${relay.url}/readyz?alerts`)).toBe(503);
  const awaited =
    relay
      .log()
      .split("\n")
      .find((line) => line.includes("store.awaited")) ?? "";
  expect(JSON.parse(awaited)).toMatchObject({
    error: expect.stringContaining('too many connections for role "limited"'),
    hint: expect.stringContaining("`ALTER ROLE … CONNECTION LIMIT …`"),
  });
  await runSql(server.url, "ALTER ROLE limited CONNECTION LIMIT 2");
  await expect.poll(() => statusOf(`${relay.url}/readyz`)).toBe(200);
  const posted = await Promise.all(Array.from({ length: 20 }, (_, index) => relay.post(`{"title":"${index}"}`)));
  expect(new Set(posted.map(({ status }) => status))).toEqual(new Set([202]));
  expect((await relay.api("/api/alerts")).status).toBe(200);
  const sent = posted.flatMap(({ ids }) => ids);
  await waitUntil(arrived, (all) => sent.every((id) => all.includes(id)), "the alerts at the webhook");
  expect(await relay.stop()).toBe(0);
});

it("a start with a mistake ends with one line, other than one while PostgreSQL is away", async () => {
  const { server, start, dataDir } = await createWorld();
  const url = new URL(server.url);
  const nobody = new URL(url);
  nobody.pathname = "/no_such_database";
  const nowhere = new URL(url);
  nowhere.hostname = "no-such-host.invalid";
  mkdirSync(join(dataDir, "taken"));
  for (const [DATABASE_URL, told] of [
    [nobody.href, "does not exist"],
    [nowhere.href, "no-such-host.invalid"],
  ] as const) {
    const failure = await start({ DATABASE_URL }).catch((error: Error) => error);
    for (const words of ["the relay ended with 1", told]) expect(String(failure)).toContain(words);
    expect(String(failure)).not.toContain(webhookSecret);
  }
});

it("answers 503 while PostgreSQL is away, with one line in its log, and sends what it took, over a kill, doubling nothing unmarked", async () => {
  const { server, receiver, start, arrived } = await createWorld();
  const first = await start();
  const posting = keepPosting(first, 4, (sender, count) => `{"title":"${sender} ${count}"}`);
  await posting.grow(20);
  await server.stop("SIGQUIT");
  await expect.poll(() => statusOf(`${first.url}/readyz`)).toBe(503);
  await expect.poll(() => posting.refused.length).toBeGreaterThanOrEqual(20);
  const refused = await fetch(first.hookUrl, { method: "POST", body: "{}" });
  expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([503, expect.any(Number)]);
  expect(first.log().match(/"store\.away"/g)).toHaveLength(1);
  expect(first.log(), "one for each").not.toMatch(/does not answer[^\n]*"alert\.not_stored"/);
  await server.start();
  await posting.grow(20);
  expect(await statusOf(`${first.url}/readyz`)).toBe(200);
  await first.kill();
  await posting.end();
  expect(posting.refused.every((status) => status === 503 || status === 0)).toBe(true);

  await start();
  await expect.poll(() => posting.accepted.filter((id) => !arrived().includes(id))).toEqual([]);
  const unmarked = receiver.received.filter(({ markedRepeat }) => !markedRepeat).flatMap(({ alertIds }) => alertIds);
  expect(unmarked).toHaveLength(new Set(unmarked).size);
});
