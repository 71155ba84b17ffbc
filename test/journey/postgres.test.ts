import { expect, it, onTestFinished } from "vitest";
import { startPostgresServer } from "../support/postgres-server.ts";
import { prepareRelayOnPostgres } from "../support/relay-on-postgres.ts";
import { type RelayProcess, waitUntil } from "../support/relay-process.ts";

const password = "canary-database-password";

async function createWorld() {
  const server = await startPostgresServer();
  onTestFinished(server.end);
  const databaseUrl = server.url.replace("postgres@", `postgres:${password}@`);
  return { server, ...(await prepareRelayOnPostgres(databaseUrl, 30)) };
}

/** Posts alerts until it is stopped. Gives what was answered. */
function postOn(relay: RelayProcess, name: string) {
  const accepted: string[] = [];
  const refused: number[] = [];
  let isOver = false;
  async function post(sender: number): Promise<void> {
    for (let count = 0; !isOver; count += 1) {
      const answer = await relay.post(`{"title":"${name} ${sender} ${count}"}`).catch(() => undefined);
      if (answer?.status === 202) accepted.push(...answer.ids);
      else refused.push(answer?.status ?? 0);
    }
  }
  const senders = [1, 2, 3, 4].map(post);
  const grow = (many: number) => {
    const before = accepted.length;
    return waitUntil(
      () => accepted.length - before,
      (count) => count >= many,
      { what: `${many} more alerts that were taken` },
    );
  };
  return {
    accepted,
    refused,
    grow,
    async end() {
      isOver = true;
      await Promise.all(senders);
    },
  };
}

const readyStatus = async (relay: RelayProcess) => (await fetch(`${relay.url}/readyz`)).status;

it("sends all that it has taken, and nothing twice unmarked, through a stop of PostgreSQL and a kill of its own", async () => {
  const { server, receiver, start } = await createWorld();
  const first = await start();
  const before = postOn(first, "before");
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
  const after = postOn(second, "after");
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
