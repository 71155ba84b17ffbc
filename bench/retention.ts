/**
 * `npx tsx bench/retention.ts DIR [--rate 1000] [--seconds 120] [--keep 0.2] [--always] [--finish]`: cuts the log in DIR (made by
 * `bench/stored-log.ts`) to the newest part of it, by the duty that the relay runs, while alerts are accepted, routed,
 * claimed and recorded at this rate; and says what that cost them.
 *
 * Seconds with removing and seconds without follow each other in one process, so that whatever else the machine does falls
 * on both alike. The store is the relay's, with its thread; HTTP is left out, whose own waits would hide the difference.
 * `--always` leaves no seconds without, to see how fast it is. `--finish` goes on, behind the seconds that are measured, until nothing is left to remove.
 */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../src/core/clock.ts";
import { createIdSource } from "../src/core/id.ts";
import type { LaneFence } from "../src/core/ports/lanes.ts";
import { openDatabase } from "../src/store/sqlite/open-database.ts";
import type { SqliteStore } from "../src/store/sqlite/store.ts";
import { openThreadedStore } from "../src/store/sqlite/threaded-store.ts";
import { createRetention } from "../src/watch/retention.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rate: { type: "string", default: "1000" },
    seconds: { type: "string", default: "120" },
    window: { type: "string", default: "2" },
    keep: { type: "string", default: "0.2" },
    finish: { type: "boolean", default: false },
    always: { type: "boolean", default: false },
  },
});
const dataDir = resolve(positionals[0] ?? "");
const path = join(dataDir, "tocsin.db");
const rate = Number(values.rate);
const windowMs = Number(values.window) * 1000;

/** Along the indexes of what is unfinished: to look at all takes minutes where there are millions. */
const unfinishedSql = `SELECT count(*) FROM (
  SELECT seq FROM alerts WHERE routed_at IS NULL
  UNION SELECT alert_seq FROM deliveries INDEXED BY deliveries_due WHERE due_at IS NOT NULL
  UNION SELECT alert_seq FROM deliveries INDEXED BY deliveries_claimed WHERE claim_token IS NOT NULL
  UNION SELECT alert_seq FROM deliveries INDEXED BY deliveries_unsent
    WHERE resent_by IS NULL AND state IN ('failed', 'expired', 'held') AND state = 'held'
) WHERE seq <= ?`;

interface Look {
  last: number;
  alerts: number;
  unfinished: number;
  oldestAt: number;
  newestAt: number;
}

/** Of what was there when it began, up to alert `last`. */
function look(last?: number): Look {
  const db = openDatabase({ path });
  const one = (sql: string, ...given: unknown[]) =>
    db
      .prepare<unknown[], number>(sql)
      .pluck()
      .get(...given) ?? 0;
  const upTo = last ?? one("SELECT max(seq) FROM alerts");
  const found = {
    last: upTo,
    alerts: one("SELECT count(*) FROM alerts WHERE seq <= ?", upTo),
    unfinished: one(unfinishedSql, upTo),
    oldestAt: one("SELECT received_at FROM alerts ORDER BY seq LIMIT 1"),
    newestAt: one("SELECT received_at FROM alerts WHERE seq = ?", upTo),
  };
  db.close();
  return found;
}

/** What a relay writes for one alert that goes to one chat, in as many calls. */
function createFlood(store: SqliteStore, lane: LaneFence) {
  const newId = createIdSource(Date.now);
  const waits = { on: [] as number[], off: [] as number[] };
  const text = "x".repeat(1_200);
  let number = 0;
  let isFailing = false;
  const accepted: number[] = [];
  let isWorking = false;

  async function work(): Promise<void> {
    if (isWorking) return;
    isWorking = true;
    while (accepted.length > 0) {
      const seqs = accepted.splice(0, 100);
      const at = Date.now();
      const claims = seqs.map(() => ({ lane, token: newId(), leaseMs: 60_000 }));
      await store
        .recordRouting(
          seqs.map((alertSeq, index) => ({
            alertSeq,
            facts: {
              title: `TVL of pool ${alertSeq} fell`,
              severity: "warning",
              status: "firing",
              format: "json",
              alertKey: `tvl:${alertSeq % 5_000}`,
              fields: [{ name: "pool", value: String(alertSeq) }],
              notes: [],
            },
            decisions: [{ route: "everything", destination: "chat", result: "deliver", reason: "every alert" }],
            deliveries: [
              {
                destination: "chat",
                channel: "telegram",
                recipient: "-1001000000001",
                route: "everything",
                state: "queued",
                reason: "",
                dueAt: at,
                updates: "auto",
              },
            ],
            claims: [claims[index]],
            purpose: "alert",
            routedAt: at,
            repeatWindowMs: 86_400_000,
          })) as Parameters<SqliteStore["recordRouting"]>[0],
        )
        .then(async (recorded) => {
          await store.recordAttempts(
            lane,
            recorded.flatMap(({ deliveries }, index) =>
              deliveries
                .flatMap((made) => made ?? [])
                .map(({ seq }) => ({
                  token: claims[index]?.token ?? "",
                  deliverySeqs: [seq],
                  at,
                  durationMs: 40,
                  action: "send" as const,
                  part: 1,
                  parts: 1,
                  outcome: "sent" as const,
                  countsAsAttempt: true,
                  progress: { refs: [String(seq)] },
                  next: { state: "sent" as const, reason: "" },
                })),
            ),
          );
        });
    }
    isWorking = false;
  }

  async function accept(kind: "on" | "off" | undefined): Promise<void> {
    number += 1;
    const calledAt = performance.now();
    const answer = await store.acceptRequest({
      receivedAt: Date.now(),
      contentType: "application/json",
      headers: '[["host","tocsin.example.com"],["content-type","application/json"]]',
      body: Buffer.from(JSON.stringify({ event: number, text })),
      ids: [newId()],
      origin: "hook",
      dedupeWindowMs: 86_400_000,
    });
    if (kind !== undefined) waits[kind].push(performance.now() - calledAt);
    if (answer.kind === "accepted" && answer.firstSeq !== undefined) accepted.push(answer.firstSeq);
    void work().catch(fail);
  }

  function fail(error: unknown): void {
    if (!isFailing) console.error("the flood failed:", error);
    isFailing = true;
  }

  return {
    waits,
    settled: async () => {
      while (isWorking) await systemClock.sleep(5);
    },
    accept: (kind: "on" | "off" | undefined) => void accept(kind).catch(fail),
  };
}

