import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import type { Database } from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { fingerprintOf } from "../../src/store/fingerprint.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { type Migration, migrate, readMigrations } from "../../src/store/sqlite/migrate.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { hour, newIdAt, noon, request, routed } from "../conformance/store/scene-samples.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

function migration(number: number, sql: string): Migration {
  return { number, name: `000${number}_test.sql`, sql };
}

function folderWith(...names: string[]): URL {
  const folder = makeTempFolder();
  for (const name of names) writeFileSync(join(folder, name), "SELECT 1;");
  return pathToFileURL(`${folder}/`);
}

describe("migrations", () => {
  it("are read in the order of their numbers, and nothing else of the folder is", () => {
    const from = folderWith("0002_b.sql", "0001_a.sql", "notes.md", "0003_c.sql.bak");
    expect(readMigrations(from).map(({ number, name }) => `${number} ${name}`)).toEqual([
      "1 0001_a.sql",
      "2 0002_b.sql",
    ]);
  });

  it("refuse a missing and a doubled number", () => {
    expect(() => readMigrations(folderWith("0001_a.sql", "0003_c.sql"))).toThrow(
      "migration 2 is missing before 0003_c.sql",
    );
    expect(() => readMigrations(folderWith("0001_a.sql", "0001_b.sql"))).toThrow("migration 2 is missing");
  });

  it("run once each, from where the database is", () => {
    const db = new Sqlite(":memory:");
    onTestFinished(() => void db.close());
    const first = migration(1, "CREATE TABLE a (x ANY) STRICT");
    migrate(db, [first]);
    migrate(db, [first, migration(2, "CREATE TABLE b (x ANY) STRICT")]);
    migrate(db, [first, migration(2, "CREATE TABLE b (x ANY) STRICT")]);
    expect(db.pragma("user_version", { simple: true })).toBe(2);
  });

  it("that fail leave the database as it was, and say which statement it was", () => {
    const db = new Sqlite(":memory:");
    onTestFinished(() => void db.close());
    const first = migration(1, "CREATE TABLE a (x ANY) STRICT; INSERT INTO a VALUES (1)");
    const broken = migration(2, "CREATE TABLE b (x ANY) STRICT; DELETE FROM a; INSERT INTO missing VALUES (1)");
    expect(() => migrate(db, [first, broken])).toThrow("0002_test.sql");
    expect(db.pragma("user_version", { simple: true })).toBe(1);
    expect(db.prepare("SELECT count(*) FROM a").pluck().get()).toBe(1);
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'b'").pluck().get()).toBe(0);
    expect(db.inTransaction).toBe(false);
  });
});

describe("what the last version knew of destinations", () => {
  it("is read under its new names, an account apart from a destination of the same name", async () => {
    const dataDir = makeTempFolder();
    const path = join(dataDir, "tocsin.db");
    const old = new Sqlite(path);
    migrate(
      old,
      readMigrations().filter(({ number }) => number <= 9),
    );
    const common = { reason: "", since: 1, failures: 0 };
    const tale = {
      destination: "chat",
      failed: 1,
      held: 0,
      recipients: ["-1"],
      titles: ["a"],
      reason: "refused",
    };
    const announced = { health: "down", at: 5, told: true, over: false };
    const statuses = [
      { name: "chat", health: "degraded", ...common, announced, undelivered: { tale, toldAt: 7 } },
      { name: "mail", health: "ok", ...common, undelivered: { toldAt: 8 } },
      { name: "account:telegram:7", health: "paused", ...common, announced: { ...announced, told: false } },
      { name: "account:of-mine", health: "ok", ...common, moved: { from: "-1", to: "-2" } },
    ];
    const insert = old.prepare("INSERT INTO destination_statuses VALUES (?, ?)");
    for (const status of statuses) insert.run(status.name, JSON.stringify(status));
    old.close();
    const store = openLocalStore({ path, ballastBytes: 0 });
    onTestFinished(() => store.close());
    const kind = "destination";
    const notice = { health: "down", at: 5, sent: true, over: false };
    expect(await store.loadStatuses()).toEqual([
      {
        kind: "account",
        name: "account:telegram:7",
        health: "paused",
        ...common,
        notice: { ...notice, sent: false },
      },
      { kind, name: "account:of-mine", health: "ok", ...common, moved: { from: "-1", to: "-2" } },
      {
        kind,
        name: "chat",
        health: "degraded",
        ...common,
        notice,
        undelivered: { pending: tale, notifiedAt: 7 },
      },
      { kind, name: "mail", health: "ok", ...common, undelivered: { notifiedAt: 8 } },
    ]);
  });
});

