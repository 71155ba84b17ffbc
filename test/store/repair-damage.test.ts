import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, expect, test } from "vitest";
import { writeStoredLog } from "../../bench/stored-log.ts";
import { AppError } from "../../src/core/errors.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { type Repair, repairDatabase } from "../../src/store/sqlite/repair-database.ts";
import { Sqlite, withSqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { damageTable } from "../support/damage-table.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const alerts = 400;
const pageSize = 4096;
/** Ids are random, so the file has some pages more or less in each run: a seed stands for the same bytes in all. */
const pagesOfAnyLog = 240;
/** Tables whose rows have positions: what a log consists of. */
const tables = ["requests", "alerts", "deliveries", "attempts"];

const whole = join(makeTempFolder(afterAll), "tocsin.db");
writeStoredLog({ path: whole, alerts });

type Row = Record<string, unknown>;

/**
 * The rows that SQLite can still read, found without Tocsin: the table from its start and from its end up to the first error,
 * and each position by itself.
 */
function readableRows(path: string, table: string, last: number): Map<number, Row> {
  const found = new Map<number, Row>();
  const db = new Sqlite(path, { readonly: true });
  const keep = (row?: Row) => {
    if (row !== undefined && !found.has(row.seq as number)) found.set(row.seq as number, row);
  };
  const tryTo = (read: () => void) => {
    try {
      read();
    } catch {
      // What comes after it is looked for by the other ways.
    }
  };
  tryTo(() => {
    const one = db.prepare<[number], Row>(`SELECT * FROM ${table} NOT INDEXED WHERE seq = ?`);
    for (let seq = 1; seq <= last; seq += 1) tryTo(() => keep(one.get(seq)));
  });
  for (const order of ["ASC", "DESC"]) {
    tryTo(() => {
      for (const row of db.prepare<[], Row>(`SELECT * FROM ${table} NOT INDEXED ORDER BY seq ${order}`).iterate())
        keep(row);
    });
  }
  db.close();
  return found;
}

const ask = (sql: string, path = whole): unknown =>
  withSqlite(path, { readonly: true }, (db) => db.prepare(sql).pluck().get());

/** As a failing disk leaves a file. */
const damages: Record<string, (file: Buffer, random: SeededRandom) => void> = {
  "pages of zeros": (file, random) => fillPages(file, random, 3, () => 0),
  "pages of 0xAB": (file, random) => fillPages(file, random, 6, () => 0xab),
  "pages of random bytes": (file, random) => fillPages(file, random, 4, () => random.below(256)),
  "single bytes": (file, random) => {
    // Not the file's own head: it is damage of another kind, see below.
    for (let count = 0; count < 40; count += 1)
      file[pageSize + random.below(pagesOfAnyLog * pageSize)] = random.below(256);
  },
};

function fillPages(file: Buffer, random: SeededRandom, most: number, byte: () => number): void {
  for (let count = 1 + random.below(most); count > 0; count -= 1) {
    const page = 1 + random.below(file.length / pageSize - 1);
    for (let at = page * pageSize; at < (page + 1) * pageSize; at += 1) file[at] = byte();
  }
}

function copyOfWhole(change: (file: Buffer) => void = () => {}): string {
  const path = join(makeTempFolder(), "tocsin.db");
  const bytes = readFileSync(whole);
  change(bytes);
  writeFileSync(path, bytes, { mode: 0o600 });
  return path;
}

const countOf = (repair: Repair, name: string) => {
  const table = repair.tables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`nothing is said of ${name}`);
  return table;
};

const trials = Object.keys(damages).flatMap((kind) =>
  Array.from({ length: 8 }, (_, index) => ({ kind, seed: index + 1 })),
);

const original = new Map(tables.map((table) => [table, readableRows(whole, table, 0)]));