const at = (sorted: number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const inMb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;

async function main(): Promise<void> {
  const before = look();
  const sizeBefore = statSync(path).size;
  console.log(`${before.alerts} alerts, ${before.unfinished} of them unfinished, ${inMb(sizeBefore)}`);
  const store = await openThreadedStore({
    dataDir,
    threadEntry: new URL("../dist/store/sqlite/thread.js", import.meta.url),
  });
  const [grant] = await store.acquireLanes("bench", [{ group: "bench", statuses: [], paces: [] }], 0);
  if (grant === undefined) throw new Error("no lane");
  const flood = createFlood(store, { group: "bench", fence: grant.fence });

  let removed = 0;
  let steps = 0;
  let isOn = false;
  let isDone = false;
  let goOn: () => void = () => {};
  const whileOn = async () => {
    while (!isOn) await new Promise<void>((resume) => (goOn = resume));
  };
  const counted = {
    removeAlerts: async (step: Parameters<SqliteStore["removeAlerts"]>[0]) => {
      const done = await store.removeAlerts(step);
      removed += done.removed;
      steps += 1;
      return done;
    },
    giveBackRoom: async () => {
      const given = await store.giveBackRoom();
      if (!given.more) isDone = true;
      return given;
    },
  };
  const keptMs = (before.newestAt - before.oldestAt) * Number(values.keep) + (Date.now() - before.newestAt);
  const stop = new AbortController();
  const running = createRetention({
    store: counted,
    rules: { maxAgeMs: keptMs },
    // The ten minutes before the first look are left out, and while it is off a rest does not end.
    clock: {
      now: Date.now,
      sleep: async (ms, signal) => {
        if (ms < 600_000) await systemClock.sleep(ms, signal);
        await whileOn();
      },
    },
    log: { info: console.log, warn: console.log, error: console.log, debug() {} } as never,
  }).run(stop.signal);

  const startedAt = performance.now();
  const endsAt = startedAt + Number(values.seconds) * 1000;
  const tick = async (until: number, kind: "on" | "off" | undefined) => {
    const from = performance.now();
    let sent = 0;
    while (performance.now() < until) {
      const due = ((performance.now() - from) / 1000) * rate;
      // Not what is in flight from the other kind of window.
      const settled = performance.now() - from > 200;
      for (; sent < due; sent += 1) flood.accept(settled ? kind : undefined);
      await systemClock.sleep(1);
    }
  };
  let onMs = 0;
  for (let round = 0; performance.now() < endsAt && !isDone; round += 1) {
    isOn = values.always || round % 2 === 1;
    if (isOn) goOn();
    const began = performance.now();
    await tick(began + windowMs, isOn ? "on" : "off");
    if (isOn) onMs += performance.now() - began;
    if (round % 10 === 9) report();
  }
  report();

  function report(): void {
    const [on, off] = [flood.waits.on, flood.waits.off].map((waits) =>
      [...waits].sort((one, other) => one - other),
    ) as [number[], number[]];
    const row = (share: number) =>
      `${at(off, share).toFixed(2)} → ${at(on, share).toFixed(2)} (${(at(on, share) / at(off, share)).toFixed(2)})`;
    console.log(
      `${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${on.length}/${off.length} accepted; ms without → with: p50 ${row(0.5)}, p90 ${row(0.9)}, p99 ${row(0.99)}, p99.9 ${row(0.999)}; removed ${removed} in ${steps} steps, ${((removed / onMs) * 1000).toFixed(0)}/s`,
    );
  }

  if (values.finish) {
    isOn = true;
    goOn();
    const [began, removedBefore] = [performance.now(), removed];
    while (!isDone) {
      await tick(performance.now() + 1000, undefined);
    }
    const seconds = (performance.now() - began) / 1000;
    console.log(
      `finished: ${removed - removedBefore} more in ${seconds.toFixed(0)} s, ${((removed - removedBefore) / seconds).toFixed(0)}/s`,
    );
  }
  stop.abort();
  isOn = true;
  goOn();
  await running;
  await flood.settled();
  await store.close();
  const after = look(before.last);
  console.log(
    `${after.alerts} of them left, ${after.unfinished} unfinished (${before.unfinished} before), ${inMb(sizeBefore)} → ${inMb(statSync(path).size)}`,
  );
}

await main();
