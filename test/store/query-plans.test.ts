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

const failedQuery: FailedQuery = { states: ["failed"], failedUntil: 1 };
const usdc = { table: "alerts_search", match: '"usdc"' };

const narrow = { destination: "chat", severity: "critical", fromAt: 1, toAt: 2 } as const;
it.each<[string, Partial<FailedQuery>, RegExp]>([
  ["everything", {}, /SEARCH d .* deliveries_unsent \(state=\? AND/],
  ["one destination", narrow, /SEARCH d .* deliveries_unsent_by_destination \(destination=\? AND state=\? AND/],
])("what failed and was not resent is found in batches from an index of nothing else: %s", (_name, changes, wanted) => {
  const { db } = openLog();
  const { toFailed } = createFailedStatements(createListWords({ db }, dialectOf(db)));
  const page = { limit: 9, after: toPosition(5, 6) };
  const plan = planOf(db, toFailed({ ...failedQuery, ...changes }, usdc, window, page).sql);
  expect(offences(plan)).toEqual([]);
  expect(plan.join("\n")).toMatch(wanted);
});

it("what failed and was not resent is counted without a look at what was sent", () => {
  const { db } = openLog();
  const query: FailedQuery = { ...failedQuery, states: ["failed", "expired"] };
  for (const destination of [undefined, "chat"]) {
    const { toFailedCount } = createFailedStatements(createListWords({ db }, dialectOf(db)));
    const plan = planOf(db, toFailedCount({ ...query, destination }, undefined, window).sql);
    expect(plan.join("\n")).toMatch(/SEARCH d .* deliveries_unsent/);
  }
});

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

it("the last values of the keys of a page are found along the index of keys, and only those are read", () => {
  const { db } = openLog();
  const [sql = ""] = statementsOf(db).filter((one) => one.includes("AS sent"));
  expect(planOf(db, sql)).toEqual(["SEARCH k USING INDEX alerts_by_key (alert_key=? AND seq>? AND seq<?)"]);
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

const [sentToChat, problem] = [{ state: "sent", destination: "chat" } as const, { state: "problem" } as const];
const byBoth = "deliveries_by_destination_state";
const seqs = "seq>? AND seq<?)";
const inDeliveries = "alert_seq>? AND alert_seq<?)";
const row = "INTEGER PRIMARY KEY (rowid";
it.each<[string, Partial<AlertQuery>, Along, string]>([
  ["severity", { severity: "critical" }, "alerts", `alerts_by_severity (severity=? AND ${seqs}`],
  ["destination", { destination: "chat" }, "deliveries", `by_destination (destination=? AND ${inDeliveries}`],
  ["state", { state: "sent" }, "deliveries", `deliveries_by_state (state=? AND ${inDeliveries}`],
  ["state at a destination", sentToChat, "deliveries", `${byBoth} (destination=? AND state=? AND ${inDeliveries}`],
  ["unmatched", { state: "unmatched" }, "alerts", `alerts_unmatched (${seqs}`],
  ["dropped", { state: "dropped" }, "alerts", `alerts_dropped (${seqs}`],
  ["repeats", { state: "repeat" }, "alerts", `alerts_repeats (${seqs}`],
  ...(["unmatched", "dropped", "repeat"] as const).map((state): [string, Partial<AlertQuery>, Along, string] => {
    const index = `alerts_${state === "repeat" ? "repeats" : state}_by_severity (severity=? AND ${seqs}`;
    return [`${state} of a severity`, { state, severity: "info" }, "alerts", index];
  }),
  ["route", { route: "desk" }, "deliveries", `deliveries_by_route (route=? AND ${inDeliveries}`],
  ["key", { key: "metric eth" }, "alerts", `alerts_by_key (alert_key=? AND ${seqs}`],
  ["problem", { state: "problem" }, "problems", `${row}=?)`],
  ["problem of a key", { ...problem, key: "k", destination: "chat", source: "github" }, "problems", `${row}=?)`],
  ["unrouted of a severity", { state: "unrouted", severity: "info" }, "alerts", `alerts_unrouted (${seqs}`],
  ["payload", { raw: ["0xdead"] }, "alerts", `${row}>? AND rowid<?)`],
  ["payload of one", { raw: ["0xdead"], severity: "info" }, "alerts", `alerts_by_severity (severity=? AND ${seqs}`],
])("a page of the log narrowed by %s starts at the cursor in the index for it", (_name, filters, driver, index) => {
  const { db } = openLog();
  const plan = planOf(db, listsOf(db).listAlong({ limit: 50, before: toPosition(1000), ...filters }, driver));
  expect(plan[0]).toMatch(/^SEARCH [ad] /);
  expect(plan[0]).toContain(index);
  expect(offences(plan)).toEqual([]);
});

it("a page of the log that is searched starts at the cursor in the search index", () => {
  const { db } = openLog();
  const plan = planOf(db, listsOf(db).listAlong({ limit: 50, before: toPosition(1000), q: "usdc" }, "search"));
  expect(plan[0]).toMatch(/^SCAN s VIRTUAL TABLE INDEX \d+:M0(<>|><)/);
  expect(offences(plan)).toEqual([]);
});

it.each<[string, Partial<AlertQuery>]>([
  ["destination", { destination: "chat" }],
  ["state", { state: "sent" }],
  ["failure", { state: "failed" }],
  ["route", { route: "desk" }],
  ["state at a destination", { state: "sent", destination: "chat" }],
])("a page of the log counts what a %s has without looking up alerts", (_name, filters) => {
  const { db } = openLog();
  const planFor = (asked: Partial<AlertQuery>) =>
    planOf(db, listsOf(db).countAlong({ limit: 1000, ...asked }, "deliveries"));
  const positionsOf = (asked: Partial<AlertQuery>) => planFor(asked).filter((step) => /^SEARCH|B-TREE/.test(step));
  expect(positionsOf(filters)).toEqual([expect.stringMatching(/^SEARCH d USING (COVERING )?INDEX deliveries_/)]);
  expect(positionsOf({ ...filters, severity: "critical" })).toHaveLength(2);
});

it.each([
  ["all", countProblems],
  ["one severity", countProblemsOf],
])(
  "the problems of a step of the bars are found for %s without a look at what only waits to be routed",
  (_name, count) => {
    const { db } = openLog();
    const plan = planOf(db, count(dialectOf(db))).join("\n");
    expect(plan).toContain("USING INDEX alerts_routing_failed");
    expect(plan).not.toContain("alerts_unrouted");
  },
);