describe("a database of another version", () => {
  function makeDatabase(version: number): string {
    const path = join(makeTempFolder(), "tocsin.db");
    const db = new Sqlite(path);
    db.exec("CREATE TABLE from_the_future (x ANY) STRICT");
    db.pragma(`user_version = ${version}`);
    db.close();
    return path;
  }

  it("that is newer is refused and left byte for byte as it is", () => {
    const path = makeDatabase(99);
    const before = readFileSync(path);
    const { mtimeMs } = statSync(path);
    for (const readOnly of [false, true]) {
      expect(() => openDatabase({ path, readOnly })).toThrow(
        expect.objectContaining({
          code: "store_too_new",
          message: `The database is of version 99; this Tocsin knows versions up to ${readMigrations().length}.`,
        }),
      );
    }
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(statSync(path).mtimeMs).toBe(mtimeMs);
    expect(readdirSync(join(path, ".."))).toEqual(["tocsin.db"]);
  });

  it("that is older is not read without being brought up to date", () => {
    const path = makeDatabase(0);
    expect(() => openDatabase({ path, readOnly: true })).toThrow(
      expect.objectContaining({ code: "failed", hint: expect.stringContaining("tocsin serve") }),
    );
  });

  it("that is no database is refused with words for people", () => {
    const path = join(makeTempFolder(), "tocsin.db");
    writeFileSync(path, "this is a letter, not a database, and it is longer than a header ".repeat(20));
    expect(() => openDatabase({ path })).toThrow(
      expect.objectContaining({
        code: "store_unavailable",
        message: expect.stringContaining("is not a database, or it is damaged"),
      }),
    );
  });
});

describe("a database from before resends stood for what failed", () => {
  it("counts and lists what was resent as its resend does", () => {
    const path = join(makeTempFolder(), "tocsin.db");
    const old = new Sqlite(path);
    const all = readMigrations();
    migrate(
      old,
      all.slice(
        0,
        all.findIndex(({ name }) => name.endsWith("_resends.sql")),
      ),
    );
    old.exec(
      "INSERT INTO alerts (seq, id, item, origin, received_at) VALUES (1, 'a', 0, 'hook', 1), (2, 'b', 0, 'hook', 2)",
    );
    const insert = old.prepare(
      `INSERT INTO deliveries (id, alert_seq, destination, channel, recipient, route, purpose, state, reason, created_at,
         due_at, updates) VALUES (?, ?, ?, ?, ?, 'all', ?, ?, '', 1, ?, 'new')`,
    );
    const rows: [string, number, string, string, string, string, string, number | null][] = [
      ["failed", 1, "chat", "telegram", "-1", "alert", "failed", null],
      ["failed again", 1, "chat", "telegram", "-2", "resend", "failed", null],
      ["sent at last", 1, "chat", "telegram", "-2", "resend", "sent", null],
      ["mail a", 1, "mail", "email", "a@x.example", "alert", "failed", null],
      ["mail b", 1, "mail", "email", "b@x.example", "alert", "expired", null],
      ["mail a again", 1, "mail", "email", "a@x.example", "resend", "sent", null],
      ["never resent", 2, "chat", "telegram", "-1", "alert", "failed", null],
      ["judged by a person", 2, "mail", "email", "a@x.example", "alert", "held", null],
      ["and resent", 2, "mail", "email", "a@x.example", "resend", "sent", null],
      ["quiet hours", 2, "ops", "telegram", "-3", "alert", "held", 5],
      ["did not wait", 2, "ops", "telegram", "-3", "resend", "sent", null],
    ];
    for (const row of rows) insert.run(...row);
    old.close();

    const db = openDatabase({ path });
    onTestFinished(() => void db.close());
    const resent = db
      .prepare("SELECT d.id, r.id AS by FROM deliveries d JOIN deliveries r ON r.seq = d.resent_by ORDER BY d.seq")
      .all();
    expect(resent).toEqual([
      { id: "failed", by: "failed again" },
      { id: "failed again", by: "sent at last" },
      { id: "mail a", by: "mail a again" },
      { id: "judged by a person", by: "and resent" },
    ]);
    const counts = db
      .prepare("SELECT destination, state, count FROM delivery_counts WHERE count > 0 ORDER BY 1, 2")
      .all();
    expect(counts).toEqual([
      { destination: "chat", state: "failed", count: 1 },
      { destination: "chat", state: "sent", count: 1 },
      { destination: "mail", state: "expired", count: 1 },
      { destination: "mail", state: "sent", count: 2 },
      { destination: "ops", state: "held", count: 1 },
      { destination: "ops", state: "sent", count: 1 },
    ]);
  });
});

