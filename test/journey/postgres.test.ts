import { expect, it, onTestFinished } from "vitest";
import { startPostgresServer } from "../support/postgres-server.ts";
import { keepPosting } from "../support/posting.ts";
import { prepareRelayOnPostgres } from "../support/relay-on-postgres.ts";
import type { RelayProcess } from "../support/relay-process.ts";

const password = "canary-database-password";

async function createWorld() {
  const server = await startPostgresServer();
  onTestFinished(server.end);
  const databaseUrl = server.url.replace("postgres@", `postgres:${password}@`);
  return { server, ...(await prepareRelayOnPostgres(databaseUrl, 30)) };
}

const readyStatus = async (relay: RelayProcess) => (await fetch(`${relay.url}/readyz`)).status;

it("sends all that it has taken, and nothing twice unmarked, through a stop of PostgreSQL and a kill of its own", async () => {
  const { server, receiver, start } = await createWorld();
  const first = await start();
  const before = keepPosting(first, 4, (sender, count) => `{"title":"before ${sender} ${count}"}`);
  await before.grow(50);
  await server.stop("SIGQUIT");
  await expect.poll(() => readyStatus(first)).toBe(503);
  await expect.poll(() => before.refused.length).toBeGreaterThanOrEqual(20);
  expect(first.log().match(/"store\.away"/g)).toHaveLength(1);
  expect(first.log(), "one for each").not.toMatch(/does not answer[^\n]*"alert\.not_stored"/);
  const refusal = await fetch(first.hookUrl, { method: "POST", body: "{}" });
  expect([refusal.status, Number(refusal.headers.get("retry-after"))]).toEqual([503, expect.any(Number)]);
  await server.start();
  await before.grow(50);
  expect(await readyStatus(first)).toBe(200);
  await server.restart("SIGQUIT");
  await before.grow(50);
  await first.kill();
  await before.end();
  expect(before.refused.every((status) => status === 503 || status === 0)).toBe(true);

  const second = await start();
  const after = keepPosting(second, 4, (sender, count) => `{"title":"after ${sender} ${count}"}`);
  await after.grow(50);
  await after.end();
  const accepted = [...before.accepted, ...after.accepted];
  const arrived = () => new Set(receiver.received.flatMap(({ alertIds }) => alertIds));
  await expect.poll(() => accepted.filter((id) => !arrived().has(id)).length).toBe(0);
  const unmarked = receiver.received.filter(({ markedRepeat }) => !markedRepeat).flatMap(({ alertIds }) => alertIds);
  expect(unmarked.length).toBe(new Set(unmarked).size);

  const { data } = await second.getJson<{ data: { title: string }[] }>("/api/alerts?limit=1");
  expect(data[0]?.title).toMatch(/^after /);
  expect(await second.stop()).toBe(0);
  expect(first.log() + second.log()).not.toContain(password);
});
