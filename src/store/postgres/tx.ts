import { newNotes, type Notes } from "../signals.ts";
import { type ColumnKind, insertedColumns, type TableName, tables } from "../tables.ts";
import { type SharedName, type SharedTransactions, sharedWays } from "../transactions/index.ts";
import {
  type Dialect,
  type Given,
  type Insertion,
  type InsertOptions,
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

interface PreparedInsertion<Name extends TableName, G extends Given> extends Insertion<Name, G>, Compiled {
  name: string;
  columns: readonly [name: string, kind: ColumnKind][];
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

/** For each given row what the statement finds. */
function toLook(text: string, given: Given): Compiled {
  const names = Object.keys(given);
  const arrays = names.map((name, index) => `$${index + 1}::${typeOf(given, name)}[]`).join(", ");
  return {
    sql: `SELECT given.place - 1 AS place, found.* FROM unnest(${arrays}) WITH ORDINALITY
        AS given (${names.map((name) => `given_${name}`).join(", ")}, place)
      CROSS JOIN LATERAL (${withPlaces(text, names, (name) => `given.given_${name}`)}) AS found`,
    names,
  };
}

export const postgresDialect: Dialect = {
  forKeyShare: "FOR KEY SHARE",
  limit: (name) => `LIMIT ${name}`,
  isOneOf: (list) => `= ANY(${list})`,
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
    { conflict, where }: InsertOptions<G> = {},
  ): PreparedInsertion<Name, G> {
    const columns = insertedColumns(table);
    const listed = columns.map(([name]) => name).join(", ");
    const key = tables[table].key.join(", ");
    const onConflict = {
      replace: ` ON CONFLICT (${key}) DO UPDATE SET ${columns.map(([name]) => `${name} = excluded.${name}`).join(", ")}`,
      keep: ` ON CONFLICT (${key}) DO NOTHING`,
    };
    const arrays = columns.map(([, kind], index) => `$${index + 1}::${typeNames[kind]}[]`).join(", ");
    const condition = toParameters(where?.text ?? "true", where?.given ?? {}, columns.length + 1);
    return {
      name,
      table,
      given: where?.given as G,
      columns,
      // In one order, so that no two relays wait for each other.
      sql: `INSERT INTO ${table} (${listed}) SELECT ${listed} FROM unnest(${arrays}) AS given (${listed})
        WHERE ${condition.sql} ORDER BY ${key}${conflict === undefined ? "" : onConflict[conflict]}`,
      names: condition.names,
    };
  },
};

const toValue = (value: unknown): unknown => {
  if (typeof value === "string") return toText(value);
  return Array.isArray(value) ? value.map(toValue) : (value ?? null);
};

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
      const arrays = look.names.map((given) => items.map((item) => toValue(item[given])));
      const { rows } = await sql.query<{ place: number }>(look.sql, arrays, `${name}: each`);
      for (const row of rows) found[row.place]?.push(read(row));
      return found;
    },
    async insert<Name extends TableName, G extends Given>(
      insertion: Insertion<Name, G>,
      rows: readonly Record<string, unknown>[],
      values: Values<G>,
    ) {
      if (rows.length === 0) return 0;
      const { name, sql: text, columns, names } = insertion as PreparedInsertion<Name, G>;
      const arrays = columns.map(([column]) => rows.map((row) => toValue(row[column])));
      const { rowCount } = await sql.query(text, [...arrays, ...names.map((given) => toValue(values[given]))], name);
      return rowCount;
    },
  };
}

/** Each as its port has it. */
type Methods = {
  [N in SharedName]: SharedTransactions[N] extends (tx: Tx, ...args: infer Args) => infer Result
    ? (...args: Args) => Result
    : never;
};

export function bindShared(
  { single, statement, transaction }: Database,
  read: Sql,
  shared: SharedTransactions,
): Methods {
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
  return Object.fromEntries(methods) as Methods;
}
