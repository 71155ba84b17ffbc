import type { Database } from "better-sqlite3";
import { firstIdAt } from "../../core/id.ts";
import { digestOf } from "../fingerprint.ts";
import type { Notes } from "../signals.ts";
import { insertedColumns, type TableName } from "../tables.ts";
import type { NewRequest, RoutedAlert, Written } from "../transactions/writing.ts";
import {
  type Change,
  type Dialect,
  type Given,
  type Insertion,
  type InsertOptions,
  onConflict,
  type Statement,
  type Step,
  type StepItem,
  type StepOptions,
  type Stepped,
  type StepRow,
  type Tx,
  type Values,
  withPlaces,
} from "../tx.ts";
import { wordsOf } from "../words.ts";
import type { TransactionContext } from "./transactions/context.ts";
import type { Writing } from "./transactions/writing.ts";

interface Executable {
  /** Its first row. */
  get(values: Record<string, unknown>): unknown;
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

interface PreparedStep<G extends Given, Result> extends Step<G, Result> {
  /** @param changed is given the alert */
  take(item: Record<string, unknown>, changed: Set<number>): Stepped<Result> | undefined;
}

/** What the statements of a transaction are prepared by, once for a connection. */
export function createSqliteDialect({ db, now }: Pick<TransactionContext, "db" | "now">): Dialect {
  db.function("now_ms", now);
  db.function("digest", (bytes) => digestOf(bytes as Uint8Array));
  db.function("first_id_at", (ms) => firstIdAt(ms as number));
  return {
    ...wordsOf("sqlite"),
    change<G extends Given>(_name: string, table: TableName, given: G, set: string): PreparedChange<G> {
      const { run } = prepare(db, `UPDATE ${table} SET ${set} WHERE seq = :seq`, { seq: "int8", ...given });
      return { given, write: run };
    },
    statement<G extends Given, Stored, Result>(
      _name: string,
      given: G,
      text: Parameters<Dialect["statement"]>[2],
      read: (row: Stored) => Result = (row) => row as unknown as Result,
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
    step: (_name, options) => prepareStep(db, options),
  };
}

function prepareStep<G extends Given, Stored extends StepRow, Result>(
  db: Pick<Database, "prepare">,
  { given, set, where, log, memory, find }: StepOptions<G, Stored, Result>,
): PreparedStep<G, Result> {
  const all = { seq: "int8", group: "text", fence: "int8", ...given };
  const prepareRow = ({ table, values }: { table: TableName; values: Record<string, string> }, source: string) =>
    prepare(
      db,
      `INSERT INTO ${table} (${Object.keys(values).join(", ")}) SELECT ${Object.values(values).join(", ")} FROM ${source}`,
      all,
    );
  const one = "deliveries d JOIN alerts a ON a.seq = d.alert_seq WHERE d.seq = :seq";
  const insertLog = log && prepareRow(log, "deliveries WHERE seq = :seq");
  const insertMemory = memory && prepareRow(memory, one + onConflict(memory.table, { conflict: "replace" }));
  const joins = typeof find?.joins === "object" ? find.joins.sqlite : find?.joins;
  const findOne = prepare(
    db,
    `SELECT ${find?.columns ?? "alert_seq"} FROM deliveries d ${joins ?? ""} WHERE d.seq = :seq`,
    all,
  );
  const update = prepare(
    db,
    `UPDATE deliveries SET ${set} WHERE seq = :seq AND ${where}
       AND (SELECT fence FROM lanes WHERE lane_group = :group) = :fence`,
    all,
  );
  return {
    given,
    take(item, changed) {
      if (insertLog?.run(item) === 0) return undefined;
      const isChanged = update.run(item) > 0;
      if (!isChanged && log === undefined) return undefined;
      const row = findOne.get(item) as Stored;
      changed.add(row.alert_seq);
      if (!isChanged) return { isChanged };
      if (memory !== undefined && item[memory.when] === 1) insertMemory?.run(item);
      return { isChanged, found: find?.read(row) };
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
    get: (values) => statement.get(bind(values)),
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

  constructor(
    private readonly context: Pick<TransactionContext, "notes" | "changed">,
    private readonly writing: Writing | undefined,
  ) {
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

  step<G extends Given, Result>(step: Step<G, Result>, items: readonly StepItem<G>[]): (Stepped<Result> | undefined)[] {
    this.#refuseLate();
    const { take } = step as PreparedStep<G, Result>;
    return items.map((item) => take(item, this.context.changed));
  }

  storeRequests(requests: readonly NewRequest[]): Written {
    return this.#writing().storeRequests(requests);
  }

  routeAlerts(alerts: readonly RoutedAlert[]): Written {
    return this.#writing().routeAlerts(alerts);
  }

  changed(alertSeqs: readonly number[]): void {
    this.#refuseLate();
    for (const seq of alertSeqs) this.context.changed.add(seq);
  }

  #writing(): Writing {
    this.#refuseLate();
    if (this.writing === undefined) throw new Error("a transaction that writes no alerts");
    return this.writing;
  }

  #refuseLate(): void {
    if (this.isOver) throw new Error("a statement of a transaction that is over");
  }
}

/**
 * Runs one transaction of those that both databases share.
 *
 * @param writing for those that store or route alerts
 * @throws an error where it has waited for anything but `tx`: whatever comes next would stand in the middle of it.
 */
export async function runShared<T>(
  work: (tx: Tx) => Promise<T>,
  context: Pick<TransactionContext, "notes" | "changed">,
  writing?: Writing,
): Promise<T> {
  const tx = new SqliteTx(context, writing);
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
