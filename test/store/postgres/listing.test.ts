import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sampleWords } from "../../../bench/sample-alerts.ts";
import { writeStoredLog } from "../../../bench/stored-log.ts";
import type { AlertLog, AlertQuery, AlertSummary, FailedQuery, Position } from "../../../src/core/ports/alert-log.ts";
import { moveToPostgres } from "../../../src/store/move-log.ts";
import { notedChanges } from "../../../src/store/postgres/alert-changes.ts";
import type { Database } from "../../../src/store/postgres/database.ts";
import { createLog } from "../../../src/store/postgres/log.ts";
import { openPostgresDatabase, type PostgresDatabase } from "../../../src/store/postgres/store.ts";
import { toTx } from "../../../src/store/postgres/tx.ts";
import { openLocalStore } from "../../../src/store/sqlite/local-store.ts";
import { makePostgresDatabaseOfFile } from "../../support/postgres.ts";
import { shared } from "../../support/postgres-transactions.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";
import { day, endAt, everyQuery, listAllFailed, queriesOf } from "../log-queries.ts";

const count = 9_000;

type Log = ReturnType<typeof createLog>;

/** The log of SQLite's driver beside a copy in PostgreSQL: what the one finds, the other has to find as well. */
let sqlite: AlertLog;
let postgres: Log;
let database: PostgresDatabase;
let all: AlertSummary[];

const dataDir = makeTempFolder(afterAll);

beforeAll(async () => {
  writeStoredLog({ path: join(dataDir, "tocsin.db"), alerts: count, endAt });
  const url = await makePostgresDatabaseOfFile();
  const { signal } = new AbortController();
  const { kept = "" } = await moveToPostgres({ dataDir, url, now: () => endAt, signal, onProgress: async () => {} });
  const store = openLocalStore({ path: kept, ballastBytes: 0 });
  database = await openPostgresDatabase({ url, relayName: "a test" });
  sqlite = store;
  postgres = createLog(database);
  all = await sqlite.listAlerts({ limit: count });
  return async () => {
    await database.close();
    await store.close();
  };
});

const idsOf = async (log: Log, query: AlertQuery) => (await log.listAlerts(query)).map(({ id }) => id);

/** Page by page, for a reader with little time. */
async function walk(query: Omit<AlertQuery, "limit">): Promise<{ ids: string[]; stops: number }> {
  const ids: string[] = [];
  let stops = 0;
  for (let before: Position | undefined; ; ) {
    const { alerts, stopped } = await postgres.listAlertsWithin({ limit: 5_000, before, ...query }, -1);
    ids.push(...alerts.map(({ id }) => id));
    if (stopped !== undefined) stops += 1;
    else if (alerts.length < 5_000) return { ids, stops };
    before = stopped?.position ?? (alerts.at(-1)?.position as Position);
  }
}

it("a log that both drivers have is found alike whatever the filters, at once and in steps", async () => {
  let stops = 0;
  let found = 0;
  for (const query of everyQuery(31)) {
    const wanted = await idsOf(sqlite, { limit: count, ...query });
    const walked = await walk(query);
    stops += walked.stops;
    found += Number(wanted.length > 0);
    expect.soft(walked.ids, JSON.stringify(query)).toEqual(wanted);
    expect.soft(await idsOf(postgres, { limit: 20, ...query }), JSON.stringify(query)).toEqual(wanted.slice(0, 20));
  }
  expect(stops).toBeGreaterThan(20);
  expect(found).toBeGreaterThan(6);
});

it("a log that both drivers have is found alike by route, key, source, facts, phrases and bodies, beside the other filters", async () => {
  const { some, title, key, queries } = queriesOf(all);
  const asked: Partial<AlertQuery>[] = [
    ...queries,
    { source: "forge" },
    { facts: [{ fact: "value", compare: "<=", number: 5_000_000 }] },
    { facts: [{ fact: "value", compare: "=", number: Number(some?.facts?.value) }] },
    { phrases: [title] },
    { phrases: [title.split(" ").reverse().join(" ")] },
    { phrases: ["…"] },
    { newestOfKey: true },
    { newestOfKey: true, key },
    { raw: [sampleWords.rare.toUpperCase()] },
  ];
  const problem: Partial<AlertQuery> = { state: "problem" };
  const beside = [{ severity: "critical" } as const, problem, { destination: "pager" }, { q: "market" }];
  let found = 0;
  for (const [turn, one] of asked.entries())
    for (const other of [{}, beside[turn % beside.length]]) {
      const query = { ...one, ...other };
      const wanted = await idsOf(sqlite, { limit: count, ...query });
      expect.soft((await walk(query)).ids, JSON.stringify(query)).toEqual(wanted);
      found += Number(wanted.length > 0);
    }
  expect(found).toBeGreaterThan(10);
});

