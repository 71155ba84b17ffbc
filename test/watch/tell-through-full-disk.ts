/**
 * Runs the watch over the disk, with the real store and notifier, through a disk that gets full and empty again, and says
 * line by line as JSON which notices there are and what became of them. Argument: the folder on a small disk.
 */
import { appendFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { AlertFacts } from "../../src/core/alert.ts";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { WatchState } from "../../src/core/ports/watch.ts";
import { createNotifier } from "../../src/delivery/duties/notices.ts";
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import { openDiskWatch } from "../../src/watch/disk.ts";
import { chat } from "../routing/sample.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { takeLane } from "../support/lane.ts";
import { createTestClock } from "../support/test-clock.ts";

const mb = 1024 ** 2;
const [folder = ""] = process.argv.slice(2);
const filler = join(folder, "filler");
const dataDir = join(folder, "data");
mkdirSync(dataDir, { recursive: true });
const store = await openThreadedStore({ dataDir, ballastBytes: mb, threadEntry: compiledThread() });
const clock = createTestClock();
const newId = createIdSource(clock.now);
const lane = await takeLane(store);
const stop = new AbortController();
let busy = 0;
async function track<T>(work: Promise<T>): Promise<T> {
  busy += 1;
  return work.finally(() => {
    busy -= 1;
  });
}

const notifier = createNotifier({
  store,
  destinations: [chat("ops")],
  isWell: () => true,
  clock,
  newId,
  log: silentLog,
});
const deps = {
  lookAtDisk: () => track(store.health()),
  countStoreRefused: () => 0,
  isShared: false,
  store: { ...store, saveWatchState: (state: WatchState) => track(store.saveWatchState(state)) },
  notify: async (facts: AlertFacts, state: WatchState) => void (await track(notifier.send(facts, { watch: state }))),
};
const watch = await openDiskWatch({}, { ...deps, publicUrl: "", clock, log: silentLog });

async function passMinutes(minutes: number): Promise<void> {
  for (let seconds = 0; seconds < minutes * 60; seconds += 5) {
    await clock.advance(5_000);
    while (busy > 0) await setTimeout(5);
    await clock.settle();
  }
}

/** Claims and ends what waits, as a lane does. */
async function deliver(): Promise<void> {
  for (const { seq } of await store.listDue("ops", clock.now(), 10)) {
    const at = clock.now();
    const work = { token: `t${seq}`, deliverySeqs: [seq] };
    await store.claimDeliveries(lane, { ...work, leaseMs: 60_000 }, [{ key: "ops", sentAt: [at], parkedUntil: 0 }]);
    const attempt = { ...work, at, durationMs: 1, action: "send", part: 1, parts: 1, outcome: "sent" } as const;
    const next = { state: "sent", reason: "" } as const;
    await store.recordAttempt(lane, { ...attempt, countsAsAttempt: true, progress: { refs: ["1"] }, next }, []);
  }
}

/** Leaves so much room. */
async function fillDisk(leave: number): Promise<void> {
  for (const size of [mb, 64 * 1024, 4096]) {
    try {
      while (((await store.health()).freeBytes ?? 0) - size > leave) appendFileSync(filler, Buffer.alloc(size, 1));
      if (leave === 0) for (;;) appendFileSync(filler, Buffer.alloc(size, 1));
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOSPC") throw error;
    }
  }
}

async function acceptUntilRefused(): Promise<void> {
  const request = { receivedAt: 0, headers: "[]", origin: "hook" as const, dedupeWindowMs: 1 };
  for (;;) {
    const accepted = store.acceptRequest({ ...request, ids: [newId()], body: Buffer.alloc(2000, "x") });
    if (
      !(await accepted.then(
        () => true,
        () => false,
      ))
    )
      return;
  }
}

const running = watch.run(stop.signal);
await passMinutes(1);
await fillDisk(10 * mb);
await passMinutes(1);
await deliver();
await fillDisk(0);
await acceptUntilRefused();
await passMinutes(1);
await deliver();
rmSync(filler);
// Room is looked for once a second, by the real clock.
while ((await store.health()).full) await setTimeout(50);
await passMinutes(3);
await deliver();
stop.abort();
await running;
for (const { facts, deliveries } of (await store.listAlerts({ limit: 20 })).toReversed()) {
  if (facts?.source !== "Tocsin") continue;
  const title = facts.title.replace(/(full: |for ).*?( are free|$)/, "$1N$2");
  console.log(JSON.stringify([`${facts.severity} ${facts.status}: ${title}`, ...deliveries.map(({ state }) => state)]));
}
await store.close();
