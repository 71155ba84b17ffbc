import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sampleWords } from "../../bench/sample-alerts.ts";
import { writeStoredLog } from "../../bench/stored-log.ts";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { AlertDetail, AlertQuery, DeliverySummary, Position } from "../../src/core/ports/alert-log.ts";
import { createListStatements, mostCounted } from "../../src/store/listing/list-statements.ts";
import { createListing } from "../../src/store/listing/listing.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { createListWords } from "../../src/store/sqlite/transactions/list-words.ts";
import { createSearching } from "../../src/store/sqlite/transactions/searching.ts";
import { createSqliteDialect } from "../../src/store/sqlite/tx.ts";
import type { Dialect } from "../../src/store/tx.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { day, endAt, everyQuery, listAllFailed, queriesOf } from "./log-queries.ts";
import { spyOnPrepare, transactionsOn } from "./open-log.ts";

const count = 6_000;
const perPart = 1_000;

function wordsIn(facts: AlertFacts): string[] {
  const { title, severity, status, text: body, metric, token, chain, value, threshold, source, externalId } = facts;
  const said = [title, severity, status, body, metric, token, chain, value, threshold, source, externalId];
  const fields = facts.fields.map(({ name, value }) => `${name} ${value}`);
  const text = [...said, ...fields].join(" ").toLowerCase();
  return [...new Set(text.match(/[a-z0-9]+/g))];
}

function isIn({ state, dueAt }: DeliverySummary, wanted: NonNullable<AlertQuery["state"]>): boolean {
  if (wanted !== "problem") return state === wanted;
  return state === "failed" || state === "expired" || (state === "held" && dueAt === undefined);
}

let db: Database;
let sql: Dialect;
let all: AlertDetail[];
let wordsOf: Map<AlertFacts, string[]>;

const path = join(makeTempFolder(afterAll), "tocsin.db");

beforeAll(async () => {
  writeStoredLog({ path, alerts: count, endAt });
  db = openDatabase({ path });
  sql = createSqliteDialect({ db, now: Date.now });
  db.exec("INSERT INTO alerts_search (alerts_search) VALUES ('delete-all'); UPDATE search_cursor SET alert_seq = 0");
  const searching = createSearching({ db }, perPart);
  while (searching.indexAlerts(5_000) > 0);
  const log = transactionsOn(db);
  all = [];
  for (const { id } of await log.listAlerts({ limit: count })) all.push((await log.getAlert(id)) as AlertDetail);
  wordsOf = new Map(all.flatMap(({ facts }) => (facts === undefined ? [] : [[facts, wordsIn(facts)]])));
  return () => void db.close();
});

/** What the filters mean, said once more without a database. */
function matches(
  { facts, receivedAt, deliveries, unmatched, dropped, repeatOf, routingError, routedAt }: AlertDetail,
  query: Omit<AlertQuery, "limit">,
): boolean {
  const { q, severity, state, destination, route, key, fromAt = 0, toAt = Number.POSITIVE_INFINITY } = query;
  if (key !== undefined && facts?.alertKey !== key) return false;
  for (const condition of query.facts ?? []) {
    const text = facts?.[condition.fact]?.toLowerCase();
    if (text === undefined) return false;
    if ("is" in condition && text !== condition.is.toLowerCase()) return false;
    if ("has" in condition && !text.includes(condition.has.toLowerCase())) return false;
    if ("number" in condition && !(condition.compare === ">" && Number(text) > condition.number)) return false;
  }
  if (receivedAt < fromAt || receivedAt > toAt) return false;
  if (severity !== undefined && facts?.severity !== severity) return false;
  const isOf = { unmatched, dropped, repeat: repeatOf !== undefined, unrouted: routedAt === undefined };
  const isOfAlert = (one = ""): one is keyof typeof isOf => one in isOf;
  if (isOfAlert(state) && !isOf[state]) return false;
  const ofDelivery = isOfAlert(state) ? undefined : state;
  const isOfWhole = state === "problem" && (unmatched || (routedAt === undefined && routingError !== undefined));
  const isOfDelivery = destination !== undefined || route !== undefined;
  if (isOfDelivery || (ofDelivery !== undefined && !isOfWhole)) {
    const fits = deliveries.some(
      (delivery) =>
        (destination === undefined || delivery.destination === destination) &&
        (route === undefined || delivery.route === route) &&
        (ofDelivery === undefined || (isIn(delivery, ofDelivery) && delivery.resentBy === undefined)),
    );
    if (!fits) return false;
  }
  if (q === undefined) return true;
  if (facts === undefined) return false;
  const words = wordsOf.get(facts) ?? [];
  // Words that some alert has as they stand are meant so.
  const isWhole = q.split(" ").every((word) => word !== "liq" && word !== "b" && word !== "nowhere");
  const has = (word: string) => words.some((one) => (isWhole ? one === word : one.startsWith(word)));
  return q.split(" ").every(has);
}

