import type { Database } from "better-sqlite3";
import { expect, it } from "vitest";
import type { AlertQuery, FailedQuery } from "../../src/core/ports/alert-log.ts";
import { createFailedStatements, createListStatements } from "../../src/store/listing/list-statements.ts";
import type { Driver } from "../../src/store/listing/list-words.ts";
import { toPosition } from "../../src/store/positions.ts";
import { createHealthReading } from "../../src/store/sqlite/database-session.ts";
import { createContext } from "../../src/store/sqlite/transactions/context.ts";
import { createTransactions } from "../../src/store/sqlite/transactions/index.ts";
import { createListWords, type PartSearch } from "../../src/store/sqlite/transactions/list-words.ts";
import { countProblems, countProblemsOf } from "../../src/store/sqlite/transactions/over-time.ts";
import { createSqliteDialect, type Once } from "../../src/store/sqlite/tx.ts";
import { newId } from "../conformance/store/scene-samples.ts";
import { openLog, spyOnPrepare } from "./open-log.ts";

function planOf(db: Database, sql: string): string[] {
  const numbers = sql.match(/\?\d+/g);
  const parameters = numbers
    ? [Object.fromEntries(numbers.map((number) => [number.slice(1), 1]))]
    : new Array(sql.split("?").length - 1).fill(1);
  const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters) as { detail: string }[];
  return rows.map(({ detail }) => detail);
}

/** Tables that grow for ever; others hold one row a destination, chat or mute. */
const growing = /^SCAN (alerts|deliveries|attempts|requests|threads|[ad])\b/;

/** SQLite's words for min() and max() without an index: it says "search" and reads every row. */
const searchWithoutIndex = /^SEARCH (alerts|deliveries|attempts|requests|threads|[ad])$/;

/** Indexes that hold only what is unfinished: reading all of one is reading what the question is about. */
const small =
  /USING (COVERING )?INDEX (alerts_unrouted|alerts_routing_failed|alerts_unmatched|alerts_dropped|alerts_repeats|deliveries_due|deliveries_held|deliveries_fallback)\b/;

/** The names of destinations that a caller gives, indexed for the one look. */
const given = /^SEARCH held USING AUTOMATIC/;

/** Asked of each row that a page looks at, by a whole position or id. */
const ofOneAlert =
  /^SEARCH (d USING INDEX deliveries_by_alert \(alert_seq=\?\)|r USING INTEGER PRIMARY KEY \(rowid=\?\)|o USING COVERING INDEX sqlite_autoindex_alerts_1 \(id=\?\)|n USING COVERING INDEX alerts_by_key \(alert_key=\? AND seq>\? AND seq<\?\)|n USING COVERING INDEX alerts_repeats_by_first \(repeat_of=\?\))/;

/** How the first table of a correlated query is read; one that is made into JSON has its rows from a query of its own. */
const firstStep = (plan: string[], index: number): string =>
  (plan[index + 1] === "CO-ROUTINE x" ? plan[index + 2] : plan[index + 1]) ?? "";

function offences(plan: string[]): string[] {
  return plan.filter(
    (step, index) =>
      !given.test(step) &&
      !(step.startsWith("CORRELATED") && ofOneAlert.test(firstStep(plan, index))) &&
      ((growing.test(step) && !small.test(step)) ||
        searchWithoutIndex.test(step) ||
        /TEMP B-TREE|AUTOMATIC|CORRELATED/.test(step)),
  );
}

