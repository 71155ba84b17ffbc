import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import BetterSqlite from "better-sqlite3";
import { expect, it } from "vitest";
import { writeStoredLog } from "../../../bench/stored-log.ts";
import { firstIdAt } from "../../../src/core/id.ts";
import type { AlertDetail } from "../../../src/core/ports/alert-log.ts";
import type { Store } from "../../../src/core/ports/store.ts";
import { cancelMove, type MoveProgress, moveFromPostgres, moveToPostgres } from "../../../src/store/move-log.ts";
import { movedTables } from "../../../src/store/moved-tables.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { openLocalStore } from "../../../src/store/sqlite/local-store.ts";
import { lockDataFolder } from "../../../src/store/sqlite/threaded-store.ts";
import { tables } from "../../../src/store/tables.ts";
import { makePostgresDatabase, openClient, runSql } from "../../support/postgres.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";
import { didWork, migrateOnly, neverNull, openRelay, refusalOf } from "./open-relays.ts";

const noon = Date.UTC(2026, 10, 21, 12);
const hourOfNoon = noon / 3_600_000;

/** A log as use leaves it, with what bulk rows do not have. */
function writeLog(alerts = 300): string {
  const dataDir = makeTempFolder();
  const path = join(dataDir, "tocsin.db");
  writeStoredLog({ path, alerts, endAt: noon });
  const db = new BetterSqlite(path);
  const insert = (table: string, row: object) => {
    const names = Object.keys(row);
    const sql = `INSERT INTO ${table} (${names}) VALUES (${names.map((name) => `:${name}`)})`;
    return db.prepare(sql).run(row).lastInsertRowid;
  };
  const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const last = db.prepare("SELECT max(seq) FROM alerts").pluck().get() as number;
  const keyed = { dedupe_key: "a key\u0007 \u00e4", conflict: 1, duplicates: 3, fingerprint: 2 ** 53 - 1, items: 1 };
  const headers = '[["x","\\u0000\\ud800 ü"]]';
  const request_seq = insert("requests", { received_at: noon, content_type: null, headers, body: every, ...keyed });
  const title = "hostile \0 \ud800 'x' \\ \n";
  const hostile = { title, severity: "critical", status: "firing", fields: [], notes: [] };
  const facts = { facts: JSON.stringify(hostile), decisions: "[]", severity: "critical", alert_key: "k\u00e4y" };
  const of = { request_seq, item: 0, origin: "hook", source: "desk", received_at: noon };
  const [routed, unrouted] = ["0192f000-0000-7000-8000-000000000001", "0192f000-0000-7000-8000-000000000002"];
  // A gap, as removed alerts leave it; the second waits to be routed.
  const state = { version: 9_000_000, routed_at: noon, unmatched: 1, fingerprint: 5 };
  insert("alerts", { seq: last + 10, id: routed, ...of, ...state, ...facts });
  insert("alerts", { seq: last + 11, id: unrouted, ...of, unmatched: 0 });
  const to = { alert_seq: last + 10, destination: "desk", channel: "webhook", recipient: "x", route: "r" };
  const planned = { ...to, purpose: "alert", reason: "", created_at: noon, updates: "auto", claim_fence: 0 };
  const claimed = { claim_token: "a token", claim_fence: 41, lease_until: noon + 60_123 };
  const waits = insert("deliveries", { ...planned, id: "d-1", state: "queued", due_at: noon });
  insert("deliveries", { ...planned, id: "d-2", state: "sending", ...claimed });
  insert("deliveries", { ...planned, id: "d-3", state: "held", due_at: noon + 5 });
  insert("deliveries", { ...planned, id: "d-4", state: "failed" });
  db.prepare("UPDATE deliveries SET resent_by = ? WHERE id = 'd-4'").run(waits);
  db.exec(`
    INSERT INTO paces VALUES ('bot', '[1,2]', ${noon}, 'asked to wait'), ('chat', '[]', 0, NULL);
    INSERT INTO destination_statuses VALUES ('destination', 'desk', '{"paused":true}');
    INSERT INTO watch_states VALUES ('gaps', '{"a":[1]}');
    INSERT INTO expiring_keys VALUES ('session', 'hash', ${noon + 1});
    INSERT INTO lanes VALUES ('desk', 41), ('bot', 7);
    INSERT INTO outcome_hours VALUES ('desk', ${hourOfNoon}, 'sent', 3), ('desk', ${hourOfNoon - 1}, 'failed', 1);
    INSERT INTO wait_hours VALUES ('desk', ${hourOfNoon}, 77, 3);
    INSERT INTO route_hours VALUES ('r', 5, 9, ${noon}, 'an id');
    UPDATE statistics_start SET route_hour = 5;
    UPDATE duplicate_count SET count = 12;
    UPDATE removed_alerts SET count = 9`);
  const refused = { id: "r-1", source: "desk", received_at: noon, reason: "signature", detail: "", address: "::1" };
  const released = { released_at: noon, alert_ids: '["x"]' };
  insert("refused_requests", { ...refused, ...released, headers: "[]", body: every, items: 1, unkept: 2 });
  db.close();
  mkdirSync(join(dataDir, "secrets"));
  writeFileSync(join(dataDir, "secrets", "webhook-secret"), "a-hook-secret");
  return dataDir;
}

