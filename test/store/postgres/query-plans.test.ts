import { beforeAll, expect, it, onTestFinished } from "vitest";
import type { AlertQuery, Position } from "../../../src/core/ports/alert-log.ts";
import { toPosition } from "../../../src/store/positions.ts";
import type { Sql, Transaction } from "../../../src/store/postgres/database.ts";
import { createLog } from "../../../src/store/postgres/log.ts";
import { createRouting } from "../../../src/store/postgres/routing.ts";
import { openPostgresDatabase, type PostgresDatabase } from "../../../src/store/postgres/store.ts";
import { toTx } from "../../../src/store/postgres/tx.ts";
import { newId, planned, routed } from "../../conformance/store/scene-samples.ts";
import { makePostgresDatabaseOfFile } from "../../support/postgres.ts";
import { removeOld, shared } from "../../support/postgres-transactions.ts";

const count = 50_000;
const startAt = Date.UTC(2026, 0, 1);
const stepMs = 60_000;
const endAt = startAt + count * stepMs;

/**
 * A log as months of use leave it, where what is asked for lies badly: `left` has only the oldest alerts, `rare` only a few, the
 * key `once` came long ago, and nearly all that failed was resent.
 */
const fill = `
  INSERT INTO requests (received_at, headers, body, fingerprint, items)
    SELECT ${startAt} + n::bigint * ${stepMs}, '[]', convert_to(format('{"n":"n%s."}', n), 'UTF8'), n, 1 FROM generate_series(1, ${count}) n;
  INSERT INTO alerts (id, request_seq, item, origin, source, received_at, version, changed_by, routed_at, severity, status, alert_key,
      unmatched, dropped, facts, decisions, repeat_of)
    SELECT concat_ws('-', left(at, 8), right(at, 4), '7000', '8000', lpad(to_hex(n), 12, '0')), n, 0, 'hook',
      CASE WHEN n % 50 = 0 THEN 'forge' END, ms, 1, (100 + n / 10)::text::xid8, ms + 5,
      CASE WHEN n % 40 = 0 THEN 'critical' WHEN n % 3 = 0 THEN 'warning' ELSE 'info' END,
      CASE WHEN n % 5 = 0 THEN 'resolved' ELSE 'firing' END, CASE WHEN n = 77 THEN 'once' ELSE 'key ' || n % 20 END,
      n % 300 = 0, n % 500 = 0, format('{"title":"market %s","status":"firing","value":"%s","alertKey":"k","fields":[]}', n, n), '[]',
      CASE WHEN n % 700 = 0 THEN 'another' END
    FROM generate_series(1, ${count}) n, LATERAL (SELECT ${startAt} + n::bigint * ${stepMs} AS ms) t,
      LATERAL (SELECT lpad(to_hex(ms), 12, '0') AS at) h;
  UPDATE alerts SET routed_at = NULL, severity = NULL, alert_key = NULL, facts = NULL WHERE seq > ${count - 5};
  INSERT INTO deliveries (id, alert_seq, destination, channel, recipient, route, purpose, state, reason, created_at, finished_at, updates,
      resent_by)
    SELECT format('d%s-%s', n, part), n, CASE WHEN part = 2 THEN 'mail' WHEN n % 9000 = 0 THEN 'rare' WHEN n < 2000 THEN 'left' ELSE 'chat' END,
      'telegram', '1', CASE WHEN n % 400 = 0 THEN 'desk' ELSE 'everything' END, 'alert',
      CASE WHEN n % 100 = 0 THEN 'failed' WHEN n % 1000 = 1 THEN 'held' WHEN n > ${count - 100} THEN 'queued' ELSE 'sent' END, '', 0, 1, 'auto',
      CASE WHEN n % 100 = 0 AND n % 1100 <> 0 THEN 1 END
    FROM generate_series(1, ${count}) n, generate_series(1, CASE WHEN n % 4 = 0 THEN 2 ELSE 1 END) part;
  INSERT INTO attempts (delivery_seq, at, duration_ms, action, part, parts, outcome)
    SELECT seq, 1, 1, 'send', 1, 1, 'sent' FROM deliveries;
  INSERT INTO alert_words SELECT n, format(' market w%s %s ', n % 977, CASE WHEN n % 20000 = 9 THEN 'zebra' ELSE 'tvl 24h' END)
    FROM generate_series(1, ${count}) n;
  DELETE FROM search_queue;
  ANALYZE`;

type Plan = { "Node Type": string; Plans?: Plan[]; [name: string]: unknown };

