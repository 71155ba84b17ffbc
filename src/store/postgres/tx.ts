import { newNotes, type Notes } from "../signals.ts";
import { type ColumnKind, insertedColumns, type TableName, tables } from "../tables.ts";
import { type SharedMethods, type SharedName, type SharedTransactions, sharedWays } from "../transactions/index.ts";
import { noteChanges } from "./alert-changes.ts";
import {
  type Change,
  type Dialect,
  type Given,
  type Insertion,
  type InsertOptions,
  onConflict,
  type Statement,
  type Tx,
  type Values,
  withPlaces,
} from "../tx.ts";
import type { Database, Sql } from "./database.ts";
import { toText } from "./texts.ts";

export const typeNames: Record<ColumnKind, string> = {
  int4: "integer",
  int8: "bigint",
  text: "text",
  bytes: "bytea",
  flag: "boolean",
  time: "timestamptz",
  change: "xid8",
  texts: "text[]",
};

interface Prepared<G extends Given, Result> extends Statement<G, Result> {
  name: string;
  run: Compiled;
  look: Compiled;
  read(row: unknown): Result;
}

interface PreparedInsertion<Name extends TableName, G extends Given> extends Insertion<Name, G> {
  name: string;
  one: string;
  many: string;
  names: readonly string[];
  columns: readonly [name: string, kind: ColumnKind][];
}

interface PreparedChange<G extends Given> extends Change<G>, Compiled {
  name: string;
}

interface Compiled {
  sql: string;
  /** Of what is given, in the order of the parameters. */
  names: readonly string[];
}

/** @param first the number of the first parameter */
function toParameters(text: string, given: Given, first = 1): Compiled {
  const names = Object.keys(given);
  const sql = withPlaces(text, names, (name) => `$${first + names.indexOf(name)}::${typeOf(given, name)}`);
  return { sql, names };
}

const typeOf = (given: Given, name: string) => given[name]?.replace("int8", "bigint");

const givenName = (name: string): string => `given.given_${name}`;

/** Rows that are given, one array a column. */
function toUnnest(given: Given): string {
  const names = Object.keys(given);
  return `unnest(${names.map((name, index) => `$${index + 1}::${typeOf(given, name)}[]`).join(", ")}) WITH ORDINALITY
    AS given (${names.map((name) => `given_${name}`).join(", ")}, place)`;
}

/** For each given row what the statement finds. */
function toLook(text: string, given: Given): Compiled {
  const names = Object.keys(given);
  return {
    sql: `SELECT given.place - 1 AS place, found.* FROM ${toUnnest(given)}
      CROSS JOIN LATERAL (${withPlaces(text, names, givenName)}) AS found`,
    names,
  };
}

export const postgresDialect: Dialect = {
  isShared: true,
  forKeyShare: "FOR KEY SHARE",
  forUpdate: (order) => `ORDER BY ${order} FOR NO KEY UPDATE`,
  indexedBy: () => "",
  statusOf: (alert) => `${alert}.status`,
  limit: (name) => `LIMIT ${name}`,
  isOneOf: (list) => `= ANY(${list})`,
  isIn: (query) => `= ANY(ARRAY(${query}))`,
  change<G extends Given>(name: string, table: TableName, given: G, set: string): PreparedChange<G> {
    const all: Given = { seq: "int8", ...given };
    const names = Object.keys(all);
    return {
      name,
      given,
      names,
      sql: `WITH mine AS MATERIALIZED (SELECT seq FROM ${table} WHERE seq = ANY($1::bigint[]) ORDER BY seq FOR NO KEY UPDATE)
        UPDATE ${table} SET ${withPlaces(set, names, givenName)} FROM ${toUnnest(all)}
        WHERE ${table}.seq = given.given_seq AND ${table}.seq = ANY(ARRAY(SELECT seq FROM mine))`,
    };
  },
  statement<G extends Given, Stored, Result>(
    name: string,
    given: G,
    text: Parameters<Dialect["statement"]>[2],
    read: (row: Stored) => Result,
  ): Prepared<G, Result> {
    const own = typeof text === "string" ? text : text.postgres;
    return {
      given,
      name,
      run: toParameters(own, given),
      look: toLook(own, given),
      read: read as (row: unknown) => Result,
    };
  },
  insertion<Name extends TableName, G extends Given>(
    name: string,
    table: Name,
    { where, ...options }: InsertOptions<G> = {},
  ): PreparedInsertion<Name, G> {
    const columns = insertedColumns(table);
    const listed = columns.map(([name]) => name).join(", ");
    const key = tables[table].key.join(", ");
    const isGivenKey = tables[table].key.every((name) => columns.some(([column]) => column === name));
    const condition = toParameters(where?.text ?? "true", where?.given ?? {}, columns.length + 1);
    const places = (suffix: string) =>
      columns.map(([, kind], index) => `$${index + 1}::${typeNames[kind]}${suffix}`).join(", ");
    const write = (from: string) => `INSERT INTO ${table} (${listed}) ${from}${onConflict(table, options)}`;
    return {
      name,
      table,
      given: where?.given as G,
      columns,
      names: condition.names,
      one: write(`SELECT ${places("")} WHERE ${condition.sql}`),
      // In one order, so that no two relays wait for each other.
      many: write(
        `SELECT ${listed} FROM unnest(${places("[]")}) WITH ORDINALITY AS given (${listed}, place)
         WHERE ${condition.sql} ORDER BY ${isGivenKey ? key : "place"}`,
      ),
    };
  },
};

