import type { Database } from "better-sqlite3";
import type { Notes } from "../signals.ts";
import { insertedColumns, type TableName } from "../tables.ts";
import type { TransactionContext } from "./transactions/context.ts";
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

interface Executable {
  /** Its rows. */
  all(values: Record<string, unknown>): unknown[];
  /** How many rows it has changed. */
  run(values: Record<string, unknown>): number;
}

interface Prepared<G extends Given, Result> extends Statement<G, Result> {
  run(values: Values<G>): Result[];
}

interface PreparedInsertion<Name extends TableName, G extends Given> extends Insertion<Name, G> {
  /** Whether it was written. */
  write(row: Record<string, unknown>, values: Values<G>): boolean;
}

interface PreparedChange<G extends Given> extends Change<G> {
  write: Executable["run"];
}

/** What the statements of a transaction are prepared by, once for a connection. */
export function createSqliteDialect(db: Pick<Database, "prepare">): Dialect {
  return {
    isShared: false,
    // One process alone has the database.
    forKeyShare: "",
    // SQLite plans a statement with a bare `LIMIT ?` anew whenever it is bound.
    forUpdate: () => "",
    indexedBy: (index) => `INDEXED BY ${index}`,
    statusOf: (alert) => `${alert}.facts ->> 'status'`,
    limit: (name) => `LIMIT ${name} + 0`,
    isOneOf: (list) => `IN (SELECT value FROM json_each(${list}))`,
    isIn: (query) => `IN (${query})`,
    change<G extends Given>(_name: string, table: TableName, given: G, set: string): PreparedChange<G> {
      const { run } = prepare(db, `UPDATE ${table} SET ${set} WHERE seq = :seq`, { seq: "int8", ...given });
      return { given, write: run };
    },
    statement<G extends Given, Stored, Result>(
      _name: string,
      given: G,
      text: Parameters<Dialect["statement"]>[2],
      read: (row: Stored) => Result,
    ): Prepared<G, Result> {
      const { all } = prepare(db, typeof text === "string" ? text : text.sqlite, given);
      return { given, run: (values) => (all(values) as Stored[]).map(read) };
    },
    insertion<Name extends TableName, G extends Given>(
      _name: string,
      table: Name,
      { where, ...options }: InsertOptions<G> = {},
    ): PreparedInsertion<Name, G> {
      const columns = insertedColumns(table);
      const names = columns.map(([name]) => name);
      const selected = `SELECT ${names.map((name) => `:${name}`).join(", ")} WHERE ${where?.text ?? "true"}`;
      const insert = prepare(
        db,
        `INSERT INTO ${table} (${names.join(", ")}) ${selected}${onConflict(table, options)}`,
        { ...Object.fromEntries(columns), ...where?.given },
      );
      return {
        table,
        given: where?.given as G,
        write: (row, values) => insert.run({ ...row, ...values }) > 0,
      };
    },
  };
}

/** `:name` becomes `?`, with the names in their order: SQLite binds those without names quicker. */
function prepare(db: Pick<Database, "prepare">, text: string, given: Record<string, string>): Executable {
  const names: string[] = [];
  const sql = withPlaces(text, Object.keys(given), (name) => {
    names.push(name);
    return "?";
  });
  const isList = names.map((name) => given[name]?.endsWith("[]"));
  const statement = db.prepare<unknown[]>(sql);
  const bind = (values: Record<string, unknown>) =>
    names.map((name, index) => (isList[index] ? JSON.stringify(values[name]) : (values[name] ?? null)));
  const run = (values: Record<string, unknown>) => statement.run(bind(values)).changes;
  return {
    run,
    all: statement.reader
      ? (values) => statement.all(bind(values))
      : (values) => {
          run(values);
          return [];
        },
  };
}

/** Answers at once. */
class SqliteTx implements Tx {
  isOver = false;

  readonly notes: Notes;

  constructor(private readonly context: Pick<TransactionContext, "notes" | "changed">) {
    this.notes = context.notes;
  }

  run<G extends Given, Result>(statement: Statement<G, Result>, values: Values<G>): Result[] {
    this.#refuseLate();
    return (statement as Prepared<G, Result>).run(values);
  }

  look<G extends Given, Result>(statement: Statement<G, Result>, items: readonly Values<G>[]): Result[][] {
    return items.map((item) => this.run(statement, item));
  }

  insert<Name extends TableName, G extends Given>(
    insertion: Insertion<Name, G>,
    rows: readonly Record<string, unknown>[],
    values: Values<G>,
  ): number {
    this.#refuseLate();
    const { write } = insertion as PreparedInsertion<Name, G>;
    return rows.filter((row) => write(row, values)).length;
  }

  change<G extends Given>(change: Change<G>, items: readonly (Values<G> & { seq: number })[]): void {
    this.#refuseLate();
    const { write } = change as PreparedChange<G>;
    for (const item of items) write(item);
  }

  changed(alertSeqs: readonly number[]): void {
    this.#refuseLate();
    for (const seq of alertSeqs) this.context.changed.add(seq);
  }

  #refuseLate(): void {
    if (this.isOver) throw new Error("a statement of a transaction that is over");
  }
}

/**
 * Runs one transaction of those that both databases share.
 *
 * @throws an error where it has waited for anything but `tx`: whatever comes next would stand in the middle of it.
 */
export async function runShared<T>(
  work: (tx: Tx) => Promise<T>,
  context: Pick<TransactionContext, "notes" | "changed">,
): Promise<T> {
  const tx = new SqliteTx(context);
  let late: NodeJS.Immediate | undefined;
  const isLate = new Promise<never>((_, reject) => {
    late = setImmediate(() => reject(new Error("a transaction has waited for something else than its tx")));
  });
  try {
    return await Promise.race([work(tx), isLate]);
  } finally {
    tx.isOver = true;
    clearImmediate(late);
  }
}
