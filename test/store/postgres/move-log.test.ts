import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import BetterSqlite from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { writeStoredLog } from "../../../bench/stored-log.ts";
import type { AppError } from "../../../src/core/errors.ts";
import { firstIdAt } from "../../../src/core/id.ts";
import type { AlertDetail, AlertSummary } from "../../../src/core/ports/alert-log.ts";
import type { Store } from "../../../src/core/ports/store.ts";
import { cancelMove, type MoveProgress, moveFromPostgres, moveToPostgres } from "../../../src/store/move-log.ts";
import { movedTables } from "../../../src/store/moved-tables.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { openLocalStore } from "../../../src/store/sqlite/local-store.ts";
import { lockDataFolder } from "../../../src/store/sqlite/threaded-store.ts";
import { makePostgresDatabase, openClient, runSql } from "../../support/postgres.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

const noon = Date.UTC(2026, 10, 21, 12);
const hourOfNoon = noon / 3_600_000;

/** A log as use leaves it, with what bulk rows do not have. */
function writeLog(alerts = 300): string {
  const dataDir = makeTempFolder();
  const path = join(dataDir, "tocsin.db");
  writeStoredLog({ path, alerts, endAt: noon });
  const db = new BetterSqlite(path);
  const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const last = db.prepare("SELECT max(seq) FROM alerts").pluck().get() as number;
  const request = db.prepare(
    `INSERT INTO requests (received_at, content_type, headers, body, fingerprint, items, dedupe_key, conflict, duplicates)
     VALUES (${noon}, NULL, ?, ?, ?, 1, ?, 1, 3)`,
  );
  const { lastInsertRowid } = request.run('[["x","\\u0000\\ud800 ü"]]', every, 2 ** 53 - 1, "a key\u0007 \u00e4");
  const alert = db.prepare(
    `INSERT INTO alerts (seq, id, request_seq, item, origin, source, received_at, version, routed_at, severity, alert_key, unmatched, facts,
       decisions, fingerprint) VALUES (?, ?, ?, 0, 'hook', 'desk', ${noon}, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const facts = JSON.stringify({
    title: "hostile \0 \ud800 'x' \\ \n",
    severity: "critical",
    status: "firing",
    fields: [],
    notes: [],
  });
  // A gap, as removed alerts leave it; the second waits to be routed.
  alert.run(
    last + 10,
    "0192f000-0000-7000-8000-000000000001",
    lastInsertRowid,
    9_000_000,
    noon,
    "critical",
    "k\u00e4y",
    1,
    facts,
    "[]",
    5,
  );
  alert.run(
    last + 11,
    "0192f000-0000-7000-8000-000000000002",
    lastInsertRowid,
    null,
    null,
    null,
    null,
    0,
    null,
    null,
    null,
  );
  const delivery = db.prepare(
    `INSERT INTO deliveries (id, alert_seq, destination, channel, recipient, route, purpose, state, reason, created_at, due_at, claim_token,
       claim_fence, lease_until, updates, resent_by) VALUES (?, ?, 'desk', 'webhook', 'x', 'r', 'alert', ?, '', ${noon}, ?, ?, ?, ?, 'auto', ?)`,
  );
  const waits = delivery.run("d-1", last + 10, "queued", noon, null, 0, null, null).lastInsertRowid;
  delivery.run("d-2", last + 10, "sending", null, "a token", 41, noon + 60_123, null);
  delivery.run("d-3", last + 10, "held", noon + 5, null, 0, null, null);
  delivery.run("d-4", last + 10, "failed", null, null, 0, null, null);
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
  db.prepare(
    `INSERT INTO refused_requests (id, source, received_at, reason, detail, address, content_type, headers, body, items, unkept, released_at,
       alert_ids) VALUES ('r-1', 'desk', ${noon}, 'signature', '', '::1', NULL, '[]', ?, 1, 2, ${noon}, '["x"]')`,
  ).run(every);
  db.close();
  mkdirSync(join(dataDir, "secrets"));
  writeFileSync(join(dataDir, "secrets", "webhook-secret"), "a-hook-secret");
  return dataDir;
}

const neverAborted = new AbortController().signal;

function optionsOf(
  dataDir: string,
  url: string,
  onProgress: (progress: MoveProgress) => Promise<void> = async () => {},
) {
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

const refusalOf = (work: Promise<unknown>): Promise<AppError> =>
  work.then(
    () => {
      throw new Error("it was not refused");
    },
    (error) => error as AppError,
  );

async function describeLog(store: Store) {
  const found = [];
  let before: AlertSummary["position"] | undefined;
  for (;;) {
    const alerts = await store.listAlerts({ limit: 100, before });
    if (alerts.length === 0) break;
    for (const { id } of alerts) {
      const { version: _, ...detail } = (await store.getAlert(id)) as AlertDetail;
      // Bytes are of two classes.
      const body = detail.request && Buffer.from(detail.request.body).toString("hex");
      found.push({ ...detail, request: { ...detail.request, body } });
    }
    before = alerts.at(-1)?.position;
  }
  const searched = await store.listAlerts({ limit: 100, q: "on" });
  // As JSON: what is absent may be undefined or not there.
  return JSON.parse(
    JSON.stringify({
      found,
      searched: searched.map(({ id }) => id),
      counts: await store.countAlerts(),
      // A title ends for SQLite where it has a U+0000.
      statistics: (await store.destinationStatistics(["desk"], noon)).map(({ last, ...statistics }) => ({
        ...statistics,
        last: last.map(({ title: _, ...outcome }) => outcome),
      })),
      mutes: await store.listMutes(noon, true),
    }),
  );
}

describe("a moved log", () => {
  it("is the same in PostgreSQL, and the same again when it is moved back", async () => {
    const dataDir = writeLog();
    const url = await makePostgresDatabase();
    const before = dumpOf(join(dataDir, "tocsin.db"));
    const sqlite = openLocalStore({ path: join(dataDir, "tocsin.db"), ballastBytes: 0 });
    const there = await describeLog(sqlite);
    await sqlite.close();

    const moved = await moveToPostgres(optionsOf(dataDir, url));
    expect(moved).toMatchObject({ isResumed: false, waiting: expect.any(Number), kept: keptIn(dataDir) });
    expect(moved.tables.find(({ name }) => name === "alerts")).toMatchObject({
      rows: 302,
      digest: expect.stringMatching(/^\w{64}$/),
    });
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
    expect(await refusalOf(openPostgresStore({ url, relayName: "a test" }))).toMatchObject({ code: "conflict" });
    await cancelMove(optionsOf(makeTempFolder(), url), "out");
    await (await openPostgresStore({ url, relayName: "a test" })).close();
  });

  it("has the same indexes as one that was not moved, and its positions go on", async () => {
    const indexes = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1";
    const [url, other] = [await makePostgresDatabase(), await makePostgresDatabase()];
    await (await openPostgresStore({ url: other, relayName: "a test" })).close();
    await moveToPostgres(optionsOf(writeLog(20), url));
    expect(await runSql(url, indexes)).toEqual(await runSql(other, indexes));
    const [next] = await runSql<{ behind: boolean; fence: string }>(
      url,
      `SELECT nextval('alerts_seq_seq') > (SELECT max(seq) FROM alerts) AND nextval('deliveries_seq_seq') > (SELECT max(seq) FROM deliveries)
         AND nextval('requests_seq_seq') > (SELECT max(seq) FROM requests) AS behind, nextval('lane_fences')::text AS fence`,
    );
    expect(next).toEqual({ behind: true, fence: "42" });
  });

  it("is whole wherever it was interrupted, both ways", async () => {
    const random = createSeededRandom(11).next;
    const [from, url, back] = [writeLog(60), await makePostgresDatabase(), makeTempFolder()];
    const before = dumpOf(join(from, "tocsin.db"));
    for (const [move, dataDir] of [
      [moveToPostgres, from],
      [moveFromPostgres, back],
    ] as const) {
      for (let runs = 0; ; runs += 1) {
        let left = 1 + runs * 6 + Math.floor(random() * 6);
        const stopped = new Error("interrupted");
        const interrupt = async () => {
          left -= 1;
          if (left === 0) throw stopped;
        };
        const moved = await move(optionsOf(dataDir, url, interrupt)).catch((error: unknown) => {
          if (error !== stopped) throw error;
        });
        if (moved === undefined) {
          expect(await refusalOf(openPostgresStore({ url, relayName: "a test" }))).toMatchObject({ code: "conflict" });
          continue;
        }
        expect(runs).toBeGreaterThan(3);
        expect(moved.isResumed).toBe(true);
        break;
      }
    }
    expect(dumpOf(join(back, "tocsin.db"))).toEqual(before);
  });

  it("is copied anew when the log has gone on since it was interrupted", async () => {
    const [dataDir, url] = [writeLog(30), await makePostgresDatabase()];
    let left = 4;
    const interrupted = moveToPostgres(
      optionsOf(dataDir, url, async () => {
        left -= 1;
        if (left === 0) throw new Error("interrupted");
      }),
    );
    await expect(interrupted).rejects.toThrow("interrupted");
    const db = new BetterSqlite(join(dataDir, "tocsin.db"));
    db.exec(
      "UPDATE alerts SET routing_error = 'changed', version = (SELECT max(version) + 1 FROM alerts) WHERE seq = 3",
    );
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

  it("is refused what is not its own, and changes nothing there", async () => {
    const url = await makePostgresDatabase();
    const store = await openPostgresStore({ url, relayName: "a test" });
    const dataDir = writeLog(5);
    const before = dumpOf(join(dataDir, "tocsin.db"));
    await store.announceRelay?.(
      { id: "r", name: "elsewhere", version: "1", configuration: "c", startedAt: noon } as never,
      60_000,
    );
    expect(await refusalOf(moveToPostgres(optionsOf(dataDir, url)))).toMatchObject({
      code: "conflict",
      message: expect.stringContaining("elsewhere"),
    });
    await store.forgetRelay?.("r");
    await store.addMute({ id: "m", matchers: [], reason: "", startsAt: 0, endsAt: 1, createdAt: 0, createdBy: "" });
    expect(await refusalOf(moveToPostgres(optionsOf(dataDir, url)))).toMatchObject({
      code: "conflict",
      message: expect.stringContaining("1 mutes"),
    });
    await store.close();
    const lock = lockDataFolder(dataDir);
    expect(await refusalOf(moveToPostgres(optionsOf(dataDir, url)))).toMatchObject({ code: "store_locked" });
    lock.release();
    expect(await refusalOf(moveFromPostgres(optionsOf(dataDir, url)))).toMatchObject({ code: "conflict" });
    const none = makeTempFolder();
    expect(await refusalOf(moveToPostgres(optionsOf(none, url)))).toMatchObject({ code: "not_found" });
    expect(dumpOf(join(dataDir, "tocsin.db"))).toEqual(before);
    expect(await runSql(url, "SELECT id FROM mutes")).toEqual([{ id: "m" }]);
  });

  it("that is half-way in another database is left alone by others, and given up by whoever began", async () => {
    const [dataDir, other, url] = [writeLog(30), writeLog(5), await makePostgresDatabase()];
    let left = 5;
    const interrupt = async () => {
      left -= 1;
      if (left === 0) throw new Error("interrupted");
    };
    await expect(moveToPostgres(optionsOf(dataDir, url, interrupt))).rejects.toThrow("interrupted");
    for (const work of [moveToPostgres, (options: ReturnType<typeof optionsOf>) => cancelMove(options, "in")])
      expect(await refusalOf(work(optionsOf(other, url)))).toMatchObject({
        code: "conflict",
        message: expect.stringContaining(dataDir),
      });
    await cancelMove(optionsOf(dataDir, url), "in");
    const store = await openPostgresStore({ url, relayName: "a test" });
    expect(await store.countAlerts()).toMatchObject({ kept: 0 });
    await store.close();
    expect(readdirSync(dataDir)).not.toContain("move.json");
    await moveToPostgres(optionsOf(other, url));
  });

  it("has one holder wherever the last steps back to SQLite were cut off, and is given up only before it has its name", async () => {
    const url = await makePostgresDatabase();
    await moveToPostgres(optionsOf(writeLog(20), url));
    const isOpen = () =>
      openPostgresStore({ url, relayName: "a test" }).then(
        (store) => store.close().then(() => true),
        () => false,
      );
    const dataDir = makeTempFolder();
    const [path, notePath] = [join(dataDir, "tocsin.db"), join(dataDir, "move.json")];
    let note = "";
    await moveFromPostgres(
      optionsOf(dataDir, url, async () => {
        if (existsSync(notePath)) note = readFileSync(notePath, "utf8");
      }),
    );
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
    let steps = 0;
    const resumed = await moveFromPostgres(
      optionsOf(dataDir, url, async () => {
        steps += 1;
      }),
    );
    expect([resumed.isResumed, steps]).toEqual([true, 0]);
    expect(dumpOf(path)).toEqual(whole);
    renameSync(path, `${path}.moving`);
    writeFileSync(notePath, note);
    await cancelMove(optionsOf(dataDir, url), "out");
    expect([existsSync(path), existsSync(`${path}.moving`), await isOpen()]).toEqual([false, false, true]);
  });

  it("says of which times alerts were stored late, which SQLite may miss by time", async () => {
    const url = await makePostgresDatabase();
    await moveToPostgres(optionsOf(writeLog(5), url));
    const [from, to] = [firstIdAt(noon), firstIdAt(noon + 60_000)];
    await runSql(url, "INSERT INTO late_spans VALUES ($1, $2), ($2, $3), ($4, $4)", [
      from,
      to,
      firstIdAt(noon + 90_000),
      firstIdAt(noon + 600_000),
    ]);
    expect((await moveFromPostgres(optionsOf(makeTempFolder(), url))).late).toEqual([
      { from: noon, to: noon + 90_000 },
      { from: noon + 600_000, to: noon + 600_000 },
    ]);
  });

  it("is told to differ where a row does", async () => {
    const [dataDir, url] = [writeLog(30), await makePostgresDatabase()];
    const spoil = async ({ step, done, all }: MoveProgress) => {
      if (step === "indexing" && done === all)
        await runSql(url, "UPDATE requests SET body = body || '\\x00' WHERE seq = 7");
    };
    expect(await refusalOf(moveToPostgres(optionsOf(dataDir, url, spoil)))).toMatchObject({
      code: "failed",
      message: expect.stringContaining("requests"),
    });
    expect(existsSync(join(dataDir, "tocsin.db"))).toBe(true);
  });
});

describe("what is moved", () => {
  it("is every column of both databases, but for what is made anew or says only which processes run", async () => {
    const url = await makePostgresDatabase();
    await (await openPostgresStore({ url, relayName: "a test" })).close();
    const left = new Set(
      `migrations relays configurations relay_requests write_checks kept_records alert_changes alert_words search_queue tallies allowances readings late_spans`.split(
        " ",
      ),
    );
    const leftColumns = new Set(
      `alerts.routed_by alerts.routing_until alerts.value alerts.facts_bytes lanes.owner lanes.relay lanes.granted_at lanes.lease_until
       lanes.destinations statistics_start.only_row`.split(/\s+/),
    );
    const columns = await runSql<{ place: string; name: string }>(
      url,
      `SELECT table_name || '.' || column_name AS place, table_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' ORDER BY 1`,
    );
    const moved = new Set(
      movedTables.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`)),
    );
    expect(
      columns.filter(({ place, name }) => !left.has(name) && !leftColumns.has(place) && !moved.has(place)),
    ).toEqual([]);

    const db = new BetterSqlite(join(writeLog(3), "tocsin.db"));
    // What SQLite requires, PostgreSQL requires too, or it is read as SQLite has it.
    const nullable = await runSql<{ place: string }>(
      url,
      `SELECT table_name || '.' || column_name AS place FROM information_schema.columns
       WHERE table_schema = 'public' AND is_nullable = 'YES'`,
    );
    const isNullable = new Set(nullable.map(({ place }) => place));
    const refusing = movedTables.flatMap(({ name, columns }) => {
      const required = db
        .prepare<[string], string>('SELECT name FROM pragma_table_info(?) WHERE "notnull"')
        .pluck()
        .all(name);
      return columns.flatMap((column) =>
        required.includes(column.writeTo ?? column.name) &&
        isNullable.has(`${name}.${column.name}`) &&
        column.readInPostgres === undefined
          ? [`${name}.${column.name}`]
          : [],
      );
    });
    expect(refusing).toEqual([]);
    const made =
      /^(sqlite_.*|alerts_search.*|search_parts|search_cursor|delivery_counts|duplicate_count|removed_alerts)$/;
    const ofSqlite = db
      .prepare<[], { name: string; column: string }>(
        "SELECT t.name AS name, c.name AS column FROM pragma_table_list t, pragma_table_info(t.name) c WHERE t.schema = 'main'",
      )
      .all();
    db.close();
    expect(
      ofSqlite.filter(({ name, column }) => !made.test(name) && column !== "only" && !moved.has(`${name}.${column}`)),
    ).toEqual([]);
  });
});