type Asked = { sql: string; values: readonly unknown[]; isPrepared?: boolean };

const growing = ["alerts", "deliveries", "attempts", "requests", "alert_words", "threads", "rings"];

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** Reads of a table that grows for ever without an index. */
const offences = (plan: Plan): string[] =>
  nodesOf(plan)
    .filter((node) => node["Node Type"].includes("Seq Scan") && growing.includes(String(node["Relation Name"])))
    .map((node) => `${node["Node Type"]} on ${node["Relation Name"]}`);

/** Rows that were looked at, taken or not. */
const rowsRead = (plan: Plan): number =>
  nodesOf(plan)
    .filter((node) => node["Relation Name"] !== undefined)
    .reduce((sum, node) => {
      const counts = ["Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck"];
      const each = counts.reduce((all, name) => all + Number(node[name] ?? 0), 0);
      return sum + each * Number(node["Actual Loops"] ?? 0);
    }, 0);

const states = ["sent", "failed", "held", "queued", "problem", "unmatched", "dropped", "repeat", "unrouted"] as const;

/** Words of all, of three and by their beginning or belonging together; destinations of most, of the oldest and of few alerts. */
const filters: Partial<AlertQuery>[] = [
  ...["market", "zebra", "zeb", "tvl-24h"].map((q) => ({ q })),
  ...states.map((state) => ({ state })),
  ...["chat", "left", "rare"].map((destination) => ({ destination })),
  ...[{ severity: "critical" } as const, { source: "forge" }, { route: "desk" }, { key: "key 7" }, { key: "once" }],
  { facts: [{ fact: "value", compare: ">", number: 49_990 }] },
  { fromAt: startAt + 20_000 * stepMs, toAt: startAt + 21_000 * stepMs },
  ...[{ newestOfKey: true }, { raw: ["n49990."] }],
];

let database: PostgresDatabase;
let asked: Asked[] = [];
let log: ReturnType<typeof createLog>;
let read: Sql;

beforeAll(async () => {
  // To fill it takes long on a machine that has much else to do.
  const url = await makePostgresDatabaseOfFile();
  database = await openPostgresDatabase({ url, relayName: "a test", answerWithinMs: 120_000 });
  for (const statement of fill.split(/;\n/)) await database.single.query(statement);
  read = {
    query(sql, values = [], isPrepared = true) {
      asked.push({ sql, values, isPrepared });
      return database.read.query(sql, values, isPrepared);
    },
  };
  log = createLog({ read });
  return () => database.close();
});

/** What was asked by this, each with its plan and what came of it. */
async function plansOf(work: () => Promise<unknown>): Promise<(Asked & { plan: Plan })[]> {
  asked = [];
  await work();
  const plans: (Asked & { plan: Plan })[] = [];
  for (const one of asked.splice(0)) plans.push({ ...one, plan: await explain("ANALYZE, TIMING off", one) });
  return plans;
}

async function explain(how: string, { sql, values }: Asked): Promise<Plan> {
  const { rows } = await database.read.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
    `EXPLAIN (${how}, FORMAT json) ${sql}`,
    values,
    false,
  );
  return rows[0]?.["QUERY PLAN"][0].Plan as Plan;
}

/** PostgreSQL gives the plan for any values from version 16 on. */
async function canExplainGeneric(): Promise<boolean> {
  const { rows } = await database.read.query<{ version: number }>(
    "SELECT current_setting('server_version_num')::int AS version",
  );
  return (rows[0]?.version ?? 0) >= 160_000;
}

it("the plans of PostgreSQL read no table from end to end for a page, whichever one or two filters it has, and no more than a window", async () => {
  for (const filter of filters.flatMap((one, index) => filters.slice(index).map((two) => ({ ...two, ...one })))) {
    for (const { sql, plan } of await plansOf(() => log.listAlertsWithin({ limit: 50, ...filter }, -1))) {
      expect.soft(offences(plan), `${JSON.stringify(filter)}: ${sql.slice(-400)}`).toEqual([]);
      // 4,096 alerts, and what is looked up for each.
      expect.soft(rowsRead(plan), `${JSON.stringify(filter)}: ${sql.slice(-400)}`).toBeLessThan(25_000);
    }
  }
});