const neverAborted = new AbortController().signal;

type OnProgress = (progress: MoveProgress) => Promise<void>;

function optionsOf(dataDir: string, url: string, onProgress: OnProgress = async () => {}) {
  return { dataDir, url, now: () => noon, signal: neverAborted, onProgress };
}

/** Every row of every table but the search index, and what the schema has. */
function dumpOf(path: string): Record<string, unknown> {
  const db = new BetterSqlite(path, { readonly: true });
  const list =
    "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'alerts\\_search%' ESCAPE '\\' ORDER BY type, name";
  const schema = db.prepare<[], { type: string; name: string }>(list).all();
  const left = new Set(["search_cursor", "search_parts", "alerts"]);
  const rows = schema.flatMap(({ type, name }) => {
    if (type !== "table" || left.has(name) || name.startsWith("sqlite_")) return [];
    const some = name === "delivery_counts" ? "WHERE count <> 0" : "";
    return [[name, db.prepare(`SELECT * FROM ${name} ${some} ORDER BY 1, 2`).all()]];
  });
  const alerts = db.prepare<[], Record<string, unknown>>("SELECT * FROM alerts ORDER BY seq").all();
  // Renumbered, in the same order.
  const changes = db.prepare("SELECT seq FROM alerts WHERE version IS NOT NULL ORDER BY version, seq").pluck().all();
  db.close();
  return { schema, ...Object.fromEntries(rows), alerts: alerts.map((row) => ({ ...row, version: null })), changes };
}

const keptIn = (dataDir: string) =>
  join(dataDir, readdirSync(dataDir).find((name) => /^tocsin\.db\.before-move-\w+$/.test(name)) ?? "none was kept");

/** Throws `stopped` at the nth step of a move. */
function stopAt(nth: number) {
  let left = nth;
  return async () => {
    left -= 1;
    if (left === 0) throw stopped;
  };
}

const stopped = new Error("interrupted");

async function describeLog(store: Store) {
  const found = [];
  for (const { id } of await store.listAlerts({ limit: 1_000 })) {
    const { version: _, ...detail } = (await store.getAlert(id)) as AlertDetail;
    // Bytes are of two classes.
    const body = detail.request && Buffer.from(detail.request.body).toString("hex");
    found.push({ ...detail, request: { ...detail.request, body } });
  }
  const searched = await store.listAlerts({ limit: 100, q: "on" });
  // A title ends for SQLite where it has a U+0000.
  const statistics = (await store.destinationStatistics(["desk"], noon)).map(({ last, ...counted }) => {
    return { ...counted, last: last.map(({ title: _, ...outcome }) => outcome) };
  });
  const told = { counts: await store.countAlerts(), statistics, mutes: await store.listMutes(noon, true) };
  // As JSON: what is absent may be undefined or not there.
  return JSON.parse(JSON.stringify({ found, searched: searched.map(({ id }) => id), ...told }));
}

