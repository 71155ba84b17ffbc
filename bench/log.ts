/**
 * `npx tsx bench/log.ts [ALERTS]` (default 200,000; 5,000,000 takes a quarter of an hour and 15 GB): fills a log
 * through the store's own transactions, in a temporary folder, and prints how long its reads take.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AlertFacts, Severity } from "../src/core/alert.ts";
import type { DueDelivery } from "../src/core/delivery-job.ts";
import { createIdSource } from "../src/core/id.ts";
import type { AlertQuery } from "../src/core/ports/alert-log.ts";
import type { LaneGrant } from "../src/core/ports/lanes.ts";
import type { UnroutedRequest } from "../src/core/ports/routing-desk.ts";
import { toChangeCursor, toPosition } from "../src/store/sqlite/cursors.ts";
import { type DatabaseSession, openSession } from "../src/store/sqlite/database-session.ts";
import type { Call } from "../src/store/sqlite/group-commit.ts";
import { openLocalStore } from "../src/store/sqlite/local-store.ts";

const count = Number(process.argv[2] ?? 200_000);
const folder = mkdtempSync(join(tmpdir(), "tocsin-bench-"));
const path = join(folder, "tocsin.db");
const start = Date.UTC(2026, 0, 1);
const stepMs = 1000;
const batchSize = 1000;
const newId = createIdSource(() => start);
const tokens = Array.from({ length: 997 }, (_, index) => `TKN${index}`);

/** Repeatable, so that two runs measure the same log. */
let seed = 1;
function random(below: number): number {
  seed = (seed * 1103515245 + 12345) % 2 ** 31;
  return Math.floor((seed / 2 ** 31) * below);
}

function severityOf(index: number): Severity {
  if (index % 1000 === 0) return "critical";
  return index % 10 === 0 ? "warning" : "info";
}

function factsOf(index: number): AlertFacts {
  const token = tokens[random(tokens.length)] as string;
  return {
    title: `TVL of ${token} fell by ${random(90)} %`,
    severity: severityOf(index),
    status: "firing",
    format: "json",
    metric: "tvl",
    token,
    chain: random(3) === 0 ? "ethereum" : "base",
    value: `${random(1e6)}.${random(100)}`,
    alertKey: `tvl:${token}`,
    fields: Array.from({ length: 6 }, (_, field) => ({
      name: `field ${field}`,
      value: `value ${random(1e5)}`,
    })),
    notes: [],
  };
}

function run<T>(session: DatabaseSession, calls: Call[]): T[] {
  return session.commit(calls).results.map((result) => {
    if (!result.ok) throw result.error;
    return result.value as T;
  });
}

/** Criticals go to the pager alone, so that the two other filters together find nothing: the worst question. */
function destinationsOf(severity: Severity): string[] {
  return severity === "critical" ? ["pager"] : ["chat", "mail"];
}

function fillBatch(session: DatabaseSession, from: number, size: number): void {
  const body = Buffer.alloc(1200, "x");
  const receivedAt = (index: number) => start + index * stepMs;
  run(
    session,
    Array.from({ length: size }, (_, offset): Call => {
      const rest = { headers: "[]", body, origin: "hook" };
      const request = { ...rest, receivedAt: receivedAt(from + offset), ids: [newId()], dedupeWindowMs: 1 };
      return { name: "acceptRequest", arguments: [request] };
    }),
  );
  const [requests = []] = run<UnroutedRequest[]>(session, [
    { name: "listUnrouted", arguments: [size, Number.MAX_SAFE_INTEGER] },
  ]);
  const records = requests.flatMap(({ alerts }) =>
    alerts.map(({ seq }) => {
      const facts = factsOf(seq);
      const deliveries = destinationsOf(facts.severity).map((destination) => ({
        destination,
        channel: "telegram",
        recipient: "-1001",
        route: "everything",
        state: "queued",
        reason: "",
        dueAt: 0,
        updates: "auto",
      }));
      return { alertSeq: seq, facts, decisions: [], deliveries, purpose: "alert", routedAt: receivedAt(seq) };
    }),
  );
  run(session, [{ name: "recordRouting", arguments: [records] }]);
  const group = { group: "bench", statuses: [], paces: [] };
  const [[lane] = []] = run<LaneGrant[]>(session, [{ name: "acquireLanes", arguments: ["bench", [group], 60_000] }]);
  for (const destination of ["chat", "mail", "pager"]) {
    const [due = []] = run<DueDelivery[]>(session, [
      { name: "listDue", arguments: [destination, Number.MAX_SAFE_INTEGER, size] },
    ]);
    const deliverySeqs = due.map(({ seq }) => seq);
    const claim = { token: newId(), deliverySeqs, leaseMs: 60_000 };
    const sent = { durationMs: 1, action: "send", part: 1, parts: 1, outcome: "sent", countsAsAttempt: true };
    const next = { state: "sent", reason: "" };
    run(session, [
      { name: "claimDeliveries", arguments: [lane, claim, []] },
      {
        name: "recordAttempt",
        arguments: [lane, { ...claim, ...sent, at: 0, progress: { refs: ["1"] }, next }, []],
      },
    ]);
  }
  run(session, [{ name: "indexAlerts", arguments: [size] }]);
}

