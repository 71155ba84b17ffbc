import { type Notes, newNotes } from "../signals.ts";
import { insertedColumns, tables } from "../tables.ts";
import { type SharedMethods, type SharedName, type SharedTransactions, sharedWays } from "../transactions/index.ts";
import {
  type Dialect,
  type Given,
  onConflict,
  type StepOptions,
  type Stepped,
  type StepRow,
  type Tx,
  toInsert,
  valuesOf,
  type WhichLanes,
  withPlaces,
} from "../tx.ts";
import { wordsOf } from "../words.ts";
import { noteChanges, notedChanges } from "./alert-changes.ts";
import type { Database, Sql } from "./database.ts";
import { toArrays, toValue, typeNames } from "./parameters.ts";
import { routeAlerts, storeRequests } from "./writing.ts";

interface PreparedStatement {
  run: Compiled;
  look: Compiled;
  read(row: unknown): never;
}

interface PreparedInsertion {
  one: string;
  many: string;
  names: readonly string[];
  columns: readonly string[];
}

interface Compiled {
  sql: string;
  /** The given values, in the order of the parameters. */
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

/** The given rows, one array for each column. @param first the number of the first parameter */
function toUnnest(given: Given, first = 1): string {
  const names = Object.keys(given);
  return `unnest(${names.map((name, index) => `$${index + first}::${typeOf(given, name)}[]`).join(", ")}) WITH ORDINALITY
    AS given (${names.map((name) => `given_${name}`).join(", ")}, place)`;
}

/** Finds the rows of the statement for each given row. */
function toLook(text: string, given: Given): Compiled {
  const names = Object.keys(given);
  return {
    sql: `SELECT given.place - 1 AS place, found.* FROM ${toUnnest(given)}
      CROSS JOIN LATERAL (${withPlaces(text, names, givenName)} OFFSET 0) AS found`,
    names,
  };
}

/** The given lanes whose fences are held. They stay held until the transaction has ended. */
const heldLanes = (which: WhichLanes) => `
  held AS MATERIALIZED (
    SELECT lanes.fence FROM lanes JOIN unnest($1::text[], $2::bigint[]) AS asked (lane_group, fence) USING (lane_group, fence)
    ORDER BY lanes.lane_group FOR KEY SHARE OF lanes${which === "free" ? " SKIP LOCKED" : ""})`;

/** A step is one statement, since each statement costs more than its content. */
function toStep<G extends Given, Stored extends StepRow, Result>(options: StepOptions<G, Stored, Result>) {
  const { given, set, where, log, memory, find } = options;
  const all: Given = { seq: "int8", fence: "int8", ...given };
  const names = Object.keys(all);
  const parts: string[] = [];
  if (log !== undefined) {
    const values = withPlaces(valuesOf(log), names, givenName);
    parts.push(`logged AS (${toInsert(log)} SELECT ${values} FROM given ORDER BY place)`);
  }
  if (memory !== undefined) {
    const key = tables[memory.table].key.map((column) => memory.values[column]).join(", ");
    const values = withPlaces(valuesOf(memory), names, (given) => `d.given_${given}`);
    parts.push(`saved AS (${toInsert(memory)} SELECT DISTINCT ON (${key}) ${values}
      FROM changed d JOIN alerts a ON a.seq = d.alert_seq AND a.seq = ANY(ARRAY(SELECT alert_seq FROM changed))
      WHERE d.given_${memory.when} = 1 ORDER BY ${key}, d.place DESC${onConflict(memory.table, { conflict: "replace" })})`);
  }
  parts.push(notedChanges(log ? "SELECT logged_alert_seq FROM given" : "SELECT alert_seq FROM changed"));
  const answer = find ? `, ${find.columns}` : "";
  const toText = (which: WhichLanes) => `
    WITH ${heldLanes(which)},
    given AS MATERIALIZED (
      SELECT given.*${log ? ", d.alert_seq AS logged_alert_seq" : ""} FROM ${toUnnest(all, 3)}
      ${log ? "JOIN deliveries d ON d.seq = given_seq AND d.seq = ANY($3::bigint[])" : ""}
      ${which === "free" ? "WHERE given_fence IN (SELECT fence FROM held)" : ""}),
    mine AS MATERIALIZED (
      SELECT seq FROM deliveries WHERE seq = ANY(ARRAY(SELECT given_seq FROM given JOIN held ON held.fence = given_fence))
      ORDER BY seq FOR NO KEY UPDATE),
    changed AS (
      UPDATE deliveries d SET ${withPlaces(set, names, givenName)} FROM given
      WHERE d.seq = given_seq AND d.seq = ANY(ARRAY(SELECT seq FROM mine)) AND ${withPlaces(where, names, givenName)}
      RETURNING d.*, given.*),
    ${parts.join()}
    ${
      log
        ? `SELECT place - 1 AS place, place = ANY(ARRAY(SELECT place FROM changed)) AS is_changed FROM given`
        : `SELECT d.place - 1 AS place, true AS is_changed${answer} FROM changed d ${find?.joins.postgres ?? ""} ORDER BY d.place`
    }`;
  const read = find?.read as ((row: unknown) => never) | undefined;
  return { names, all: toText("all"), free: toText("free"), read };
}

export const postgresDialect: Dialect = {
  ...wordsOf("postgres"),
  change(table, given, set) {
    const all: Given = { seq: "int8", ...given };
    const names = Object.keys(all);
    const sql = `WITH mine AS MATERIALIZED (SELECT seq FROM ${table} WHERE seq = ANY($1::bigint[]) ORDER BY seq FOR NO KEY UPDATE)
      UPDATE ${table} SET ${withPlaces(set, names, givenName)} FROM ${toUnnest(all)}
      WHERE ${table}.seq = given.given_seq AND ${table}.seq = ANY(ARRAY(SELECT seq FROM mine))`;
    return { given, prepared: { names, sql } satisfies Compiled };
  },
  statement(given, text, read = (row) => row as never) {
    const own = typeof text === "string" ? text : text.postgres;
    return { given, prepared: { run: toParameters(own, given), look: toLook(own, given), read } };
  },
  insertion(table, { where, ...options } = {}) {
    const columns = insertedColumns(table);
    const listed = columns.map(([name]) => name);
    const { key } = tables[table];
    const isGivenKey = key.every((name) => listed.includes(name));
    const condition = toParameters(where?.text ?? "true", where?.given ?? {}, columns.length + 1);
    const places = (suffix: string) =>
      columns.map(([, kind], index) => `$${index + 1}::${typeNames[kind]}${suffix}`).join(", ");
    const write = (from: string) => `INSERT INTO ${table} (${listed.join(", ")}) ${from}${onConflict(table, options)}`;
    const prepared: PreparedInsertion = {
      ...{ columns: listed, names: condition.names },
      one: write(`SELECT ${places("")} WHERE ${condition.sql}`),
      // Changed in one order, so that no two relays wait for each other.
      many: write(
        `SELECT ${listed.join(", ")} FROM unnest(${places("[]")}) WITH ORDINALITY AS given (${listed.join(", ")}, place)
         WHERE ${condition.sql} ORDER BY ${isGivenKey ? key.join(", ") : "place"}`,
      ),
    };
    return { table, given: where?.given as never, prepared };
  },
  step: (options) => ({ given: options.given, prepared: toStep(options) }),
};

/** The `Tx` of a shared transaction, over this driver's statements. */
export function toTx(sql: Sql, notes: Notes = newNotes()): Tx {
  return {
    notes,
    async run({ prepared }, values) {
      const { run, read } = prepared as PreparedStatement;
      const { rows } = await sql.query(run.sql, toList(run.names, values));
      return rows.map(read);
    },
    async look({ prepared }, items) {
      const found = items.map((): never[] => []);
      if (items.length === 0) return found;
      const { look, read } = prepared as PreparedStatement;
      const { rows } = await sql.query<{ place: number }>(look.sql, toArrays(look.names, items));
      for (const row of rows) found[row.place]?.push(read(row));
      return found;
    },
    async insert({ prepared }, rows: readonly Record<string, unknown>[], values) {
      const [first, ...others] = rows;
      if (first === undefined) return 0;
      const { one, many, columns, names } = prepared as PreparedInsertion;
      const given = toList(names, values);
      const { rowCount } = await (others.length === 0
        ? sql.query(one, [...toList(columns, first), ...given])
        : sql.query(many, [...toArrays(columns, rows), ...given]));
      return rowCount;
    },
    async change({ prepared }, items) {
      if (items.length === 0) return;
      const { sql: text, names } = prepared as Compiled;
      await sql.query(text, toArrays(names, items));
    },
    async step({ prepared }, items, which = "all") {
      const stepped = items.map((): Stepped<never> | undefined => undefined);
      if (items.length === 0) return stepped;
      const { names, read, [which]: text } = prepared as ReturnType<typeof toStep>;
      const lanes = [...new Map(items.map(({ group, fence }) => [fence, group]))];
      const held = [lanes.map(([, group]) => group), lanes.map(([fence]) => fence)];
      const given = [...held, ...toArrays(names, items)];
      const { rows } = await sql.query<{ place: number; is_changed: boolean }>(text, given);
      if (rows.length > 0) notes.changed = true;
      for (const row of rows)
        stepped[row.place] = row.is_changed ? { isChanged: true, found: read?.(row) } : { isChanged: false };
      return stepped;
    },
    storeRequests: (requests, from) => storeRequests(sql, requests, from, notes),
    routeAlerts: (alerts) => routeAlerts(sql, alerts, notes),
    async changed(alertSeqs) {
      if (alertSeqs.length === 0) return;
      notes.changed = true;
      await noteChanges(sql, alertSeqs);
    },
  };
}

const toList = (names: readonly string[], values: Record<string, unknown>): unknown[] =>
  names.map((name) => toValue(values[name]));

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
      load: (...args: unknown[]) => run(toTx(single), ...args),
      statement: (...args: unknown[]) => statement((tx) => run(toTx(tx, tx.notes), ...args)),
      transaction: (...args: unknown[]) => transaction((tx) => run(toTx(tx, tx.notes), ...args)),
    };
    return [name, ways[sharedWays[name as SharedName]]];
  });
  return Object.fromEntries(methods) as SharedMethods;
}
