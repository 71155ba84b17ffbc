import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { readMigrations as readPostgresMigrations } from "../../../src/store/postgres/migrate.ts";
import { readMigrations as readSqliteMigrations } from "../../../src/store/sqlite/migrate.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { type Column, type ColumnKind, tables } from "../../../src/store/tables.ts";
import { makePostgresDatabase, runSql } from "../../support/postgres.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";
import { migrateOnly, neverNull } from "./open-relays.ts";

type Found = { table: string; name: string; type: string; nullable: boolean; place: number | null };

type Driver = keyof typeof neverNull;

/** Tables that hold what one database needs for itself. */
const own: Record<Driver, string[]> = {
  sqlite: [
    ...["alerts_search", "alerts_search_config", "alerts_search_data", "alerts_search_docsize", "alerts_search_idx"],
    ...["delivery_counts", "duplicate_count", "removed_alerts", "search_cursor", "search_parts", "statistics_start"],
  ],
  postgres: [
    ...["alert_changes", "alert_words", "allowances", "configurations", "kept_records", "late_spans", "migrations"],
    ...["readings", "relay_requests", "relays", "search_queue", "statistics_start", "tallies", "write_checks"],
  ],
};

const types: Record<Driver, Record<ColumnKind, string>> = {
  sqlite: {
    ...{ int4: "INTEGER", int8: "INTEGER", text: "TEXT", bytes: "BLOB", flag: "INTEGER", time: "INTEGER" },
    ...{ change: "none", texts: "none" },
  },
  postgres: {
    ...{ int4: "integer", int8: "bigint", text: "text", bytes: "bytea", flag: "boolean" },
    ...{ time: "timestamp with time zone", change: "xid8", texts: "text[]" },
  },
};

/** PostgreSQL adds rows to it, so that no two relays wait for one, and adds them up later. */
const withoutKey: Record<Driver, string[]> = { sqlite: [], postgres: ["route_hours"] };

const listed = (driver: Driver): string[] =>
  Object.entries(tables).flatMap(([table, { columns, key, only }]) =>
    only !== undefined && only !== driver
      ? []
      : Object.entries<Column>(columns).flatMap(([name, column]) => {
          if (column.only !== undefined && column.only !== driver) return [];
          const isNullable = column.isNullable === true && !neverNull[driver].includes(`${table}.${name}`);
          return describeColumn({
            table,
            name,
            type: types[driver][column.kind],
            nullable: isNullable,
            place: (!withoutKey[driver].includes(table) && key.indexOf(name as never) + 1) || null,
          });
        }),
  );

const describeColumn = ({ table, name, type, nullable, place }: Found): string =>
  `${table}.${name} ${type}${nullable ? ", may be null" : ""}${place === null ? "" : `, key ${place}`}`;

const withoutOwn = (driver: Driver, found: Found[]): string[] => {
  expect([...new Set(found.map(({ table }) => table))]).toEqual(expect.arrayContaining(own[driver]));
  return found.filter(({ table }) => !own[driver].includes(table)).map(describeColumn);
};

it.each([
  ["sqlite", readSqliteMigrations, "539d5f501a86"],
  ["postgres", readPostgresMigrations, "0926753533a0"],
])("the list of tables defines what the migrations of %s have made since they were written", (_driver, read, hash) => {
  const definitions = read().flatMap(({ number, sql }) =>
    number <= 27 && sql.includes("CREATE TABLE") ? sql.replaceAll(/^ *--.*\n/gm, "") : [],
  );
  expect(createHash("sha256").update(definitions.join("\n")).digest("hex").slice(0, 12)).toBe(hash);
});

it("the list of tables has every column of SQLite", () => {
  const db = openDatabase({ path: join(makeTempFolder(), "tocsin.db") });
  onTestFinished(() => void db.close());
  const found = db
    .prepare<[], Found>(
      `SELECT t.name AS "table", c.name, c.type, c."notnull" = 0 AND c.pk = 0 AS nullable, nullif(c.pk, 0) AS place
         FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'`,
    )
    .all();
  expect(withoutOwn("sqlite", found).sort()).toEqual(listed("sqlite").sort());
});

it("the list of tables has every column of PostgreSQL", async () => {
  const url = await makePostgresDatabase();
  await migrateOnly(url);
  const found = await runSql<Found>(
    url,
    `SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, NULL) AS type, NOT a.attnotnull AS nullable,
         (SELECT array_position(k.conkey, a.attnum) FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p') AS place
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'`,
  );
  expect(withoutOwn("postgres", found).sort()).toEqual(listed("postgres").sort());
});