const toValue = (value: unknown): unknown => {
  if (typeof value === "string") return toText(value);
  return Array.isArray(value) ? value.map(toValue) : (value ?? null);
};

/** One array a column. */
export const toArrays = (names: readonly string[], items: readonly Record<string, unknown>[]): unknown[][] =>
  names.map((name) => items.map((item) => toValue(item[name])));

/** What a shared transaction is given, over what is asked here. */
export function toTx(sql: Sql, notes: Notes = newNotes()): Tx {
  return {
    notes,
    async run<G extends Given, Result>(statement: Statement<G, Result>, values: Values<G>) {
      const { name, run, read } = statement as Prepared<G, Result>;
      const { rows } = await sql.query(
        run.sql,
        run.names.map((given) => toValue(values[given])),
        name,
      );
      return rows.map(read);
    },
    async look<G extends Given, Result>(statement: Statement<G, Result>, items: readonly Values<G>[]) {
      const found = items.map((): Result[] => []);
      if (items.length === 0) return found;
      const { name, look, read } = statement as Prepared<G, Result>;
      const { rows } = await sql.query<{ place: number }>(look.sql, toArrays(look.names, items), `${name}: each`);
      for (const row of rows) found[row.place]?.push(read(row));
      return found;
    },
    async insert<Name extends TableName, G extends Given>(
      insertion: Insertion<Name, G>,
      rows: readonly Record<string, unknown>[],
      values: Values<G>,
    ) {
      if (rows.length === 0) return 0;
      const { name, one, many, columns, names } = insertion as PreparedInsertion<Name, G>;
      const [first] = rows;
      const given = names.map((each) => toValue(values[each]));
      const { rowCount } = await (rows.length === 1
        ? sql.query(one, [...columns.map(([column]) => toValue(first?.[column])), ...given], name)
        : sql.query(
            many,
            [
              ...toArrays(
                columns.map(([column]) => column),
                rows,
              ),
              ...given,
            ],
            `${name}: each`,
          ));
      return rowCount;
    },
    async change<G extends Given>(change: Change<G>, items: readonly (Values<G> & { seq: number })[]) {
      if (items.length === 0) return;
      const { name, sql: text, names } = change as PreparedChange<G>;
      await sql.query(text, toArrays(names, items), name);
    },
    async changed(alertSeqs) {
      if (alertSeqs.length === 0) return;
      notes.changed = true;
      await noteChanges(sql, alertSeqs);
    },
  };
}

export function bindShared(
  { single, statement, transaction }: Database,
  read: Sql,
  shared: SharedTransactions,
): SharedMethods {
  const methods = Object.entries(shared).map(([name, work]) => {
    const run = work as (tx: Tx, ...args: unknown[]) => Promise<unknown>;
    const ways = {
      read: (...args: unknown[]) => run(toTx(read), ...args),
      look: (...args: unknown[]) => run(toTx(single), ...args),
      statement: (...args: unknown[]) => statement((tx) => run(toTx(tx, tx.notes), ...args)),
      transaction: (...args: unknown[]) => transaction((tx) => run(toTx(tx, tx.notes), ...args)),
    };
    return [name, ways[sharedWays[name as SharedName]]];
  });
  return Object.fromEntries(methods) as SharedMethods;
}