it("a page of the log, however its filters are combined, is found in steps as it is found at once, and nothing is left out or doubled", async () => {
  expect(db.prepare("SELECT count(*) FROM search_parts").pluck().get()).toBe(count / perPart);
  await expectEachFound(everyQuery(17));
});

it("a page of the log, however its filters are combined, is found by route, key, facts and phrases as well, beside the other filters", async () => {
  const { title, queries: asked } = queriesOf(all);
  const states: Partial<AlertQuery>[] = [{ state: "failed" }, { state: "problem" }];
  const beside = [{}, { severity: "critical" } as const, ...states, { destination: "pager" }, { q: "market" }];
  const found = await expectEachFound(asked.flatMap((one) => beside.map((other) => ({ ...one, ...other }))));
  expect(found.filter((alerts) => alerts > 0).length).toBeGreaterThan(20);
  const [titled] = await transactionsOn(db).listAlerts({ limit: 9, phrases: [title] });
  expect(titled?.facts?.title).toBe(title);
  const turned = title.split(" ").reverse().join(" ");
  expect(await transactionsOn(db).listAlerts({ limit: 9, phrases: [turned] })).toEqual([]);
  expect(await transactionsOn(db).listAlerts({ limit: 9, phrases: ["…"] })).toEqual([]);
});

/** @returns how many alerts each query has found. */
async function expectEachFound(queries: Omit<AlertQuery, "limit">[]): Promise<number[]> {
  const log = transactionsOn(db);
  let stops = 0;
  const counts: number[] = [];
  for (const query of queries) {
    const wanted = all.filter((alert) => matches(alert, query)).map(({ id }) => id);
    const found: string[] = [];
    for (let before: Position | undefined; ; ) {
      const { alerts, stopped } = await log.listAlertsWithin({ limit: 2_000, before, ...query }, -1);
      found.push(...alerts.map(({ id }) => id));
      if (stopped !== undefined) stops += 1;
      if (stopped === undefined && alerts.length < 2_000) break;
      before = stopped?.position ?? (alerts.at(-1)?.position as Position);
    }
    expect.soft(found, JSON.stringify(query)).toEqual(wanted);
    counts.push(found.length);
  }
  expect(stops).toBeGreaterThan(queries.length / 2);
  return counts;
}

it("a page of the log, however its filters are combined, says how far it looked when the time is over, and what is older than that is found from there", async () => {
  const log = transactionsOn(db);
  const query: AlertQuery = { limit: 10, q: sampleWords.oldest };
  const { alerts, stopped } = await log.listAlertsWithin(query, -1);
  expect(alerts).toEqual([]);
  const looked = all.filter(({ receivedAt }) => receivedAt >= (stopped?.receivedAt ?? 0));
  expect(looked.length).toBeGreaterThan(0);
  expect(looked.length).toBeLessThan(count);
  expect((await log.listAlerts({ ...query, before: stopped?.position })).map(({ id }) => id)).toEqual([all.at(-1)?.id]);
});

