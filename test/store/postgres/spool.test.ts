import { expect, it, onTestFinished } from "vitest";
import { createAccepting } from "../../../src/store/postgres/accepting.ts";
import type { SpoolOptions } from "../../../src/store/spool/spool.ts";
import { newId, request } from "../../conformance/store/scene-samples.ts";
import { createFailingProxy } from "../../support/failing-proxy.ts";
import { runSql } from "../../support/postgres.ts";
import { startPostgresServer } from "../../support/postgres-server.ts";
import { acceptRequests } from "../../support/postgres-transactions.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { openTestSpool } from "../../support/spool.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";
import { openDatabase, someDatabase } from "./open-relays.ts";

async function openRelay(url: string, relayName: string, options: Partial<SpoolOptions> = {}) {
  const database = await openDatabase(url, relayName);
  const accepting = createAccepting(database, { relayName, now: database.now, acceptRequests });
  return openTestSpool({ inbox: accepting, ...options });
}

const requestsIn = (url: string) =>
  runSql<{ key: string | null; duplicates: number; ids: string[] }>(
    url,
    `SELECT dedupe_key AS key, duplicates, ARRAY(SELECT id FROM alerts a WHERE a.request_seq = r.seq ORDER BY item) AS ids
     FROM requests r ORDER BY seq`,
  );

it("a spool before PostgreSQL stores once what was stored by a commit whose answer was lost", async () => {
  const url = await someDatabase();
  const proxy = await createFailingProxy(url);
  const relay = await openRelay(proxy.url, "one");
  const sent = [request(), request({ dedupeKey: "k", ids: [newId(), newId()] })];
  for (const one of sent) {
    proxy.loseAnswerTo("COMMIT\0");
    expect(await relay.acceptRequest(one)).toEqual({ kind: "accepted", ids: one.ids, conflict: false });
  }
  await expect.poll(relay.waiting).toBe(0);
  expect(relay.lines).toContain("spool.begun");
  expect(await requestsIn(url)).toEqual(
    sent.map(({ ids, dedupeKey = null }) => ({ key: dedupeKey, duplicates: 0, ids })),
  );
});

it("a spool before PostgreSQL stores one of two that a sender has sent by one key to two relays meanwhile", async () => {
  const url = await someDatabase();
  const proxy = await createFailingProxy(url);
  const [relay, other] = [await openRelay(proxy.url, "one", { spoolAfterMs: 200 }), await openRelay(url, "other")];
  proxy.hang();
  await relay.acceptRequest(request({ dedupeKey: "k" }));
  await relay.acceptRequest(request({ dedupeKey: "k" }));
  const resent = await other.acceptRequest(request({ dedupeKey: "k" }));
  proxy.goOn();
  await expect.poll(relay.waiting, { timeout: 30_000 }).toBe(0);
  const rows = await requestsIn(url);
  expect(rows).toHaveLength(1);
  // Whichever came first; the transaction that hung may have been that.
  expect(rows[0]?.duplicates).toBe(2);
  expect(resent.ids).toEqual(rows[0]?.ids);
});

it("a spool before PostgreSQL loses, doubles and reorders nothing while the server is killed, connections are cut and hang, and the relay dies", async () => {
  const seed = Number(process.env.SPOOL_SEED ?? 20_261_123);
  const random = createSeededRandom(seed);
  const server = await startPostgresServer();
  onTestFinished(server.end);
  const proxy = await createFailingProxy(server.url);
  const dir = makeTempFolder();
  const newRelay = () => openRelay(proxy.url, "one", { dir, spoolAfterMs: 300 });
  let relay = await newRelay();
  const answered: { key?: string; id: string; sender: number }[] = [];
  let isOver = false;
  async function send(sender: number): Promise<void> {
    for (let count = 0; !isOver; count += 1) {
      const key = sender % 2 === 0 ? `${sender}-${count}` : undefined;
      const one = request({ dedupeKey: key, body: Buffer.from(`${sender} ${count}`) });
      const acceptance = await relay.acceptRequest(one).catch(() => undefined);
      if (acceptance) answered.push({ key, id: acceptance.ids[0] as string, sender });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  const senders = Array.from({ length: 8 }, (_, sender) => send(sender));
  const grow = async (many: number) => {
    const before = answered.length;
    await expect.poll(() => answered.length - before, { timeout: 60_000 }).toBeGreaterThan(many);
  };
  for (let turn = 0; turn < 6; turn += 1) {
    await grow(100);
    const what = random.pick(["restart", "cut", "hang", "lose", "die"] as const);
    if (what === "restart") await server.restart("SIGQUIT");
    if (what === "cut") proxy.cut();
    if (what === "lose") proxy.loseAnswerTo("COMMIT\0");
    if (what === "hang") {
      proxy.hang();
      await grow(200);
      proxy.goOn();
    }
    if (what === "die") {
      await server.stop("SIGQUIT");
      await grow(200);
      // The next process with this folder finds all that was answered.
      await relay.end();
      await server.start();
      relay = await newRelay();
    }
  }
  await grow(100);
  isOver = true;
  await Promise.all(senders);
  await expect.poll(relay.waiting, { timeout: 60_000 }).toBe(0);
  const rows = await requestsIn(server.url);
  const stored = rows.flatMap(({ ids }) => ids);
  expect(new Set(stored).size, `seed ${seed}`).toBe(stored.length);
  const known = new Set(stored);
  expect(answered.filter(({ id }) => !known.has(id))).toEqual([]);
  const keys = rows.flatMap(({ key }) => key ?? []);
  expect(new Set(keys).size).toBe(keys.length);
  expect(rows.filter(({ duplicates }) => duplicates > 0)).toEqual([]);
});
