import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { type Migration, migrate, readMigrations } from "../../src/store/sqlite/migrate.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { Sqlite, withSqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const migration = (number: number, sql: string): Migration => ({ number, name: `000${number}_test.sql`, sql });

function folderWith(...names: string[]): URL {
  const folder = makeTempFolder();
  for (const name of names) writeFileSync(join(folder, name), "SELECT 1;");
  return pathToFileURL(`${folder}/`);
}

it("migrations are read in the order of their numbers, and nothing else of the folder is", () => {
  const from = folderWith("0002_b.sql", "0001_a.sql", "notes.md", "0003_c.sql.bak");
  expect(readMigrations(from).map(({ number, name }) => `${number} ${name}`)).toEqual(["1 0001_a.sql", "2 0002_b.sql"]);
});

it("migrations begin at the number of the first, and refuse a missing and a doubled number", () => {
  expect(readMigrations(folderWith("0007_a.sql", "0008_b.sql")).map(({ number }) => number)).toEqual([7, 8]);
  const missing = "migration 8 is missing before 0009_b.sql";
  expect(() => readMigrations(folderWith("0007_a.sql", "0009_b.sql"))).toThrow(missing);
  expect(() => readMigrations(folderWith("0001_a.sql", "0001_b.sql"))).toThrow("migration 2 is missing");
});

it("migrations run once each, from where the database is", () => {
  const db = new Sqlite(":memory:");
  onTestFinished(() => void db.close());
  const first = migration(1, "CREATE TABLE a (x ANY) STRICT");
  migrate(db, [first]);
  migrate(db, [first, migration(2, "CREATE TABLE b (x ANY) STRICT")]);
  migrate(db, [first, migration(2, "CREATE TABLE b (x ANY) STRICT")]);
  expect(db.pragma("user_version", { simple: true })).toBe(2);
});

it("migrations that fail leave the database as it was, and say which statement it was", () => {
  const db = new Sqlite(":memory:");
  onTestFinished(() => void db.close());
  const first = migration(1, "CREATE TABLE a (x ANY) STRICT; INSERT INTO a VALUES (1)");
  const broken = migration(2, "CREATE TABLE b (x ANY) STRICT; DELETE FROM a; INSERT INTO missing VALUES (1)");
  migrate(db, [first]);
  expect(() => migrate(db, [first, broken])).toThrow("0002_test.sql");
  expect(db.pragma("user_version", { simple: true })).toBe(1);
  expect(db.prepare("SELECT count(*) FROM a").pluck().get()).toBe(1);
  expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'b'").pluck().get()).toBe(0);
  expect(db.inTransaction).toBe(false);
});

function makeDatabase(version: number): string {
  const path = join(makeTempFolder(), "tocsin.db");
  withSqlite(path, {}, (db) =>
    db.exec(`CREATE TABLE from_the_future (x ANY) STRICT; PRAGMA user_version = ${version}`),
  );
  return path;
}

const refuses = (options: Parameters<typeof openDatabase>[0], refusal: object) =>
  expect(() => openDatabase(options)).toThrow(expect.objectContaining(refusal));

it("a database of another version that is newer is refused and left byte for byte as it is", () => {
  const path = makeDatabase(99);
  const before = readFileSync(path);
  const { mtimeMs } = statSync(path);
  const message = `The database is of version 99; this Tocsin knows versions up to ${readMigrations().at(-1)?.number}.`;
  for (const readOnly of [false, true]) refuses({ path, readOnly }, { code: "store_too_new", message });
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(statSync(path).mtimeMs).toBe(mtimeMs);
  expect(readdirSync(join(path, ".."))).toEqual(["tocsin.db"]);
});

it("a database of another version that is older than the first migration is refused, with the version that brings it there", () => {
  const hint = expect.stringContaining("3fde4bbc");
  for (const readOnly of [false, true]) refuses({ path: makeDatabase(18), readOnly }, { code: "failed", hint });
});

it("a database of another version that is older is not read without being brought up to date", () => {
  const hint = expect.stringContaining("tocsin serve");
  refuses({ path: makeDatabase(0), readOnly: true }, { code: "failed", hint });
});

it("a database of another version that is no database is refused with words for people", () => {
  const path = join(makeTempFolder(), "tocsin.db");
  writeFileSync(path, "this is a letter, not a database, and it is longer than a header ".repeat(20));
  const message = expect.stringContaining("is not a database, or it is damaged");
  refuses({ path }, { code: "store_unavailable", message });
});