it("a moved log is the same in PostgreSQL, and the same again when it is moved back", async () => {
  const dataDir = writeLog();
  const url = await makePostgresDatabase();
  const before = dumpOf(join(dataDir, "tocsin.db"));
  const sqlite = openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes: 0 });
  const there = await describeLog(sqlite);
  await sqlite.close();

  const moved = await moveToPostgres(optionsOf(dataDir, url));
  expect(moved).toMatchObject({ isResumed: false, waiting: expect.any(Number), kept: keptIn(dataDir) });
  const alerts = { rows: 302, digest: expect.stringMatching(/^\w{64}$/) };
  expect(moved.tables.find(({ name }) => name === "alerts")).toMatchObject(alerts);
  expect(existsSync(join(dataDir, "tocsin.db"))).toBe(false);
  const store = await openPostgresStore({ url, relayName: "a test" });
  expect(there.searched.length).toBeGreaterThan(0);
  expect(await describeLog(store)).toEqual(there);
  expect(await store.kept?.read("secrets/webhook-secret")).toEqual(["a-hook-secret"]);
  await store.close();
  const rest = await runSql(
    url,
    `SELECT (SELECT count(*)::integer FROM search_queue) AS unsearched, to_regclass('moves')::text AS moves,
         (SELECT count(*)::integer FROM pg_trigger WHERE tgenabled = 'D') AS sleeping`,
  );
  expect(rest).toEqual([{ unsearched: 0, moves: null, sleeping: 0 }]);

  const back = makeTempFolder();
  await moveFromPostgres(optionsOf(back, url));
  const after = dumpOf(join(back, "tocsin.db"));
  // Alerts that reached PostgreSQL lost what no text of it can hold, and nothing else.
  expect(after).toEqual(before);
  expect(readFileSync(join(back, "secrets", "webhook-secret"), "utf8")).toBe("a-hook-secret");
  expect(await refusalOf(openRelay(url))).toMatchObject({ code: "conflict" });
  await cancelMove(optionsOf(makeTempFolder(), url), "out");
  await migrateOnly(url);
});

it("a moved log has the same indexes as one that was not moved, and its positions go on", async () => {
  const indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1";
  const [url, other] = [await makePostgresDatabase(), await makePostgresDatabase()];
  await migrateOnly(other);
  await moveToPostgres(optionsOf(writeLog(20), url));
  expect(await runSql(url, indexes)).toEqual(await runSql(other, indexes));
  const [next] = await runSql<{ behind: boolean; fence: string }>(
    url,
    `SELECT nextval('alerts_seq_seq') > (SELECT max(seq) FROM alerts) AND nextval('deliveries_seq_seq') > (SELECT max(seq) FROM deliveries)
         AND nextval('requests_seq_seq') > (SELECT max(seq) FROM requests) AS behind, nextval('lane_fences')::text AS fence`,
  );
  expect(next).toEqual({ behind: true, fence: "42" });
});

it("a moved log is whole wherever it was interrupted, both ways", async () => {
  const random = createSeededRandom(11).next;
  const [from, url, back] = [writeLog(60), await makePostgresDatabase(), makeTempFolder()];
  const before = dumpOf(join(from, "tocsin.db"));
  for (const [move, dataDir] of [
    [moveToPostgres, from],
    [moveFromPostgres, back],
  ] as const) {
    for (let runs = 0; ; runs += 1) {
      const interrupt = stopAt(1 + runs * 6 + Math.floor(random() * 6));
      const moved = await move(optionsOf(dataDir, url, interrupt)).catch((error: unknown) => {
        if (error !== stopped) throw error;
      });
      if (moved === undefined) {
        expect(await refusalOf(openRelay(url))).toMatchObject({ code: "conflict" });
        continue;
      }
      expect(runs).toBeGreaterThan(3);
      expect(moved.isResumed).toBe(true);
      break;
    }
  }
  expect(dumpOf(join(back, "tocsin.db"))).toEqual(before);
});

