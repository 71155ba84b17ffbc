import type { Database } from "better-sqlite3";
import { firstIdAt } from "../../core/id.ts";
import { digestOf } from "../fingerprint.ts";
import { insertedColumns } from "../tables.ts";
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
  withPlaces,
} from "../tx.ts";
import { wordsOf } from "../words.ts";
import type { TransactionContext } from "./transactions/context.ts";
import type { Writing } from "./transactions/writing.ts";

type Named = Record<string, unknown>;

type Executable = ReturnType<typeof compile>;
type Prepare = (text: string, given: Record<string, string>) => () => Executable;

type Insert = (row: Named, values: Named) => boolean;
/** @param changed gets the changed alert */
type Take = (item: Named, changed: Set<number>) => Stepped<unknown> | undefined;

/**
 * Prepares the statements of transactions, once for a connection.
 * @param once when SQLite compiles a statement. Default: at its first use. Compiling all takes longer than the rest of opening a
 * database, and a command or a test uses few.
 */
export function createSqliteDialect(
  { db, now }: Pick<TransactionContext, "db" | "now">,
  once: Once = atFirstUse,
): Dialect {
  const prepare: Prepare = (text, given) => once(() => compile(db, text, given));
  db.function("now_ms", now);
  db.function("digest", (bytes) => digestOf(bytes as Uint8Array));
  db.function("first_id_at", (ms) => firstIdAt(ms as number));
  return {
    ...wordsOf("sqlite"),
    change(table, given, set) {
      const update = prepare(`UPDATE ${table} SET ${set} WHERE seq = :seq`, { seq: "int8", ...given });
      return { given, prepared: (values: Named) => update().run(values) };
    },
    statement(given, text, read = (row) => row as never) {
      const own = prepare(typeof text === "string" ? text : text.sqlite, given);
      return { given, prepared: (values: Named) => (own().all(values) as never[]).map(read) };
    },
    insertion(table, { where, ...options } = {}) {
      const columns = insertedColumns(table);
      const names = columns.map(([name]) => name);
      const selected = `SELECT ${names.map((name) => `:${name}`).join(", ")} WHERE ${where?.text ?? "true"}`;
      const own = prepare(`INSERT INTO ${table} (${names.join(", ")}) ${selected}${onConflict(table, options)}`, {
        ...Object.fromEntries(columns),
        ...where?.given,
      });
      const insert: Insert = (row, values) => own().run({ ...row, ...values }) > 0;
      return { table, given: where?.given as never, prepared: insert };
    },
    step: (options) => ({ given: options.given, prepared: prepareStep(prepare, options) }),
  };
}

function prepareStep<G extends Given, Stored extends StepRow, Result>(
  prepare: Prepare,
  { given, set, where, log, memory, find }: StepOptions<G, Stored, Result>,
): Take {
  const all = { seq: "int8", group: "text", fence: "int8", ...given };
  const one = "deliveries d JOIN alerts a ON a.seq = d.alert_seq WHERE d.seq = :seq";
  const insertLog = log && prepare(`${toInsert(log)} SELECT ${valuesOf(log)} FROM deliveries WHERE seq = :seq`, all);
  const replace = memory && onConflict(memory.table, { conflict: "replace" });
  const insertMemory = memory && prepare(`${toInsert(memory)} SELECT ${valuesOf(memory)} FROM ${one}${replace}`, all);
  const { columns, joins } = find ?? { columns: "alert_seq", joins: undefined };
  const findOne = prepare(`SELECT ${columns} FROM deliveries d ${joins?.sqlite ?? ""} WHERE d.seq = :seq`, all);
  const update = prepare(
    `UPDATE deliveries SET ${set} WHERE seq = :seq AND ${where}
       AND (SELECT fence FROM lanes WHERE lane_group = :group) = :fence`,
    all,
  );
  return (item, changed) => {
    if (insertLog?.().run(item) === 0) return undefined;
    const isChanged = update().run(item) > 0;
    if (!isChanged && log === undefined) return undefined;
    const row = findOne().get(item) as unknown as Stored;
    changed.add(row.alert_seq);
    if (!isChanged) return { isChanged };
    if (memory !== undefined && item[memory.when] === 1) insertMemory?.().run(item);
    return { isChanged, found: find?.read(row) };
  };
}

