/**
 * What a lone alert waits for the disk: accepts 500, one by one and without HTTP, and prints the median in
 * milliseconds.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIdSource } from "../src/core/id.ts";
import { openLocalStore } from "../src/store/sqlite/local-store.ts";

const folder = mkdtempSync(join(tmpdir(), "tocsin-sync-"));
const store = openLocalStore({ path: join(folder, "tocsin.db"), ballastBytes: 0 });
const newId = createIdSource(Date.now);
const times: number[] = [];
for (let index = 0; index < 700; index += 1) {
  const startedAt = performance.now();
  await store.acceptRequest({
    receivedAt: Date.now(),
    contentType: "application/json",
    headers: "[]",
    body: Buffer.from(`${index} ${"n".repeat(1_500)}`),
    ids: [newId()],
    origin: "hook",
    dedupeWindowMs: 86_400_000,
  });
  // The first ones are slow for other reasons than the disk.
  if (index >= 200) times.push(performance.now() - startedAt);
}
await store.close();
rmSync(folder, { recursive: true, force: true });
times.sort((a, b) => a - b);
console.log(JSON.stringify({ p50: times[Math.floor(times.length / 2)] }));