it("a moved log is copied anew when the log has gone on since it was interrupted", async () => {
  const [dataDir, url] = [writeLog(30), await makePostgresDatabase()];
  await expect(moveToPostgres(optionsOf(dataDir, url, stopAt(4)))).rejects.toBe(stopped);
  const db = new BetterSqlite(join(dataDir, "tocsin.db"));
  const next = "(SELECT max(version) + 1 FROM alerts)";
  db.exec(`UPDATE alerts SET routing_error = 'changed', version = ${next} WHERE seq = 3`);
  db.close();
  // Cut off in between once more, before anything is emptied.
  const holder = await openClient(url);
  await holder.query("BEGIN; LOCK TABLE mutes IN ACCESS SHARE MODE");
  const cut = refusalOf(moveToPostgres(optionsOf(dataDir, url)));
  const end = `SELECT count(pg_terminate_backend(pid))::integer AS ended FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await expect.poll(() => runSql(url, end)).toEqual([{ ended: 1 }]);
  expect(await cut).toMatchObject({ code: "store_unavailable" });
  await holder.query("ROLLBACK");
  expect(await moveToPostgres(optionsOf(dataDir, url))).toMatchObject({ isResumed: false });
  expect(await runSql(url, "SELECT routing_error FROM alerts WHERE seq = 3")).toEqual([{ routing_error: "changed" }]);
});

it("a moved log is refused what is not its own, and changes nothing there", async () => {
  const url = await makePostgresDatabase();
  const store = await openPostgresStore({ url, relayName: "a test" });
  const dataDir = writeLog(5);
  const before = dumpOf(join(dataDir, "tocsin.db"));
  const relay = { id: "r", name: "elsewhere", version: "1", configuration: "c", startedAt: noon };
  await store.announceRelay?.(relay, 60_000);
  const refusal = () => refusalOf(moveToPostgres(optionsOf(dataDir, url)));
  const conflict = (words: string) => ({ code: "conflict", message: expect.stringContaining(words) });
  expect(await refusal()).toMatchObject(conflict("elsewhere"));
  await store.forgetRelay?.("r");
  await store.addMute({ id: "m", matchers: [], reason: "", startsAt: 0, endsAt: 1, createdAt: 0, createdBy: "" });
  expect(await refusal()).toMatchObject(conflict("1 mutes"));
  await store.close();
  const lock = lockDataFolder(dataDir);
  expect(await refusal()).toMatchObject({ code: "store_locked" });
  lock.release();
  expect(await refusalOf(moveFromPostgres(optionsOf(dataDir, url)))).toMatchObject({ code: "conflict" });
  const none = makeTempFolder();
  expect(await refusalOf(moveToPostgres(optionsOf(none, url)))).toMatchObject({ code: "not_found" });
  expect(dumpOf(join(dataDir, "tocsin.db"))).toEqual(before);
  expect(await runSql(url, "SELECT id FROM mutes")).toEqual([{ id: "m" }]);
});

it("a moved log that is half-way in another database is left alone by others, and given up by whoever began", async () => {
  const [dataDir, other, url] = [writeLog(30), writeLog(5), await makePostgresDatabase()];
  await expect(moveToPostgres(optionsOf(dataDir, url, stopAt(5)))).rejects.toBe(stopped);
  const message = expect.stringContaining(dataDir);
  for (const work of [moveToPostgres, (options: ReturnType<typeof optionsOf>) => cancelMove(options, "in")])
    expect(await refusalOf(work(optionsOf(other, url)))).toMatchObject({ code: "conflict", message });
  await cancelMove(optionsOf(dataDir, url), "in");
  const store = await openPostgresStore({ url, relayName: "a test" });
  expect(await store.countAlerts()).toMatchObject({ kept: 0 });
  await store.close();
  expect(readdirSync(dataDir)).not.toContain("move.json");
  await moveToPostgres(optionsOf(other, url));
});

it("a moved log has one holder wherever the last steps back to SQLite were cut off, and is given up only before it has its name", async () => {
  const url = await makePostgresDatabase();
  await moveToPostgres(optionsOf(writeLog(20), url));
  const isOpen = () => didWork(migrateOnly(url));
  const dataDir = makeTempFolder();
  const [path, notePath] = [join(dataDir, "tocsin.db"), join(dataDir, "move.json")];
  let note = "";
  const keepNote = async () => {
    if (existsSync(notePath)) note = readFileSync(notePath, "utf8");
  };
  await moveFromPostgres(optionsOf(dataDir, url, keepNote));
  const whole = dumpOf(path);
  // As a kill behind the name leaves it.
  writeFileSync(notePath, note);
  const refused = await refusalOf(cancelMove(optionsOf(dataDir, url), "out"));
  expect(refused).toMatchObject({ code: "conflict", message: expect.stringContaining(path) });
  expect([existsSync(path), await isOpen()]).toEqual([true, false]);
  expect(await moveFromPostgres(optionsOf(dataDir, url))).toMatchObject({ isResumed: true });
  expect(existsSync(notePath)).toBe(false);
  expect(await refusalOf(cancelMove(optionsOf(dataDir, url), "out"))).toMatchObject({ code: "conflict" });
  // As a kill before it leaves it: PostgreSQL is closed, and nothing is copied again.
  renameSync(path, `${path}.moving`);
  writeFileSync(notePath, note);
  expect(await isOpen()).toBe(false);
  expect(await moveFromPostgres(optionsOf(dataDir, url, stopAt(1)))).toMatchObject({ isResumed: true });
  expect(dumpOf(path)).toEqual(whole);
  renameSync(path, `${path}.moving`);
  writeFileSync(notePath, note);
  await cancelMove(optionsOf(dataDir, url), "out");
  expect([existsSync(path), existsSync(`${path}.moving`), await isOpen()]).toEqual([false, false, true]);
});

it("a moved log says of which times alerts were stored late, which SQLite may miss by time", async () => {
  const url = await makePostgresDatabase();
  await moveToPostgres(optionsOf(writeLog(5), url));
  const ids = [0, 60_000, 90_000, 600_000].map((ms) => firstIdAt(noon + ms));
  await runSql(url, "INSERT INTO late_spans VALUES ($1, $2), ($2, $3), ($4, $4)", ids);
  expect((await moveFromPostgres(optionsOf(makeTempFolder(), url))).late).toEqual([
    { from: noon, to: noon + 90_000 },
    { from: noon + 600_000, to: noon + 600_000 },
  ]);
});

it("a moved log is told to differ where a row does", async () => {
  const [dataDir, url] = [writeLog(30), await makePostgresDatabase()];
  const spoil = async ({ step, done, all }: MoveProgress) => {
    if (step === "indexing" && done === all)
      await runSql(url, "UPDATE requests SET body = body || '\\x00' WHERE seq = 7");
  };
  const refusal = { code: "failed", message: expect.stringContaining("requests") };
  expect(await refusalOf(moveToPostgres(optionsOf(dataDir, url, spoil)))).toMatchObject(refusal);
  expect(existsSync(join(dataDir, "tocsin.db"))).toBe(true);
});

// That each database has the columns of the list, and which of them may be null, is the business of tables.test.ts.
it("what is moved is every column of the list of tables, but for what is made anew or says only which processes run", () => {
  const moved = new Map(movedTables.flatMap(({ name, columns }) => columns.map((one) => [`${name}.${one.name}`, one])));
  const listed = Object.entries(tables).flatMap(([table, { columns }]) =>
    Object.keys(columns).map((column) => `${table}.${column}`),
  );
  const left =
    `alerts.routed_by alerts.routing_until alerts.value alerts.facts_bytes lanes.owner lanes.relay lanes.granted_at
      lanes.lease_until lanes.destinations`.split(/\s+/);
  expect(listed.filter((place) => !moved.has(place)).sort()).toEqual(left.sort());
  // SQLite requires what may be missing in PostgreSQL.
  for (const place of neverNull.sqlite) expect(moved.get(place)?.readInPostgres, place).toContain("coalesce");
});
