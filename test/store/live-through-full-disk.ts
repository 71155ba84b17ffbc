/**
 * Runs a store through a full disk and says, line by line as JSON, what a sender and the engine see.
 * Arguments: the folder; how the disk gets full (`fill`: a file takes all room, `limit`: the size of files is limited).
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { AppError } from "../../src/core/errors.ts";
import { createIdSource } from "../../src/core/id.ts";
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import { attemptOf, claimOf, planned, request, routed } from "../conformance/store/scene-samples.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { takeLane } from "../support/lane.ts";

/** Of util-linux. */
const prlimit = "prlimit";
const [folder = "", way = "fill"] = process.argv.slice(2);
const filler = join(folder, "filler");
const dataDir = join(folder, "data");
mkdirSync(dataDir, { recursive: true });
const newId = createIdSource(Date.now);
const open = () => openThreadedStore({ dataDir, ballastBytes: 1024 * 1024, threadEntry: compiledThread() });
const say = (step: string, value: unknown) => console.log(JSON.stringify([step, value]));
let store = await open();

/** Takes all room but what the file system keeps for the last few bytes. */
function fillDisk(): void {
  for (const size of [64 * 1024, 4096]) {
    const block = Buffer.alloc(size, 1);
    try {
      for (;;) appendFileSync(filler, block);
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOSPC") throw error;
    }
  }
}

function makeRoom(): void {
  if (way === "fill") rmSync(filler);
  else execFileSync(prlimit, ["--pid", String(process.pid), "--fsize=unlimited"]);
}

const codeOf = (error: unknown) => (error instanceof AppError ? error.code : String(error));

/** `accepted`, or the code of the refusal. */
async function accept(): Promise<string> {
  const one = request({ receivedAt: Date.now(), ids: [newId()], body: Buffer.alloc(2000, "x") });
  return store.acceptRequest(one).then(({ kind }) => kind, codeOf);
}

async function acceptUntil(answer: string): Promise<{ accepted: number; others: string[] }> {
  const others = new Set<string>();
  for (let accepted = 0; ; ) {
    const got = await accept();
    if (got === "accepted") accepted += 1;
    if (got === answer) return { accepted, others: [...others] };
    others.add(got);
    if (got !== "accepted") await setTimeout(50);
  }
}

/**
 * Routes, claims, sends and ends what waits; how many of each went through, and whether somebody can log in by a
 * link.
 */
async function deliver(limit: number): Promise<unknown> {
  const lane = await takeLane(store);
  const requests = await store.listUnrouted(limit, Date.now());
  const deliveries = [planned("chat", { dueAt: 0 }), planned("mail", { dueAt: 0 })];
  const alerts = requests.flatMap((one) => one.alerts);
  await store.recordRouting(alerts.map(({ seq }) => routed(seq, { deliveries, routedAt: Date.now() })));
  const due = await store.listDue("chat", Date.now(), limit);
  let sent = 0;
  for (const { seq } of due) {
    const pace = { key: "chat", sentAt: [Date.now()], parkedUntil: 0 };
    await store.claimDeliveries(lane, claimOf(`t${seq}`, seq), [pace]);
    if ((await store.recordAttempt(lane, attemptOf(`t${seq}`, [seq]), [])) === "recorded") sent += 1;
  }
  const late = await store.listDue("mail", Date.now(), limit);
  const seqs = late.map(({ seq }) => seq);
  await store.finishDeliveries(lane, seqs, { state: "expired", reason: "too old" }, Date.now(), []);
  const code = { key: newId(), expiresAt: Date.now() + 60_000 };
  const isRecorded = await store.putKeyIfAbsent("used-login-code", code, Date.now());
  await store.maintain(Date.now());
  const indexed = (await store.listAlerts({ limit: 10, q: "fell" })).length;
  return { sent, ended: late.length, indexed, isRecorded };
}

async function look(): Promise<unknown> {
  const { full, writable } = await store.health();
  const listed = await store.listAlerts({ limit: 5, state: "sent" });
  return { full, writable, listed: listed.length };
}

const first = 75;
let kept = 0;
for (let count = 0; count < first; count += 1) if ((await accept()) === "accepted") kept += 1;
// With an empty log nothing but the ballast gives room back. With a large one there may be room for the ballast again, and
// after a second, on a busy machine before the test looks, the disk would not count as full.
await store.close();
store = await open();
if (way === "fill") fillDisk();
kept += (await acceptUntil("store_unavailable")).accepted;
say("refused", "store_unavailable");
say("delivered", await deliver(60));
say("looked", await look());
makeRoom();
const meanwhile = await acceptUntil("accepted");
say("resumed", meanwhile.others);
say("looked", await look());
say("kept", (await store.countAlerts()).total === kept + meanwhile.accepted);

if (way === "fill") {
  await store.close();
  fillDisk();
  store = await open();
  say("opened", existsSync(join(dataDir, "tocsin.db.ballast")));
  say("refused", await accept());
  say("delivered", await deliver(10));
  makeRoom();
  say("resumed", (await acceptUntil("accepted")).others);
}
await store.close();