/** Makes a function that calls `make` once, and gives the same value each time. */
export type Once = <T>(make: () => T) => () => T;

const atFirstUse: Once = <T>(make: () => T) => {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
};

/** Replaces each `:name` by `?`, and keeps the names in order: SQLite binds values without names quicker. */
function compile(db: Pick<Database, "prepare">, text: string, given: Record<string, string>) {
  const names: string[] = [];
  const sql = withPlaces(text, Object.keys(given), (name) => {
    names.push(name);
    return "?";
  });
  const isList = names.map((name) => given[name]?.endsWith("[]"));
  const statement = db.prepare<unknown[]>(sql);
  // The library gives a row as a list. Making the object here takes two thirds of the library's time.
  const columns = statement.reader ? statement.raw(true).columns() : [];
  // V8 stores an object as a table when it gets more than a dozen members one by one, which takes three times as long.
  const empty: Named = columns.length > 12 ? Object.fromEntries(columns.map(({ name }) => [name, null])) : {};
  const toRow = (row: unknown) => {
    const object = { ...empty };
    columns.forEach(({ name }, at) => {
      object[name] = (row as unknown[])[at];
    });
    return object;
  };
  const bind = (values: Named) =>
    names.map((name, index) => (isList[index] ? JSON.stringify(values[name]) : (values[name] ?? null)));
  const run = (values: Named): number => statement.run(bind(values)).changes;
  return {
    run,
    get: (values: Named) => toRow(statement.get(bind(values))),
    all(values: Named): Named[] {
      if (statement.reader) return statement.all(bind(values)).map(toRow);
      run(values);
      return [];
    },
  };
}

/** Answers at once, until the transaction has ended. */
function toTx(
  { notes, changed }: Pick<TransactionContext, "notes" | "changed">,
  writing: Writing | undefined,
): { tx: Tx; end(): void } {
  let isOver = false;
  const prepared = <P>(one: { prepared: unknown }): P => {
    if (isOver) throw new Error("a statement of a transaction that is over");
    return one.prepared as P;
  };
  const tx: Tx = {
    notes,
    run: (statement, values) => prepared<(values: Named) => never[]>(statement)(values),
    look: (statement, items) => items.map((item) => prepared<(values: Named) => never[]>(statement)(item)),
    insert(insertion, rows, values) {
      const insert = prepared<Insert>(insertion);
      return rows.filter((row) => insert(row, values)).length;
    },
    change(change, items) {
      const update = prepared<Executable["run"]>(change);
      for (const item of items) update(item);
    },
    step(step, items) {
      const take = prepared<Take>(step);
      return items.map((item) => take(item, changed)) as never;
    },
    storeRequests: (requests) => prepared<Writing>({ prepared: writing }).storeRequests(requests),
    routeAlerts: (alerts) => prepared<Writing>({ prepared: writing }).routeAlerts(alerts),
    changed(alertSeqs) {
      const all = prepared<Set<number>>({ prepared: changed });
      for (const seq of alertSeqs) all.add(seq);
    },
  };
  return {
    tx,
    end() {
      isOver = true;
    },
  };
}

/**
 * Runs a transaction that both databases share. `writing`: for those that store or route alerts.
 * @throws an error where it has awaited anything but `tx`: the next call would run in the middle of it
 */
export async function runShared<T>(
  work: (tx: Tx) => Promise<T>,
  context: Pick<TransactionContext, "notes" | "changed">,
  writing?: Writing,
): Promise<T> {
  const { tx, end } = toTx(context, writing);
  let late: NodeJS.Immediate | undefined;
  const isLate = new Promise<never>((_, reject) => {
    late = setImmediate(() => reject(new Error("a transaction has waited for something else than its tx")));
  });
  try {
    return await Promise.race([work(tx), isLate]);
  } finally {
    end();
    clearImmediate(late);
  }
}
