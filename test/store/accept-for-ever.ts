/** Accepts from many callers at once, and says each id when it is on disk, until it is killed. */
import { writeSync } from "node:fs";
import { createIdSource } from "../../src/core/id.ts";
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import { request } from "../conformance/store/scene-samples.ts";
import { compiledThread } from "../support/compiled-thread.ts";

const [dataDir = ""] = process.argv.slice(2);
const newId = createIdSource(Date.now);
const store = await openThreadedStore({ dataDir, ballastBytes: 0, threadEntry: compiledThread() });

/** A pipe whose reader is behind refuses for the moment (EAGAIN); it may take a part of a line, too. */
function say(line: string): void {
  let left = Buffer.from(`${line}\n`);
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}

async function acceptForEver(): Promise<void> {
  for (;;) {
    const id = newId();
    await store.acceptRequest(request({ ids: [id], body: Buffer.from(`{"id":"${id}"}`) }));
    // Synchronously: a line that this process still holds when it is killed would not be an acknowledgement.
    say(id);
  }
}

say("open");
await Promise.all(Array.from({ length: 64 }, acceptForEver));