it("a page of the log, however its filters are combined, looks at no more than a step after its time is over", async () => {
  const steps: { query: AlertQuery; from: number; below: number }[] = [];
  let query: AlertQuery = { limit: 50 };
  let ms = 0;
  // Each look at the clock finds that a millisecond has passed.
  const words = createListWords({ db }, sql);
  const spied: typeof words = {
    ...words,
    rowsOf(look, add, how) {
      if (how === "listed") steps.push({ query, ...look.window });
      return words.rowsOf(look, add, how);
    },
  };
  const listing = createListing(spied, () => ++ms);
  for (const filters of everyQuery(17)) {
    query = { limit: 50, ...filters };
    const before = steps.length;
    const { stopped } = await listing.listAlertsWithin(query, 5);
    expect(steps.length - before).toBeLessThanOrEqual(4);
    if (stopped !== undefined) expect(Number(stopped.position)).toBeGreaterThan(1);
  }
  for (const { query, from, below } of steps) {
    const drivers = words.driversOf(query);
    if (drivers.length < 2 && query.q === undefined) continue;
    if (query.q !== undefined) expect.soft(below - from, JSON.stringify(query)).toBeLessThanOrEqual(perPart);
    if (drivers.length === 0) continue;
    const [counts] = await words.run(createListStatements(words).toNarrowness(query, drivers, { from, below }));
    const widths = Object.values(counts ?? {}) as number[];
    expect.soft(Math.min(below - from, ...widths), JSON.stringify(query)).toBeLessThanOrEqual(4_096);
    if (below - from > 4_096) expect.soft(Math.min(...widths)).toBeLessThan(mostCounted);
  }
  expect(steps.length).toBeGreaterThan(50);
});

it("a page of the log, however its filters are combined, asks few parts whether words stand in them, and finds those that stand only in older ones", async () => {
  let asked = 0;
  const spied = spyOnPrepare(db, (sql) => {
    if (/^SELECT 1 FROM alerts_search/.test(sql)) asked += 1;
  });
  const oldest = all.at(-1) as AlertDetail;
  const words = wordsOf.get(oldest.facts as AlertFacts)?.slice(0, 10) ?? [];
  const q = [sampleWords.oldest, ...words].join(" ");
  const find = (q: string) => createListing(createListWords({ db: spied }, sql)).listAlerts({ limit: 5, q });
  expect((await find(q)).map(({ id }) => id)).toEqual([oldest.id]);
  expect(asked).toBe(1);
  await find(Array.from({ length: 20 }, (_, index) => `no-where${index}`).join(" "));
  expect(asked).toBeLessThanOrEqual(2);
  asked = 0;
  await find("no-where other-where");
  expect(asked).toBe(count / perPart);
});

it("a page of the log, however its filters are combined, puts words that are indexed late into the part of their alert", async () => {
  const searching = createSearching({ db }, perPart);
  const seq = perPart + 10;
  const facts = all[count - seq]?.facts;
  if (facts === undefined) throw new Error("the alert has no facts");
  searching.indexLate(seq, { ...facts, title: "latecomer" });
  const found = await transactionsOn(db).listAlerts({ limit: 5, q: "latecomer" });
  expect(found.map(({ id }) => id)).toEqual([all[count - seq]?.id]);
});

it("a page of the log, however its filters are combined, counts and lists what failed and has a word, over all parts", async () => {
  const log = transactionsOn(db);
  const failed = { states: ["failed", "expired"], failedUntil: endAt + day, q: sampleWords.common } as const;
  const wanted = all
    .filter((alert) => matches(alert, { q: sampleWords.common }))
    .flatMap(({ deliveries }) => deliveries)
    .filter(({ state, resentBy }) => (state === "failed" || state === "expired") && resentBy === undefined);
  const counted = await log.countFailed(failed);
  expect(counted.reduce((sum, { deliveries }) => sum + deliveries, 0)).toBe(wanted.length);
  expect(new Set(counted.map(({ destination }) => destination)).size).toBe(counted.length);
  const listed = await listAllFailed(log, { ...failed, states: ["failed"] }, 3);
  expect(listed).toHaveLength(wanted.filter(({ state }) => state === "failed").length);
  expect(new Set(listed).size).toBe(listed.length);
});
