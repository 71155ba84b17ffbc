import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import type { AlertDetail } from "../../src/core/ports/alert-log.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import type { SqliteStore } from "../../src/store/sqlite/store.ts";
import { databaseFileName, openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
import { compiledThread } from "../support/compiled-thread.ts";

/** What must be found, whatever became of the rest. */
export interface Expected {
  /** By id of an alert that was answered 202: the body that it came with, and how many alerts that had. */
  accepted: Map<string, { body: string; items: number }>;
  /** Calls that had begun to leave, by alert and destination. */
  calls: Map<string, Map<string, number>>;
  /** Deliveries that had been shown as done: alert and destination. */
  sent: Map<string, Set<string>>;
  mutes: string[];
  /** All that was ever posted: nothing else may be found. */
  bodies: ReadonlySet<string>;
  /** What the files of secrets must hold by now, and what they may: by name. */
  secrets: Map<string, string>;
  /** Backups that the command has said are made, with the alerts that were accepted before it began. */
  backups: Map<string, string[]>;
}

/**
 * Opens what a power cut has left as a relay does, and says what is wrong with it. The store of the relay itself with
 * `threads`; else the same in this thread, which is quicker.
 */
export async function checkImage(dataDir: string, expected: Expected, threads: boolean): Promise<string[]> {
  const wrong: string[] = [];
  let store: SqliteStore | undefined;
  try {
    store = threads
      ? await openThreadedStore({ dataDir, threadEntry: compiledThread() })
      : openLocalStore({ path: join(dataDir, databaseFileName), ballastBytes: 0 });
    await checkPromises(store, expected, wrong);
  } catch (error) {
    wrong.push(`the store does not open or answer: ${(error as Error).message}`);
  }
  await store?.close().catch((error: Error) => void wrong.push(`the store does not close: ${error.message}`));
  if (store !== undefined) checkDatabase(join(dataDir, databaseFileName), wrong, expected.bodies);
  checkFiles(dataDir, expected, wrong);
  return wrong;
}

async function checkPromises(store: SqliteStore, expected: Expected, wrong: string[]): Promise<void> {
  const { writable } = await store.health();
  if (!writable) wrong.push("the store takes no writes");
  for (const [id, { body, items }] of expected.accepted) {
    const alert = await store.getAlert(id);
    if (alert === undefined) {
      wrong.push(`lost: alert ${id} was answered 202`);
      continue;
    }
    const kept = alert.request && Buffer.from(alert.request.body).toString();
    if (kept !== body || alert.request?.items !== items)
      wrong.push(`alert ${id} has another body than was answered 202`);
    checkCalls(alert, expected, wrong);
  }
  const mutes = new Set((await store.listMutes(0, true)).map((mute) => mute.id));
  for (const id of expected.mutes) if (!mutes.has(id)) wrong.push(`lost: mute ${id} was confirmed`);
}

/** Each call has an attempt on the record, but for one that a claim stands for. */
function checkCalls(alert: AlertDetail, expected: Expected, wrong: string[]): void {
  for (const [destination, calls] of expected.calls.get(alert.id) ?? []) {
    const there = alert.deliveries.filter((delivery) => delivery.destination === destination);
    const attempts = there.reduce((sum, delivery) => sum + delivery.attempts.length, 0);
    const claims = there.filter(({ state }) => state === "sending").length;
    if (calls > attempts + claims) {
      const known = `${attempts} attempts and ${claims} claims`;
      wrong.push(`${calls} calls for alert ${alert.id} had left for ${destination}, and ${known} are on disk`);
    }
  }
  for (const destination of expected.sent.get(alert.id) ?? []) {
    const there = alert.deliveries.filter((delivery) => delivery.destination === destination);
    if (!there.some(({ state }) => state === "sent" || state === "digested"))
      wrong.push(`alert ${alert.id} had been shown as sent to ${destination}, and is not any more`);
  }
}

/** Queries that find what contradicts itself. */
const contradictions: Record<string, string> = {
  "a request without all of its alerts": `SELECT seq FROM requests r
     WHERE items <> (SELECT count(*) FROM alerts a WHERE a.request_seq = r.seq)`,
  "a routed alert without decisions, or deliveries of one that is not routed": `SELECT seq FROM alerts a
     WHERE (routed_at IS NOT NULL AND (facts IS NULL OR decisions IS NULL) AND repeat_of IS NULL)
       OR (routed_at IS NULL AND EXISTS (SELECT 1 FROM deliveries d WHERE d.alert_seq = a.seq))`,
  "a claim without a token, or a token without a claim": `SELECT seq FROM deliveries
     WHERE (state = 'sending') <> (claim_token IS NOT NULL) OR (claim_token IS NOT NULL AND due_at IS NOT NULL)`,
  "a delivery that is sent and has no attempt": `SELECT seq FROM deliveries d WHERE state IN ('sent', 'digested')
     AND NOT EXISTS (SELECT 1 FROM attempts t WHERE t.delivery_seq = d.seq AND t.outcome = 'sent')`,
  "counts of deliveries that are not theirs": `SELECT destination FROM delivery_counts c
     WHERE count <> (SELECT count(*) FROM deliveries d
       WHERE d.destination = c.destination AND d.state = c.state AND d.resent_by IS NULL)`,
  "a search index ahead of the alerts": `SELECT alert_seq FROM search_cursor
     WHERE alert_seq > (SELECT coalesce(max(seq), 0) FROM alerts)`,
};

function checkDatabase(path: string, wrong: string[], bodies: ReadonlySet<string>): void {
  const db = new Sqlite(path);
  try {
    checkIntegrity(db, wrong);
    for (const [what, query] of Object.entries(contradictions)) {
      const found = db.prepare(query).pluck().all();
      if (found.length > 0) wrong.push(`${what}: ${found.slice(0, 5).join(", ")}`);
    }
    for (const body of db.prepare<[], Buffer>("SELECT body FROM requests").pluck().iterate()) {
      if (!bodies.has(body.toString())) wrong.push(`a body that nobody sent: ${body.toString().slice(0, 80)}`);
    }
  } catch (error) {
    wrong.push(`the database cannot be read: ${(error as Error).message}`);
  } finally {
    db.close();
  }
}

function checkIntegrity(db: Database, wrong: string[]): void {
  const verdict = db.pragma("integrity_check", { simple: true });
  if (verdict !== "ok") wrong.push(`integrity: ${verdict}`);
  const broken = db.pragma("foreign_key_check") as unknown[];
  if (broken.length > 0) wrong.push(`foreign keys: ${JSON.stringify(broken[0])}`);
}

/** Secrets and backups: a file has its name only when it is whole. */
function checkFiles(dataDir: string, { secrets, backups }: Expected, wrong: string[]): void {
  for (const [name, secret] of secrets) {
    const path = join(dataDir, "secrets", name);
    const kept = existsSync(path) ? readFileSync(path, "utf8").trim() : "nothing";
    if (kept !== secret) wrong.push(`the secret ${name} is not the one that senders use: ${kept.length} characters`);
  }
  for (const [path, ids] of backups) {
    if (!existsSync(path)) {
      wrong.push(`lost: backup ${path} was said to be made`);
      continue;
    }
    const db = new Sqlite(path, { readonly: true });
    try {
      checkIntegrity(db, wrong);
      const kept = new Set(db.prepare<[], string>("SELECT id FROM alerts").pluck().all());
      const missing = ids.filter((id) => !kept.has(id));
      if (missing.length > 0) wrong.push(`backup ${path} has not ${missing[0]} and ${missing.length - 1} others`);
    } finally {
      db.close();
    }
  }
}