describe("a database from before repeats were decided at routing", () => {
  it("knows what came in the last two days, keeps what was counted, and gives the room of the old index back", async () => {
    const path = join(makeTempFolder(), "tocsin.db");
    const old = new Sqlite(path);
    const all = readMigrations();
    const before = all.findIndex(({ name }) => name.endsWith("_repeats.sql"));
    migrate(old, all.slice(0, before));
    const insertRequest = old.prepare(
      `INSERT INTO requests (seq, received_at, headers, body, fingerprint, items, dedupe_key, duplicates)
       VALUES (?, ?, '[]', ?, ?, 1, ?, ?)`,
    );
    const insertAlert = old.prepare(
      `INSERT INTO alerts (id, request_seq, item, origin, received_at, routed_at, route_failures, facts, decisions)
       VALUES (?, ?, 0, 'hook', ?, ?, ?, '{}', '[]')`,
    );
    const rows: [seq: number, hoursAgo: number, key: string | null, isRouted: boolean, failures: number][] = [
      [1, 72, null, true, 0],
      [2, 47, null, true, 0],
      [3, 5, "k", true, 0],
      [4, 4, null, true, 2],
      [5, 3, null, true, 0],
      [6, 0, null, false, 0],
    ];
    const ids = rows.map(([seq, hoursAgo, key, isRouted, failures]) => {
      const at = noon - hoursAgo * hour;
      const body = Buffer.from(`body ${seq}`);
      insertRequest.run(seq, at, body, BigInt(fingerprintOf(body)), key, seq === 5 ? 3 : 0);
      const id = newIdAt(at);
      insertAlert.run(id, seq, at, isRouted ? at : null, failures);
      return id;
    });
    old.close();

    const store = openLocalStore({ path, ballastBytes: 0 });
    onTestFinished(() => store.close());
    expect(await store.countDuplicates()).toBe(3);
    for (const seq of [1, 2, 3, 4, 5, 6])
      await store.acceptRequest(request({ receivedAt: noon + 1, body: Buffer.from(`body ${seq}`) }));
    const unrouted = (await store.listUnrouted(10, noon)).flatMap(({ alerts }) => alerts);
    expect(unrouted).toHaveLength(7);
    const recorded = await store.recordRouting(unrouted.map(({ seq }) => routed(seq, { repeatWindowMs: 48 * hour })));
    // What waited for routing is the first of its own repeat.
    expect(recorded.flatMap(({ repeatOf }) => repeatOf ?? [])).toEqual([ids[1], ids[4], ids[5]]);
    const db = new Sqlite(path, { readonly: true });
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'request_bodies%'").pluck().get()).toBe(0);
    db.close();
  });
});

describe("the declaration of a table that is changed in place", () => {
  it("loses its foreign key and nothing else, in a database that an earlier Tocsin has used", () => {
    const path = join(makeTempFolder(), "tocsin.db");
    writeFileSync(path, gunzipSync(readFileSync(new URL("../fixtures/databases/0a9fe3b.db.gz", import.meta.url))));
    const before = new Sqlite(path);
    onTestFinished(() => void before.close());
    const keysOf = (db: Database) =>
      (db.pragma("foreign_key_list(alerts)") as { table: string }[]).map(({ table }) => table);
    const columnsOf = (db: Database) => db.pragma("table_info(alerts)") as { name: string }[];
    const earlier = readMigrations().slice(0, 13);
    migrate(before, earlier);
    expect(keysOf(before)).toEqual(["requests"]);
    const [columns, rows] = [columnsOf(before), before.prepare("SELECT * FROM alerts").all()];
    // Its schema is read by then; it has to notice that another connection changes it.
    const [cookie] = before.pragma("schema_version") as [{ schema_version: number }];
    const db = openDatabase({ path, migrations: readMigrations().slice(0, 14) });
    onTestFinished(() => void db.close());
    for (const one of [db, before]) {
      expect(keysOf(one)).toEqual([]);
      expect(columnsOf(one)).toEqual(columns);
      expect(one.prepare("SELECT * FROM alerts").all()).toEqual(rows);
      expect(one.pragma("integrity_check", { simple: true })).toBe("ok");
      expect(one.pragma("foreign_key_check")).toEqual([]);
    }
    expect(before.pragma("schema_version")).not.toEqual([cookie]);
    // What it was for: a request goes without a look at all alerts.
    db.pragma("foreign_keys = ON");
    expect(
      db
        .prepare("EXPLAIN DELETE FROM requests WHERE seq = 1")
        .all()
        .map((row) => (row as { opcode: string }).opcode),
    ).not.toContain("Rewind");
    expect(() =>
      db.exec("INSERT INTO deliveries SELECT * FROM deliveries WHERE 0; DELETE FROM alerts WHERE seq = 1"),
    ).toThrow("FOREIGN KEY");
  });
});