it.each<[Partial<AlertQuery>, string]>([
  [{ severity: "critical" }, "alerts_by_severity"],
  [{ state: "sent" }, "deliveries_by_state"],
  [{ state: "failed" }, "deliveries_unsent"],
  [{ state: "failed", destination: "chat" }, "deliveries_unsent_by_destination"],
  [{ state: "sent", destination: "chat" }, "deliveries_by_destination_state"],
  [{ destination: "chat" }, "deliveries_by_destination"],
  [{ destination: "left" }, "deliveries_by_destination"],
  [{ route: "desk" }, "deliveries_by_route"],
  [{ key: "once" }, "alerts_by_key"],
  [{ source: "forge" }, "alerts_by_source"],
  [{ state: "unmatched" }, "alerts_unmatched"],
  [{ state: "dropped" }, "alerts_dropped"],
  [{ state: "repeat" }, "alerts_repeats"],
  [{ state: "unrouted" }, "alerts_unrouted|alerts_routing_over"],
  [{}, "alerts_pkey"],
])(
  "the plans of PostgreSQL find a page of %j from the cursor on along its index, and read little more than the page",
  async (filter, index) => {
    for (const before of [undefined, toPosition(30_000)] as (Position | undefined)[]) {
      const [list] = await plansOf(() => log.listAlerts({ limit: 20, before, ...filter }));
      const nodes = nodesOf((list as { plan: Plan }).plan);
      const driver = nodes.find((node) => index.split("|").includes(String(node["Index Name"])));
      expect(driver, nodes.map((node) => node["Index Name"]).join(" ")).toBeDefined();
      if (Object.keys(filter).length > 0 || before !== undefined) expect(driver?.["Index Cond"]).toMatch(/seq/);
      expect(rowsRead((list as { plan: Plan }).plan)).toBeLessThan(300);
    }
  },
);

it("the plans of PostgreSQL of what is asked besides pages read along indexes, with plans for any value too", async () => {
  const ids = (await log.listAlerts({ limit: 50, before: toPosition(40_000) })).map(({ id }) => id);
  const [id = ""] = ids;
  const failedUntil = endAt;
  const steps = { fromAt: endAt - 40 * 3_600_000, stepMs: 3_600_000, steps: 40 };
  const plans = await plansOf(async () => {
    await shared.getAlert(toTx(read), id);
    await shared.neighbours(toTx(read), id);
    await shared.keyHistory(toTx(read), id, 100);
    await shared.keyValues(toTx(read), ids, 30);
    await log.latestChange();
    await log.listChanges(undefined, 50);
    await log.knowsChange(await log.latestChange());
    await log.listFailed({ states: ["failed", "expired"], failedUntil }, { limit: 20 });
    await log.listFailed({ states: ["failed"], destination: "chat", failedUntil, q: "market" }, { limit: 20 });
    await log.countFailed({ states: ["failed"], failedUntil });
    await log.countMatches({ limit: 500, severity: "critical" }, 50);
    await log.countOverTime(steps, 1_000);
    await shared.listFacts(toTx(read), { fromAt: endAt - 100 * stepMs, limit: 50 });
    await shared.listPast(toTx(read), { fromAt: endAt - 100 * stepMs, limit: 50 });
    await shared.listArrivals(toTx(read), { fromAt: endAt - 100 * stepMs, limit: 50 });
    await shared.followArrivals(toTx(read), undefined, 50);
    await shared.followArrivals(toTx(read), toPosition(1_000), 50);
    await log.countAlerts();
    await log.countDuplicates();
    await shared.destinationStatistics(toTx(read), ["chat", "left", "rare", "none"], endAt);
    await shared.routeStatistics(toTx(read), endAt);
    await shared.countSince(toTx(read), [endAt - 3_600_000]);
    await shared.countByDestination(toTx(read));
    await shared.countNotices(toTx(read), "chat");
    await shared.findRequests(toTx(read), [40_000, 7, 13], 1_000);
  });
  expect(plans.length).toBeGreaterThan(20);
  const explainsGeneric = await canExplainGeneric();
  for (const { sql, plan, isPrepared, values } of plans) {
    expect.soft(offences(plan), sql).toEqual([]);
    expect.soft(rowsRead(plan), sql).toBeLessThan(15_000);
    if (isPrepared && explainsGeneric && values.length > 0)
      expect.soft(offences(await explain("GENERIC_PLAN", { sql, values: [] })), `generic: ${sql}`).toEqual([]);
  }
  // All ids of the log are fewer than what is compared.
  for (const { plan } of await plansOf(() => shared.findByIdPart(toTx(read), id.slice(-6), 10)))
    expect(offences(plan)).toEqual([]);
});