function fill(): void {
  const session = openSession({ path, ballastBytes: 0 });
  for (let from = 0; from < count; from += batchSize) fillBatch(session, from, Math.min(batchSize, count - from));
  session.close();
}

async function measure(name: string, read: (round: number) => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < 60; round += 1) {
    const startedAt = performance.now();
    await read(round);
    if (round >= 10) times.push(performance.now() - startedAt);
    if (performance.now() - startedAt > 2000 && times.length > 2) break;
  }
  times.sort((a, b) => a - b);
  const quantile = (part: number) => (times[Math.floor(times.length * part)] ?? Number.NaN).toFixed(2).padStart(9);
  console.log(`${name.padEnd(44)} p50 ${quantile(0.5)} ms   p99 ${quantile(0.99)} ms`);
}

try {
  const startedAt = performance.now();
  fill();
  const seconds = (performance.now() - startedAt) / 1000;
  const mebibytes = Math.round(statSync(path).size / 2 ** 20);
  console.log(`${count} alerts in ${seconds.toFixed(0)} s, ${mebibytes} MiB`);
  const store = openLocalStore({ path, readOnly: true });
  const list = (name: string, query: Partial<AlertQuery>) =>
    measure(name, () => store.listAlerts({ limit: 50, ...query }));
  const middle = start + (count / 2) * stepMs;
  await list("first page", {});
  await measure("page deep by cursor", (round) =>
    store.listAlerts({ limit: 50, before: toPosition(Math.floor(count / 2) - round * 50) }),
  );
  await list("severity, one in a thousand", { severity: "critical" });
  await list("severity, most", { severity: "info" });
  await list("destination", { destination: "chat" });
  await list("state, all", { state: "sent" });
  await list("state, none", { state: "failed" });
  await list("state at a destination", { state: "sent", destination: "mail" });
  await list("unmatched, none", { state: "unmatched" });
  await list("from the middle on", { fromAt: middle });
  await list("until the middle", { toAt: middle });
  await list("destination and rare severity", { destination: "pager", severity: "critical" });
  await list("destination without that severity (worst)", { destination: "chat", severity: "critical" });
  await list("state and rare severity", { state: "sent", severity: "critical" });
  await measure("search, a token", (round) => store.listAlerts({ limit: 50, q: tokens[round * 7] }));
  await list("search, every alert", { q: "fell" });
  await list("search, two words", { q: "tkn12 ethereum" });
  await list("search, one letter", { q: "t" });
  await list("search, nothing found", { q: "zebra" });
  await list("search, most, at another destination (worst)", {
    q: "fell",
    destination: "pager",
    severity: "info",
  });
  const [some] = await store.listAlerts({ limit: 1, before: toPosition(Math.floor(count / 2)) });
  await measure("one alert", () => store.getAlert(some?.id ?? ""));
  await measure("counts by destination", () => store.countByDestination());
  await measure("counts", () => store.countAlerts());
  await measure("changes after a version", (round) => store.listChanges(toChangeCursor(count - round), 100));
  await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
