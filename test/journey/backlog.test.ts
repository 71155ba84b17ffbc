import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { createIdSource } from "../../src/core/id.ts";
import { openReadingJournal } from "../../src/intake/thread/journal.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { createDeliveryReceiver } from "../support/delivery-receiver.ts";
import { createJourneyWorld, type JourneyWorld } from "../support/journey-world.ts";
import { waitUntil } from "../support/relay-process.ts";

const backlog = 8_000;
/** Of the first round behind a start. */
const oneRound = 100;

/** As if each had been posted to a relay that died before it routed any; every tenth is critical. */
async function storeBacklog(dataDir: string): Promise<string[]> {
  const store = openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes: 0 });
  const newId = createIdSource(Date.now);
  const ids = Array.from({ length: backlog }, newId);
  const accepted = ids.map((id, index) => {
    const title = `Alert ${index + 1}`;
    const body = Buffer.from(JSON.stringify({ title, severity: index % 10 === 0 ? "critical" : "warning" }));
    const request = { receivedAt: Date.now(), headers: "[]", body, ids: [id], dedupeWindowMs: 1 };
    return store.acceptRequest({ ...request, origin: "hook" });
  });
  await Promise.all(accepted);
  await store.close();
  return ids;
}

/** Kills relays until one was reading then: the positions of what it read, of which alerts of more than one round wait. */
async function killWhileReading({ dataDir, start }: JourneyWorld, env: Record<string, string>): Promise<number[]> {
  const noted = () => {
    const journal = openReadingJournal(join(dataDir, "tocsin.db.reading"), () => {});
    journal.close();
    return journal.interrupted;
  };
  for (;;) {
    const relay = await start(env);
    await waitUntil(noted, (seqs) => seqs.length > 0, { what: "alerts being read" });
    await relay.kill();
    const seqs = noted();
    if (seqs.length > 0) return [...seqs];
  }
}

it("routes what was being read at a kill before a backlog of thousands, and sends what is critical of it", async () => {
  const receiver = await createDeliveryReceiver({ longestMs: 0, random: () => 0 });
  const world = await createJourneyWorld({
    yaml: `
destinations:
  desk: { type: webhook, url: "${receiver.url}", allowInternal: ["127.0.0.1"] }
routes:
  - { name: critical, match: { severity: critical }, to: [desk] }
`,
  });
  const env = { TELEGRAM_CHAT_IDS: "", EMAIL_TO: "", LOG_LEVEL: "error" };
  const ids = await storeBacklog(world.dataDir);
  const read = await killWhileReading(world, env);
  const lastRead = Math.max(...read);
  expect(lastRead).toBeLessThan(backlog - 10 * oneRound);

  const relay = await world.start(env);
  const critical = read.filter((seq) => seq % 10 === 1).map((seq) => ids[seq - 1] ?? "");
  await expect
    .poll(() => {
      const arrived = new Set(receiver.received.flatMap(({ alertIds }) => alertIds));
      return critical.filter((id) => !arrived.has(id));
    })
    .toEqual([]);
  await relay.kill();

  const db = new Database(join(world.dataDir, "tocsin.db"), { readonly: true });
  const routed = db.prepare("SELECT seq, routed_at AS at FROM alerts WHERE routed_at IS NOT NULL").all() as {
    seq: number;
    at: number;
  }[];
  db.close();
  const times = new Map(routed.map(({ seq, at }) => [seq, at]));
  const last = Math.max(...read.map((seq) => times.get(seq) ?? Number.POSITIVE_INFINITY));
  expect(routed.filter(({ seq, at }) => seq > lastRead && at < last).length).toBeLessThanOrEqual(oneRound);
});