/** Why these may do what no other statement may. */
const exempt: [RegExp, string][] = [
  [/INDEXED BY deliveries_muted/, "adds up what one mute has held back"],
  [/FROM (alerts|deliveries) ORDER BY seq (DESC )?LIMIT 1\b/, "reads one row"],
  [/SELECT (coalesce\()?max\(seq\)(, 0\))? FROM (alerts|requests)$/, "looks at the last row of the table itself"],
  [/FROM \(SELECT id FROM alerts ORDER BY id DESC LIMIT 100000\)/, "looks at the ends of so many ids and no more"],
  [/WHERE origin = 'hook' ORDER BY seq DESC LIMIT 1$/, "reads the newest until one came from a sender"],
  [/FROM mutes/, "sorts a handful"],
  [/d\.instead_of = \? AND/, "sorts the last 100 alerts of a key at most"],
  [/SELECT DISTINCT seq FROM/, "sorts 1,000 positions at most, of small indexes"],
  [/FROM alerts o WHERE o\.id = \?/, "adds up the last rows of one key"],
  [/FROM search_parts ORDER BY/, "one row for 32,768 alerts"],
  [/UNION SELECT destination/, "sorts names of destinations"],
  [/AS one\s+JOIN requests other/, "looks up ten alerts for one"],
  [/AS ids FROM requests r/, "looks up the alerts of one request"],
  [/AS hours WHERE name IN/, "adds up the hours of a week"],
  [/JOIN rings ON/, "looks up the deliveries of an alert that reached nobody"],
  [/JOIN group_memories m ON/, "looks up the deliveries of a cause that did not arrive"],
  [/it began and was over while/, "looks up by its key what was said last of each alert that a cause held back"],
  [/FROM route_hours/, "looks up the last hour of each route"],
  [/WITH asked AS MATERIALIZED/, "looks up the last alert of each thread that ends"],
  [/DELETE FROM threads/, "looks up the last alert of each thread of a step"],
  [/WITH usual AS MATERIALIZED/, "sorts as many as it lists"],
  [/a\.alert_key IN \(SELECT value/, "sorts the positions of what waits for one destination"],
];

/** All that is prepared once and for all. */
function statementsOf(db: Database): string[] {
  const statements: string[] = [];
  const spied = spyOnPrepare(db, (sql) => void statements.push(sql));
  const context = createContext({ db: spied, newId, now: Date.now });
  const atOnce: Once = (make) => {
    const made = make();
    return () => made;
  };
  createTransactions(context, createSqliteDialect(context, atOnce));
  createHealthReading(spied, db.name);
  return statements;
}

it("the plan of every statement reads no table from end to end and sorts nothing", () => {
  const { db } = openLog();
  const statements = statementsOf(db);
  expect(statements.length).toBeGreaterThan(60);
  for (const [pattern] of exempt) expect(statements.some((sql) => pattern.test(sql))).toBe(true);
  for (const sql of new Set(statements)) {
    if (exempt.some(([pattern]) => pattern.test(sql))) continue;
    expect.soft(offences(planOf(db, sql)), sql).toEqual([]);
  }
});

const window = { from: 1, below: 9 };
const dialectOf = (db: Database) => createSqliteDialect({ db, now: Date.now });

type Along = Driver<PartSearch>["along"];

/** Lists of a few columns of the alerts themselves. */
function listsOf(db: Database) {
  const words = createListWords({ db }, dialectOf(db));
  const page: typeof words.page = (list, _shown, limit, add) => words.limited(list("a.seq, a.id, a.facts"), limit, add);
  const statements = createListStatements({ ...words, page });
  const driverOf = (query: AlertQuery, along: Along): Driver<PartSearch> => {
    const search = searchOf(query);
    if (along === "search" && search !== undefined) return { along, search };
    return words.driversOf(query).find((driver) => driver.along === along) ?? { along: "alerts", columns: {} };
  };
  const lookAlong = (query: AlertQuery, along: Along) => {
    return { query, search: searchOf(query), driver: driverOf(query, along), window };
  };
  return {
    driversOf: words.driversOf,
    listAlong: (query: AlertQuery, along: Along) => statements.toPage(lookAlong(query, along), query.limit).sql,
    countAlong: (query: AlertQuery, along: Along) => statements.toMatchCount(lookAlong(query, along), query.limit).sql,
    /** How far each driver narrows. */
    countEach: (query: AlertQuery) =>
      words.driversOf(query).map((driver) => statements.toNarrowness(query, [driver], window).sql),
  };
}

const values = {
  q: [undefined, "usdc pool"],
  severity: [undefined, "critical"],
  state: [undefined, "sent", "failed", "queued", "problem", "unmatched", "dropped", "repeat", "unrouted"],
  destination: [undefined, "chat"],
  source: [undefined, "github"],
  route: [undefined, "desk"],
  key: [undefined, "metric eth_usdc"],
  newestOfKey: [undefined, true],
  fromAt: [undefined, 1],
  toAt: [undefined, 2],
} as const;

const everyQuery = Object.entries(values).reduce<AlertQuery[]>(
  (queries, [name, choices]) => queries.flatMap((query) => choices.map((choice) => ({ ...query, [name]: choice }))),
  [{ limit: 50 }],
);

const searchOf = ({ q }: AlertQuery) => (q === undefined ? undefined : { table: "alerts_search", match: `"${q}"` });

it("every index is one that a statement or a page reads: each is written for every alert", () => {
  const { db } = openLog();
  const statements = statementsOf(db);
  const { countEach, listAlong } = listsOf(db);
  for (const query of everyQuery)
    statements.push(...countEach(query), listAlong(query, "deliveries"), listAlong(query, "alerts"));
  const plans = [...new Set(statements)].flatMap((sql) => planOf(db, sql)).join("\n");
  const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL").pluck().all();
  expect(names.filter((name) => !new RegExp(`INDEX ${name}\\b`).test(plans))).toEqual([]);
});

it("a page of the log is found in order from an index, whatever the filters and whichever of them drives", () => {
  const { db } = openLog();
  const { driversOf, countEach, listAlong } = listsOf(db);
  const drivers = new Set<Along>();
  for (const query of everyQuery) {
    for (const sql of countEach(query)) expect.soft(offences(planOf(db, sql)), sql).toEqual([]);
    const narrowing: Along[] = driversOf(query).map(({ along }) => along);
    if (query.q !== undefined) narrowing.push("search");
    for (const along of narrowing.length === 0 ? (["alerts"] as const) : narrowing) {
      expect.soft(offences(planOf(db, listAlong(query, along))), `${along}: ${JSON.stringify(query)}`).toEqual([]);
      drivers.add(along);
    }
  }
  expect(drivers).toEqual(new Set(["search", "deliveries", "problems", "alerts"]));
});

/** Pages by what they are found along. */
const pages: Record<Along, Partial<AlertQuery>[]> = {
  alerts: [
    ...[{ severity: "critical" } as const, { key: "metric eth" }],
    ...(["unmatched", "dropped", "repeat", "unrouted"] as const).flatMap((state) => [
      { state },
      { state, severity: "info" } as const,
    ]),
    ...[{ raw: ["0xdead"] }, { raw: ["0xdead"], severity: "info" } as const],
  ],
  deliveries: [
    ...[{ destination: "chat" }, { state: "sent" } as const, { state: "failed" } as const, { route: "desk" }],
    { state: "sent", destination: "chat" },
  ],
  problems: [{ state: "problem" }, { state: "problem", key: "k", destination: "chat", source: "github" }],
  search: [{ q: "usdc" }],
};

it("the plans of pages start at the cursor in the index for them, and counts of deliveries look up no alerts", () => {
  const { db } = openLog();
  const { listAlong, countAlong } = listsOf(db);
  const { toFailed, toFailedCount } = createFailedStatements(createListWords({ db }, dialectOf(db)));
  const lines: string[] = [];
  const note = (what: string, filters: object, plan: string[]) =>
    lines.push(`${what} ${JSON.stringify(filters)}`, ...plan.map((step) => `  ${step}`));
  const noteLooks = (what: string, filters: object, sql: string) =>
    note(
      what,
      filters,
      planOf(db, sql).filter((step) => /^S(CAN|EARCH)|B-TREE/.test(step)),
    );
  for (const [along, queries] of Object.entries(pages) as [Along, Partial<AlertQuery>[]][])
    for (const filters of queries) {
      const plan = planOf(db, listAlong({ limit: 50, before: toPosition(1000), ...filters }, along));
      expect(offences(plan)).toEqual([]);
      note("a page of", filters, plan.slice(0, 1));
    }
  for (const filters of pages.deliveries.flatMap((one) => [one, { ...one, severity: "critical" } as const]))
    noteLooks("a count of", filters, countAlong({ limit: 1000, ...filters }, "deliveries"));
  const failed: FailedQuery = { states: ["failed"], failedUntil: 1 };
  const words = { table: "alerts_search", match: '"usdc"' };
  for (const filters of [{}, { destination: "chat", severity: "critical", fromAt: 1, toAt: 2 } as const]) {
    const page = { limit: 9, after: toPosition(5, 6) };
    const plan = planOf(db, toFailed({ ...failed, ...filters }, words, window, page).sql);
    expect(offences(plan)).toEqual([]);
    note("a batch of what failed of", filters, plan);
    noteLooks("a count of what failed of", filters, toFailedCount({ ...failed, ...filters }, undefined, window).sql);
  }
  for (const count of [countProblems, countProblemsOf])
    noteLooks("problems of a step of the bars", {}, count(dialectOf(db)));
  const [values = ""] = statementsOf(db).filter((one) => one.includes("AS sent"));
  note("the last values of the keys of a page", {}, planOf(db, values));
  expect(lines.join("\n")).toMatchSnapshot();
});
