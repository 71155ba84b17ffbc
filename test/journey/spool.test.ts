import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createFailingProxy } from "../support/failing-proxy.ts";
import { createHookWorld } from "../support/journey-world.ts";
import { runSql } from "../support/postgres.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { waitUntil } from "../support/relay-process.ts";

const sourceSecret = "journey-source-Hs82kdLwP0xRt64aa";

async function createWorld() {
  const server = await startPostgresServer();
  onTestFinished(server.end);
  const sources = `sources:\n  git: { secret: "\${GIT_SECRET}" }\n`;
  const { arrived, dataDir, start } = await createHookWorld({ databaseUrl: server.url, longestMs: 5, more: sources });
  const spoolDir = join(dataDir, "spool");
  const env = { SPOOL_DIR: spoolDir, GIT_SECRET: sourceSecret };
  return { server, arrived, spoolDir, start: () => start(env) };
}

it("answers 202 while PostgreSQL is away, through a kill of its own, and sends each alert once when it is back", async () => {
  const { server, arrived, spoolDir, start } = await createWorld();
  const first = await start();
  const sent: string[] = [];
  const take = async (answer: Promise<{ status: number; ids: string[] }>) => {
    const { status, ids } = await answer;
    expect(status).toBe(202);
    sent.push(...ids);
  };
  await take(first.post('{"title":"before"}'));
  // Somebody has looked at it.
  expect((await first.api("/metrics")).status).toBe(200);
  await server.stop("SIGQUIT");
  await take(first.post('{"title":"one"}'));
  await take(first.post('[{"title":"of"},{"title":"three"},{"title":"alerts"}]'));
  await take(first.post("a text", { "content-type": "text/plain" }));
  await take(first.post(Buffer.from([0, 255, 1]), { "content-type": "application/octet-stream" }));
  await take(first.post('{"title":"a test"}', { "x-tocsin-test": "1" }));
  const ofSource = await fetch(`${first.url}/hooks/${sourceSecret}`, {
    method: "POST",
    body: '{"title":"of a source"}',
  });
  const { data } = (await ofSource.json()) as { data: { id: string } };
  await take(Promise.resolve({ status: ofSource.status, ids: [data.id] }));
  const keyed = () => first.post('{"title":"keyed"}', { "idempotency-key": "k1" });
  const known = await keyed();
  await take(Promise.resolve(known));
  expect(await keyed()).toMatchObject({ status: 202, duplicate: true, ids: known.ids });
  const wait = sent.length;

  expect(await (await fetch(`${first.url}/readyz`)).json()).toEqual({ data: { ready: false, spooled: wait } });
  expect((await fetch(`${first.url}/readyz?alerts`)).status).toBe(200);
  expect((await fetch(`${first.url}/hooks/wrong`, { method: "POST", body: "{}" })).status).toBe(404);
  const metrics = await (await first.api("/metrics")).text();
  for (const words of [`tocsin_spool_alerts ${wait}`, "tocsin_store_writable 0"]) expect(metrics).toContain(words);
  const refusal = (await (await first.api("/api/status")).json()) as { error: { hint: string } };
  expect(refusal.error.hint).toContain(`${wait} alerts wait in the spool of this relay`);

  await first.kill();
  await server.start();
  const second = await start();
  await take(second.post('{"title":"after"}'));
  await expect.poll(() => sent.filter((id) => !arrived().includes(id))).toEqual([]);
  expect(arrived()).toHaveLength(new Set(arrived()).size);
  const status = await second.getJson<{ data: { spool: { alerts: number }; alerts: { total: number } } }>(
    "/api/status",
  );
  expect(status.data.spool.alerts).toBe(0);
  expect(status.data.alerts.total).toBe(sent.length);
  expect(second.log()).toContain("spool.found");
  const { data: git } = await second.getJson<{ data: { id: string }[] }>("/api/alerts?source=git");
  expect(git.map(({ id }) => id)).toEqual([data.id]);
  await expect.poll(() => existsSync(join(spoolDir, "spool.db"))).toBe(false);
  expect(await second.stop()).toBe(0);
});

it("sends an alert behind one commit, which may be answered late or never, once and unmarked", async () => {
  const server = await startPostgresServer();
  onTestFinished(server.end);
  const proxy = await createFailingProxy(server.url);
  const { receiver, arrived, dataDir, start } = await createHookWorld({ databaseUrl: proxy.url, longestMs: 400 });
  const relay = await start({ SPOOL_DIR: join(dataDir, "spool") });
  async function post(): Promise<string> {
    const { status, ids } = await relay.post('{"title":"ordinary","severity":"critical"}');
    expect(status).toBe(202);
    return ids[0] ?? "";
  }
  const sent: string[] = [];
  async function expectArrived(...ids: string[]): Promise<void> {
    sent.push(...ids);
    await waitUntil(arrived, (all) => ids.every((id) => all.includes(id)), "the alert at the webhook");
  }
  /** Whether the delivery was claimed by the transaction that stored the request. */
  const wasClaimedWith = async (id: string) => {
    const sql = `SELECT r.xmin = d.xmin AND d.state = 'sending' AS claimed FROM alerts a
      JOIN requests r ON r.seq = a.request_seq JOIN deliveries d ON d.alert_seq = a.seq WHERE a.id = '${id}'`;
    return (await runSql<{ claimed: boolean }>(server.url, sql))[0]?.claimed;
  };
  await expect
    .poll(async () => {
      // Only an idle lane claims with the commit.
      await expectArrived(...sent.splice(0));
      const id = await post();
      sent.push(id);
      return wasClaimedWith(id);
    })
    .toBe(true);
  await expectArrived(...sent.splice(0));

  proxy.holdBack("COMMIT\0");
  const late = await post();
  expect(proxy.isHolding()).toBe(true);
  const behind = await post();
  proxy.letGo();
  await expectArrived(late, behind);
  expect(arrived().slice(-2)).toEqual([late, behind]);

  proxy.loseAnswerTo("COMMIT\0");
  await expectArrived(await post());
  expect(arrived().sort()).toEqual(sent);
  expect(receiver.received.filter(({ markedRepeat }) => markedRepeat)).toEqual([]);
  expect(relay.log()).not.toContain("delivery.recovered");
});
