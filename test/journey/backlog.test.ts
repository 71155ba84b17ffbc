import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { openReadingJournal } from "../../src/intake/thread/journal.ts";
import { createHookWorld, type JourneyWorld, storeUnrouted } from "../support/journey-world.ts";
import { waitUntil } from "../support/relay-process.ts";

const backlog = 8_000;
/** Of the first round behind a start. */
const oneRound = 100;

/** Kills relays until one was reading then: the positions of what it read, of which alerts of more than one round wait. */
async function killWhileReading({ dataDir, start }: JourneyWorld, env: Record<string, string>): Promise<number[]> {
  const noted = () => {
    const journal = openReadingJournal(join(dataDir, "tocsin.db.reading"), () => {});
    journal.close();
    return journal.interrupted;
  };
  for (;;) {
    const relay = await start(env);
    await waitUntil(noted, (seqs) => seqs.length > 0, "alerts being read");
    await relay.kill();
    const seqs = noted();
    if (seqs.length > 0) return [...seqs];
  }
}

it("routes what was being read at a kill before a backlog of thousands, and sends what is critical of it", async () => {
  const routes = "routes: [{ name: critical, match: { severity: critical }, to: [hook] }]\n";
  const { arrived, ...world } = await createHookWorld({ more: routes });
  const env = { LOG_LEVEL: "error" };
  const bodyOf = (_: unknown, index: number) =>
    JSON.stringify({ title: `Alert ${index + 1}`, severity: index % 10 === 0 ? "critical" : "warning" });
  const ids = await storeUnrouted(world.dataDir, Array.from({ length: backlog }, bodyOf));
  const read = await killWhileReading(world, env);
  const lastRead = Math.max(...read);
  expect(lastRead).toBeLessThan(backlog - 10 * oneRound);

  const relay = await world.start(env);
  const critical = read.filter((seq) => seq % 10 === 1).map((seq) => ids[seq - 1] ?? "");
  await expect
    .poll(() => {
      const all = new Set(arrived());
      return critical.filter((id) => !all.has(id));
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