test.each(trials)(
  "after $kind (seed $seed) each row that SQLite can read is there, and what is missing is said",
  async ({ kind, seed }) => {
    const path = copyOfWhole((file) => damages[kind]?.(file, createSeededRandom(seed)));
    const before = new Map(
      tables.map((table) => [table, readableRows(path, table, ask(`SELECT max(seq) FROM ${table}`) as number)]),
    );
    const isReadable = (before.get("alerts")?.size ?? 0) > 0;
    const outcome = await repairDatabase(path, 0).catch((error: unknown) => error);
    if (outcome instanceof Error) {
      expect(isReadable, String(outcome)).toBe(false);
      expect(outcome).toBeInstanceOf(AppError);
      return;
    }
    const repair = outcome as Repair;
    if (repair.found.length === 0) return;
    const saved = new Map(tables.map((table) => [table, readableRows(path, table, 0)]));
    const has = (table: string, seq: unknown) => saved.get(table)?.has(seq as number) ?? false;
    for (const table of tables) {
      const said = countOf(repair, table);
      const [was, is] = [before.get(table), saved.get(table)] as [Map<number, Row>, Map<number, Row>];
      // What belongs to a lost row is counted with it.
      const isOfLost = (row: Row) =>
        (table === "deliveries" && !has("alerts", row.alert_seq)) ||
        (table === "attempts" && !has("deliveries", row.delivery_seq));
      const lacking = [...was.values()].filter((row) => !isOfLost(row) && !is.has(row.seq as number));
      expect(lacking.length, table).toBeLessThanOrEqual(said.unfit);
      for (const [seq, row] of original.get(table) as Map<number, Row>) {
        const isWhole = was.has(seq) && JSON.stringify(was.get(seq)) === JSON.stringify(row);
        const mended = "resent_by" in row ? { ...is.get(seq), resent_by: row.resent_by } : is.get(seq);
        // Thousands of rows are alike, which `toEqual` takes long to find.
        if (isWhole && is.has(seq) && !isDeepStrictEqual(mended, row)) expect(mended).toEqual(row);
        if (isWhole && !is.has(seq)) expect(lacking.map((one) => one.seq).includes(seq), `${table} ${seq}`).toBe(false);
        const isMissing = !is.has(seq) && !was.has(seq) && !isOfLost(row);
        if (isMissing) expect(said.lost.length + said.unfit, `${table} ${seq}`).toBeGreaterThan(0);
      }
    }
    const store = openLocalStore({ path, ballastBytes: 0 });
    await store.maintain(0);
    const page = await store.listAlerts({ limit: 1000 });
    await store.close();
    expect(page.length).toBe(saved.get("alerts")?.size);
  },
);

test("keeps an alert whose facts are damaged, with its body and deliveries, and counts it", async () => {
  const path = copyOfWhole((file) => {
    // As they stand in the file: what looks like facts may as well lie in a page that is free.
    file.write("\0\0", file.indexOf(ask(`SELECT facts FROM alerts WHERE seq = ${alerts / 2}`) as string));
  });
  const repair = await repairDatabase(path, 0);
  expect(repair.found).toEqual([expect.stringContaining("malformed JSON")]);
  expect(countOf(repair, "alerts")).toMatchObject({ rows: alerts, lost: [], unfit: 0, withoutText: 1 });
  const damaged = `SELECT group_concat(facts ->> '$.title') FROM alerts
    WHERE facts ->> '$.format' = 'text' AND facts ->> '$.notes[0]' LIKE '%damaged on the disk%'`;
  expect(ask(damaged, path)).toBe("Alert with damaged facts");
});

test("a damaged list of free pages costs no row", async () => {
  const path = copyOfWhole();
  withSqlite(path, {}, (db) => db.exec("CREATE TABLE gone AS SELECT * FROM requests; DROP TABLE gone"));
  const free = readFileSync(path).readUInt32BE(32);
  expect(free).toBeGreaterThan(0);
  overwrite(path, (free - 1) * pageSize, Buffer.alloc(pageSize, 0xab));
  const repair = await repairDatabase(path, 0);
  expect(repair.found.length).toBeGreaterThan(0);
  expect(countOf(repair, "alerts")).toMatchObject({ rows: alerts, lost: [], unfit: 0 });
});

test.each(["requests", "deliveries", "attempts", "deliveries_by_state"])(
  "the first page of %s costs no other table a row",
  async (name) => {
    const path = copyOfWhole();
    damageTable(path, name);
    const repair = await repairDatabase(path, 0);
    expect(countOf(repair, "alerts")).toMatchObject({ rows: alerts, lost: [] });
    const hasLost = repair.tables.filter(({ lost }) => lost.length > 0).map((table) => table.name);
    expect(hasLost).toEqual(name === "deliveries_by_state" ? [] : [name]);
  },
);

const listOfTables = "the list of tables of";

function misspellColumn(path: string): void {
  // Pages of before, which SQLite has left as they are, have it too.
  const file = readFileSync(path).toString("latin1");
  writeFileSync(path, file.replaceAll("alert_key TEXT", "alert_kex TEXT"), "latin1");
}

test.each([
  ["the first page of the alerts", (path: string) => damageTable(path, "alerts"), "no alert of"],
  ["the file's head", (path: string) => overwrite(path, 0, Buffer.alloc(100, 0xab)), listOfTables],
  ["the rest of its first page", (path: string) => overwrite(path, 100, Buffer.alloc(3_996, 0xab)), listOfTables],
  ["the name of a column", misspellColumn, listOfTables],
] as const)("damage to %s changes nothing and names the backup", async (_, damage, words) => {
  const path = copyOfWhole();
  damage(path);
  const before = readFileSync(path);
  const error = (await repairDatabase(path, 0).catch((caught: unknown) => caught)) as AppError;
  expect(error).toBeInstanceOf(AppError);
  expect(error.message).toContain(words);
  expect(error.hint).toContain("tocsin restore FILE");
  expect(readFileSync(path).equals(before)).toBe(true);
});

function overwrite(path: string, at: number, bytes: Buffer): void {
  const file = openSync(path, "r+");
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}
