import { statSync } from "node:fs";
import type { Database } from "better-sqlite3";
import { expect, it } from "vitest";
import type { Removal } from "../../src/core/ports/retention.ts";
import { createSearching } from "../../src/store/sqlite/transactions/searching.ts";
import { openLog } from "./open-log.ts";

const count = 1_200;

const one = (db: Database, sql: string) => db.prepare(sql).pluck().get();

/** Unfinished ones are spread over the whole log, as the writer of it makes them. */
const unfinished = `SELECT count(*) FROM alerts a WHERE routed_at IS NULL OR EXISTS (SELECT 1 FROM deliveries d
  WHERE d.alert_seq = a.seq AND (d.due_at IS NOT NULL OR d.state = 'held' AND d.resent_by IS NULL))`;

async function removeAll({ db, transactions }: ReturnType<typeof openLog>, receivedBefore: number): Promise<number> {
  let removed = 0;
  let step: Removal | undefined;
  do {
    db.exec("BEGIN IMMEDIATE");
    step = await transactions.removeAlerts({ after: step?.next, receivedBefore, limit: 20 });
    db.exec("COMMIT");
    removed += step.removed;
  } while (step.next !== undefined);
  return removed;
}

it("leaves a log that is whole: every count right, nothing without its owner, and smaller on disk", async () => {
  const log = openLog(count);
  const { db, written, transactions, path } = log;
  const waiting = one(db, unfinished);
  expect(waiting).toBeGreaterThan(0);
  const before = statSync(path).size;
  const receivedBefore = written.startAt + (written.endAt - written.startAt) * 0.8;
  const removed = await removeAll(log, receivedBefore);
  // Threads are gone through bit by bit, also when nothing is left to remove.
  for (let round = 0; round < 100; round += 1) await removeAll(log, receivedBefore);
  expect(removed).toBeGreaterThan(count / 2);
  while (db.transaction(() => transactions.giveBackRoom()).immediate().more);
  db.pragma("wal_checkpoint(TRUNCATE)");

  expect(one(db, unfinished)).toBe(waiting);
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  expect(db.pragma("foreign_key_check")).toEqual([]);
  for (const stray of [
    "requests WHERE seq NOT IN (SELECT request_seq FROM alerts WHERE request_seq IS NOT NULL)",
    "alerts WHERE request_seq NOT IN (SELECT seq FROM requests)",
    "threads WHERE last_alert_seq NOT IN (SELECT seq FROM alerts)",
    `delivery_counts c WHERE count <> (SELECT count(*) FROM deliveries d
       WHERE d.destination = c.destination AND d.state = c.state AND d.resent_by IS NULL)`,
  ])
    expect(one(db, `SELECT count(*) FROM ${stray}`), stray).toBe(0);
  const repeats = `SELECT (SELECT coalesce(sum(duplicates), 0) FROM requests)
     + (SELECT count(*) FROM alerts WHERE repeat_of IS NOT NULL)`;
  expect(transactions.countDuplicates()).toBe(one(db, repeats));
  expect(transactions.countAlerts()).toMatchObject({ total: count, kept: count - removed });
  expect(statSync(path).size).toBeLessThan(before * 0.7);
});

it("gives up parts of the search index whose alerts are gone, and writes those anew that hold a few", async () => {
  const log = openLog(count);
  const { db, transactions, written } = log;
  const perPart = 200;
  db.exec(`DELETE FROM search_parts; INSERT INTO search_parts VALUES (1, 'alerts_search_anew');
    UPDATE search_cursor SET alert_seq = 0;
    CREATE VIRTUAL TABLE alerts_search_anew USING fts5 (words, content = '', tokenize = 'unicode61')`);
  db.transaction(() => createSearching({ db }, perPart).indexAlerts(count)).immediate();
  const left = await transactions.listAlerts({ limit: 100, q: "tvl", toAt: written.startAt + 1e12 });
  expect(left).toHaveLength(100);
  // Of the second part nothing is left, of the first one alert, which waits.
  db.exec(`UPDATE deliveries SET state = 'failed', due_at = NULL, fallback_at = NULL WHERE alert_seq BETWEEN 201 AND 400;
    UPDATE alerts SET routed_at = received_at, facts = (SELECT facts FROM alerts WHERE facts IS NOT NULL) WHERE routed_at IS NULL;
    UPDATE deliveries SET state = 'sent', due_at = NULL WHERE alert_seq BETWEEN 1 AND 200`);
  const seq = one(db, "SELECT min(alert_seq) FROM deliveries WHERE alert_seq > 90");
  const id = one(db, `SELECT id FROM alerts WHERE seq = ${seq}`) as string;
  db.exec(`UPDATE deliveries SET state = 'queued', due_at = 1 WHERE alert_seq = ${seq}`);
  await removeAll(log, written.endAt + 1);
  while (db.transaction(() => transactions.giveBackRoom()).immediate().more);

  const parts = db.prepare("SELECT name FROM search_parts ORDER BY first_seq").pluck().all() as string[];
  expect(parts[0]).toBe("alerts_search_1_left");
  expect(parts).not.toContain("alerts_search_201");
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE %'").pluck().all();
  expect(tables.sort()).toEqual([...parts].sort());
  expect((await transactions.listAlerts({ limit: 9, q: id })).map((alert) => alert.id)).toEqual([id]);
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
});

it("keeps whatever has the highest number, and what a fallback is still to come for, when all else goes", async () => {
  const log = openLog(count);
  const { db, written } = log;
  db.exec("UPDATE deliveries SET state = 'failed', due_at = NULL, fallback_at = NULL, claim_token = NULL");
  db.exec("UPDATE alerts SET routed_at = received_at, facts = '{}' WHERE routed_at IS NULL");
  db.exec("DELETE FROM attempts WHERE delivery_seq IN (SELECT seq FROM deliveries WHERE alert_seq > 1190)");
  db.exec("DELETE FROM deliveries WHERE alert_seq > 1190");
  db.exec("UPDATE deliveries SET fallback_at = 1 WHERE seq = 5");
  const highest = () =>
    ["max(seq) FROM alerts", "max(seq) FROM requests", "max(seq) FROM deliveries", "max(version) FROM alerts"].map(
      (asked) => one(db, `SELECT ${asked}`),
    );
  const before = highest();
  await removeAll(log, written.endAt + 1);
  expect(highest()).toEqual(before);
  expect(one(db, "SELECT count(*) FROM alerts")).toBeLessThan(10);
  expect(one(db, "SELECT count(*) FROM deliveries WHERE seq = 5")).toBe(1);
});

it.each([
  ["was behind says are old, behind those that are not", "1000", 401],
  ["was ahead has stored, and goes past them", "4e12", 201],
])("leaves alerts that a clock which %s", async (_which, receivedAt, left) => {
  const log = openLog(count);
  const { db, written } = log;
  db.exec(`UPDATE deliveries SET state = 'sent', due_at = NULL, fallback_at = NULL, claim_token = NULL;
    UPDATE alerts SET routed_at = received_at, facts = '{}' WHERE routed_at IS NULL`);
  const until = one(db, "SELECT received_at FROM alerts WHERE seq = 600") as number;
  expect(until).toBeLessThan(written.endAt);
  db.exec(`UPDATE alerts SET received_at = ${receivedAt} WHERE seq BETWEEN 700 AND 900`);
  await removeAll(log, receivedAt === "1000" ? until : written.endAt + 1);
  expect(one(db, "SELECT count(*) FROM alerts WHERE seq BETWEEN 700 AND 1100")).toBe(left);
  expect(one(db, "SELECT count(*) FROM alerts WHERE seq < 590")).toBe(0);
});