it("the plans of PostgreSQL of removing what is old read a part of threads, of what rang, and of alerts", async () => {
  await database.single.query(`INSERT INTO threads (destination, recipient, alert_key, root_alert_seq, last_alert_seq, first_at, last_new_at,
        last_at, count, severity, status)
      SELECT 'chat ' || n % 5, '1', 'key ' || n, n, n, 1, 1, 1, 1, 'info', 'firing' FROM generate_series(1, ${count}) n`);
  await database.single.query(`INSERT INTO rings (destination, alert_key, memory, updated_at)
      SELECT 'chat ' || n % 5, 'key ' || n, '{}', n FROM generate_series(1, ${count}) n`);
  await database.single.query("ANALYZE threads, rings");
  const texts: string[] = [];
  const query = async (sql: string) => ({ rows: [], rowCount: texts.push(sql) });
  await removeOld(toTx({ query }), { receivedBefore: endAt, limit: 200 });
  await shared.forgetOld(toTx({ query }), endAt);
  const removals = texts.filter((sql) => /DELETE FROM (threads|rings)/.test(sql));
  expect(removals).toHaveLength(2);
  for (const sql of (await canExplainGeneric()) ? removals : [])
    expect.soft(offences(await explain("GENERIC_PLAN", { sql, values: [] })), `generic: ${sql}`).toEqual([]);
});

it("the plans of PostgreSQL find the requests of webhooks along indexes also by a plan that was made while the log was empty", async () => {
  const empty = await openPostgresDatabase({ url: await makePostgresDatabaseOfFile(), relayName: "a test" });
  onTestFinished(() => empty.close());
  const query = async (sql: string, values: readonly unknown[] = []) => {
    await empty.read.query(`PREPARE asked (bigint[]) AS ${sql}`);
    const { rows } = await empty.read.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
      `EXPLAIN (FORMAT json) EXECUTE asked ('{${values[0]}}')`,
    );
    await empty.read.query("DEALLOCATE asked");
    expect(offences(rows[0]?.["QUERY PLAN"][0].Plan as Plan)).toEqual([]);
    return { rows: [{ place: 0, request_seq: 7, item: 0, bytes: 1 }], rowCount: 1 };
  };
  await shared.findRequests(toTx({ query } as unknown as Sql), [40_000, 7, 13], 1_000);
  expect.assertions(2);
});

it("the plans of PostgreSQL compare no alert of a hundred that are routed together with all others", async () => {
  const { rows } = await database.single.query<{ seq: number }>(
    `INSERT INTO alerts (id, request_seq, item, origin, received_at)
       SELECT 'fresh ' || seq, seq, 0, 'hook', received_at FROM requests WHERE seq <= 100 RETURNING seq`,
  );
  const compared = new Map<string, number>();
  async function explainFirst(tx: Transaction, { sql, values }: Asked): Promise<void> {
    await tx.query("SAVEPOINT before");
    const { rows } = await tx.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
      `EXPLAIN (ANALYZE, TIMING off, FORMAT json) ${sql}`,
      values,
    );
    await tx.query("ROLLBACK TO before");
    const nodes = nodesOf(rows[0]?.["QUERY PLAN"][0].Plan as Plan);
    compared.set(sql, Math.max(...nodes.map((node) => Number(node["Rows Removed by Join Filter"] ?? 0))));
  }
  let turn: Promise<unknown> = Promise.resolve();
  const routing = createRouting(
    {
      ...database,
      transaction: (work) =>
        database.transaction((tx) => {
          const query: Sql["query"] = (sql, values = [], isPrepared) => {
            const answer = turn.then(async () => {
              await explainFirst(tx, { sql, values });
              return tx.query<never>(sql, values, isPrepared);
            });
            turn = answer;
            return answer;
          };
          return work({ notes: tx.notes, query });
        }),
    },
    { relayName: "a test", relayId: newId(), ...shared },
  );
  const records = rows.map(({ seq }) => routed(seq, { deliveries: [planned("chat")], repeatWindowMs: 1_000 }));
  expect(await routing.recordRouting(records)).toHaveLength(100);
  const comparedIn = (part: RegExp) => [...compared].flatMap(([sql, most]) => (part.test(sql) ? [most] : []));
  const [locksBodies, findsFirsts] = [
    /pg_advisory_xact_lock[\s\S]* JOIN requests r /,
    /given\.place[\s\S]* END AS first\b/,
  ];
  expect([locksBodies, findsFirsts, /UPDATE alerts a SET routed_at/].map(comparedIn)).toEqual([[0], [0], [0]]);
});
