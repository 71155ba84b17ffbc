/**
 * Runs a heartbeat over a real store through a full disk, a minute of the test's clock each, and says line by line as JSON
 * which signs were sent. Argument: the folder on a small disk.
 */
import { appendFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import { readinessOf } from "../../src/operations/readiness.ts";
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import type { Sign } from "../../src/vendors/heartbeat.ts";
import { createHeartbeat } from "../../src/watch/heartbeat.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { createTestClock } from "../support/test-clock.ts";

const [folder = ""] = process.argv.slice(2);
const filler = join(folder, "filler");
const dataDir = join(folder, "data");
mkdirSync(dataDir, { recursive: true });
const store = await openThreadedStore({ dataDir, ballastBytes: 1024 * 1024, threadEntry: compiledThread() });
const clock = createTestClock();
const newId = createIdSource(Date.now);
const stop = new AbortController();
let signs: Sign[] = [];
let asked = 0;

const heartbeat = createHeartbeat({
  settings: { everyMs: 10_000 },
  line: {
    host: "hc-ping.com",
    knowsFailure: true,
    send: async (sign) => void signs.push(sign),
    close: async () => {},
  },
  async readiness() {
    asked += 1;
    try {
      const engine = { lastTurnAt: clock.now, laneTurns: () => [] };
      const reader = { problem: () => undefined };
      return await readinessOf({ store, engine, reader, clock, stopping: stop.signal });
    } finally {
      asked -= 1;
    }
  },
  clock,
  log: silentLog,
});

/** A minute, in steps shorter than the store may take by that clock: it takes what it takes by the real one. */
async function passMinute(step: string): Promise<void> {
  signs = [];
  for (let passedMs = 0; passedMs < 60_000; passedMs += 500) {
    await clock.advance(500);
    while (asked > 0) await setTimeout(5);
    await clock.settle();
  }
  const count = (sign: Sign) => signs.filter((one) => one === sign).length;
  console.log(JSON.stringify([step, { alive: count("alive"), failing: count("failing") }]));
}

/** Takes all room but what the file system keeps for the last few bytes. */
function fillDisk(): void {
  for (const size of [64 * 1024, 4096]) {
    try {
      for (;;) appendFileSync(filler, Buffer.alloc(size, 1));
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOSPC") throw error;
    }
  }
}

async function acceptUntil(answer: "accepted" | "refused"): Promise<void> {
  const request = { receivedAt: 0, headers: "[]", origin: "hook" as const, dedupeWindowMs: 1 };
  for (;;) {
    const got = await store.acceptRequest({ ...request, ids: [newId()], body: Buffer.alloc(2000, "x") }).then(
      () => "accepted",
      () => "refused",
    );
    if (got === answer) return;
    if (got === "refused") await setTimeout(50);
  }
}

const running = heartbeat.run(stop.signal);
await passMinute("with room");
fillDisk();
await acceptUntil("refused");
await passMinute("full");
rmSync(filler);
await acceptUntil("accepted");
await passMinute("with room again");
stop.abort();
await running;
await store.close();