it("a log that both drivers have is counted alike: matches, failures, arrivals, facts, and over time", async () => {
  const critical = { severity: "critical" } as const;
  const sent = { destination: "chat", state: "sent" } as const;
  for (const query of [{ q: "market" }, critical, sent, { newestOfKey: true }])
    for (const limit of [500, 100_000]) {
      const count = (log: Log) => log.countMatches({ limit, ...query }, Number.POSITIVE_INFINITY);
      expect.soft(await count(postgres), JSON.stringify(query)).toEqual(await count(sqlite as Log));
    }
  const failed: FailedQuery = { states: ["failed", "expired"], failedUntil: endAt + day };
  const late = { fromAt: endAt - 90 * day };
  for (const query of [{}, { q: sampleWords.common }, { destination: "chat" }, critical, late]) {
    const byName = async (log: Log) =>
      (await log.countFailed({ ...failed, ...query })).sort((a, b) => (a.destination < b.destination ? -1 : 1));
    expect.soft(await byName(postgres), JSON.stringify(query)).toEqual(await byName(sqlite));
    for (const states of [["failed"], ["failed", "expired"]] as FailedQuery["states"][]) {
      const list = (log: Log) => listAllFailed(log, { ...failed, ...query, states }, 7);
      expect.soft(await list(postgres), JSON.stringify(query)).toEqual(await list(sqlite));
    }
  }
  const recent = { fromAt: endAt - 3 * day, limit: 300 };
  expect(await shared.listArrivals(toTx(database.read), recent)).toEqual(await sqlite.listArrivals(recent));
  expect(await shared.listFacts(toTx(database.read), recent)).toEqual(await sqlite.listFacts(recent));
  const past = await shared.listPast(toTx(database.read), recent);
  expect(past.length).toBeGreaterThan(0);
  expect(past).toEqual(await sqlite.listPast(recent));
  const steps = { fromAt: endAt - 60 * day, stepMs: 2 * day, steps: 30 };
  const counted = await sqlite.countOverTime(steps, Number.POSITIVE_INFINITY);
  for (let look = 0; look < 2; look += 1)
    expect(await postgres.countOverTime(steps, Number.POSITIVE_INFINITY)).toEqual(counted);
  const within = { receivedFrom: endAt - 58.3 * day, receivedTo: endAt - 1.6 * day };
  const partly = { ...steps, ...within, problemsOf: "critical" } as const;
  const ofPart = await sqlite.countOverTime(partly, Number.POSITIVE_INFINITY);
  expect(ofPart).not.toEqual(counted);
  for (const asked of [partly, steps, partly])
    expect(await postgres.countOverTime(asked, Number.POSITIVE_INFINITY)).toEqual(asked === steps ? counted : ofPart);
  const first = await createLog(database).countOverTime(steps, -1);
  expect(first).toEqual({ steps: counted.steps.slice(0, 4), isMore: true });
});

it("past bars of a log are not counted again, but for what went wrong in one of which an alert has changed since", async () => {
  let counted: number[] = [];
  const query: Database["read"]["query"] = (sql, values = [], isPrepared) => {
    if (sql.includes("AS problems FROM steps")) counted.push(...(values[1] as number[]));
    if (sql.includes("AS count FROM runs")) counted.push(...(values[2] as number[]));
    return database.read.query(sql, values, isPrepared);
  };
  const log = createLog({ read: { query } });
  const whole = { fromAt: endAt - 60 * day, stepMs: 2 * day, steps: 30 };
  const partly = { ...whole, receivedFrom: endAt - 58.3 * day, receivedTo: endAt - 1.6 * day };
  const before = await log.countOverTime(whole, Number.POSITIVE_INFINITY);
  expect(new Set(counted).size).toBe(30);
  counted = [];
  await log.countOverTime(partly, Number.POSITIVE_INFINITY);
  // Both ends, and what lies outside of them.
  expect([...new Set(counted)].map((at) => Math.floor((endAt - at) / whole.stepMs))).not.toContain(15);
  expect(counted.length).toBeLessThan(8);

  const [changed, at] = [12, before.steps[12]?.at ?? 0];
  await database.single.query(
    `WITH failed AS (UPDATE deliveries SET state = 'failed' WHERE alert_seq = (
         SELECT a.seq FROM alerts a WHERE a.received_at > $1 AND a.received_at < $2 AND NOT EXISTS (
           SELECT FROM deliveries d WHERE d.alert_seq = a.seq AND d.state <> 'sent')
           AND EXISTS (SELECT FROM deliveries d WHERE d.alert_seq = a.seq) LIMIT 1) RETURNING alert_seq),
       ${notedChanges("SELECT alert_seq FROM failed")} SELECT`,
    [at, at + whole.stepMs],
  );
  counted = [];
  const after = await log.countOverTime(whole, Number.POSITIVE_INFINITY);
  expect(after.steps.map(({ problems }, index) => problems - (before.steps[index]?.problems ?? 0))).toEqual(
    before.steps.map((_, index) => (index === changed ? 1 : 0)),
  );
  expect(counted).toContain(at);
  expect(counted.length).toBeLessThan(5);
  expect(after).toEqual(await createLog(database).countOverTime(whole, Number.POSITIVE_INFINITY));
});
