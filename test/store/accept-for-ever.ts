/** Accepts from many callers at once, and says each id when it is on disk, until it is killed. */
import { writeSync } from "node:fs";
import { createIdSource } from "../../src/core/id.ts";
import { openThreadedStore } from "../../src/store/threaded-store.ts";
import { compiledThread } from "../support/compiled-thread.ts";

const [dataDir = ""] = process.argv.slice(2);
const newId = createIdSource(Date.now);
const store = await openThreadedStore({ dataDir, ballastBytes: 0, threadEntry: compiledThread() });

async function acceptForEver(): Promise<void> {
  for (;;) {
    const id = newId();
    await store.acceptRequest({
      receivedAt: Date.now(),
      headers: "[]",
      body: Buffer.from(`{"id":"${id}"}`),
      fingerprint: 1,
      ids: [id],
      origin: "hook",
      identical: "store",
      dedupeWindowMs: 1,
    });
    // Synchronously: a line that this process still holds when it is killed would not be an acknowledgement.
    writeSync(1, `${id}\n`);
  }
}

writeSync(1, "open\n");
await Promise.all(Array.from({ length: 64 }, acceptForEver));
