import type { LaneFence } from "../core/ports/lanes.ts";
import type { Notes } from "./signals.ts";
import {
  type Column,
  type DriverName,
  type InsertedRow,
  insertedColumns,
  type Row,
  type TableName,
  tables,
} from "./tables.ts";
import type { AskedBy, NewRequest, RoutedAlert, Written } from "./transactions/writing.ts";
import type { Words } from "./words.ts";

/**
 * Transactions that both databases share are written once, as `async` functions of a `Tx`. Each looks everything up, decides,
 * then writes. It awaits nothing but `tx`: SQLite answers at once inside its transaction, and any other wait fails there.
 * PostgreSQL sends all questions of one turn together. A transaction may run again, so it changes nothing but the database.
 */
export interface Tx {
  /** The signals that follow the commit. */
  readonly notes: Notes;
  run<G extends Given, Result>(statement: Statement<G, Result>, values: Values<G>): Awaitable<Result[]>;
  /** Runs the statement for each item. Gives the rows of each, in the items' order. */
  look<G extends Given, Result>(statement: Statement<G, Result>, items: readonly Values<G>[]): Awaitable<Result[][]>;
  /** Gives the number of written rows. No two rows may have one key. */
  insert<Name extends TableName, G extends Given>(
    insertion: Insertion<Name, G>,
    rows: readonly InsertedRow<Name>[],
    values: Values<G>,
  ): Awaitable<number>;
  /** Changes one row for each item, by its `seq`. No row may come twice. */
  change<G extends Given>(change: Change<G>, items: readonly (Values<G> & { seq: number })[]): Awaitable<void>;
  /**
   * Gives for each item what was read from its row. Undefined: nothing was written. The alerts of these deliveries count as
   * changed. No delivery may come twice.
   * @param which `all`: the lanes that are held. `free`: without waiting for lanes that another relay is about to take, which are
   * left out. Default: `all`
   */
  step<G extends Given, Result>(
    step: Step<G, Result>,
    items: readonly StepItem<G>[],
    which?: WhichLanes,
  ): Awaitable<(Stepped<Result> | undefined)[]>;
  /** Stores the requests in order, and routes their alerts. @param from the callers, where several share the transaction */
  storeRequests(requests: readonly NewRequest[], from?: AskedBy): Awaitable<Written>;
  /** Routes stored alerts. An alert that is already routed stays as it is, and is left out of the answer. */
  routeAlerts(alerts: readonly RoutedAlert[]): Awaitable<Written>;
  /** Notes that these alerts have changed in the log with this transaction. No alert may come twice. */
  changed(alertSeqs: readonly number[]): Awaitable<void>;
}

export type Awaitable<T> = T | Promise<T>;

type GivenKind = "int8" | "text";

/** The parameters of a statement, by their names in its text (`:name`). */
export type Given = Record<string, GivenKind | `${GivenKind}[]`>;

/** Columns of a table as parameters of a statement, by their kind. */
export const givenOf = <Name extends TableName, C extends keyof Row<Name> & string>(table: Name, names: readonly C[]) =>
  Object.fromEntries(
    names.map((name) => [
      name,
      (tables[table].columns as Record<string, Column>)[name]?.kind === "text" ? "text" : "int8",
    ]),
  ) as { [N in C]: NonNullable<Row<Name>[N]> extends string ? "text" : "int8" };

type ValueOf<Kind> = Kind extends "int8" ? number : string;

export type Values<G extends Given> = {
  [N in keyof G]: G[N] extends `${infer Kind}[]` ? readonly ValueOf<Kind>[] : ValueOf<G[N]> | null;
};

/** A statement as its driver has prepared it. Only that driver knows its content. */
interface Prepared<G extends Given> {
  readonly given: G;
  readonly prepared: unknown;
}

export interface Statement<G extends Given, Result> extends Prepared<G> {
  readonly result?: Result;
}

export interface Insertion<Name extends TableName, G extends Given> extends Prepared<G> {
  readonly table: Name;
}

/** An UPDATE of rows by their `seq`. */
export type Change<G extends Given> = Prepared<G>;

/** An UPDATE of deliveries for the lanes that send them. */
export type Step<G extends Given, Result> = Statement<G, Result>;

export type WhichLanes = "all" | "free";

/** The arguments of the port's method. */
export type JointCall = [lane: LaneFence, ...given: unknown[]];

/** A transaction that calls of several lanes may share. */
export interface Joint<Call extends JointCall, Answer> {
  /** False: the call has a transaction of its own. */
  mayShare(call: Call): boolean;
  countDeliveries(call: Call): number;
  /** Whether the calls need nothing besides their first statement. */
  isOneStatement(calls: readonly Call[]): boolean;
  /** Answers each call. Undefined: no delivery of its lane was changed, or with `free` nothing was written at all. */
  run(tx: Tx, calls: readonly Call[], which: WhichLanes): Promise<(Answer | undefined)[]>;
  /** The answer to a call that has changed no delivery. */
  answerOther(tx: Tx, call: Call): Promise<Answer>;
}

export async function runJoint<Call extends JointCall, Answer>(
  tx: Tx,
  { run, answerOther }: Joint<Call, Answer>,
  call: Call,
): Promise<Answer> {
  const [answer] = await run(tx, [call], "all");
  return answer ?? answerOther(tx, call);
}

/** One delivery, and the lane for which it is changed. */
export type StepItem<G extends Given> = Values<G> & { seq: number; group: string; fence: number };

export interface Stepped<Result> {
  /** False: only the row for the log was written, as the lane is not held or the step does not change the delivery. */
  isChanged: boolean;
  /** What was read from the row, if it was changed and the step reads something. */
  found?: Result;
}

interface RowOfStep {
  table: TableName;
  /** Each column as SQL, with `:name` for a parameter. */
  values: Record<string, string>;
}

/** The column that is always read of a changed delivery. */
export type StepRow = Pick<Row<"deliveries">, "alert_seq">;

export interface StepOptions<G extends Given, Stored extends StepRow, Result> {
  given: G;
  set: string;
  /** The deliveries that are changed, where their lane is held. The condition is checked again once their rows are locked. */
  where: string;
  /** A row for each existing delivery, whether the step changes it or not. Default: none. */
  log?: RowOfStep;
  /** A row for each changed delivery `d` of the alert `a`, where the parameter `when` is 1. The last of a key remains. */
  memory?: RowOfStep & { when: keyof G & string };
  /** The columns that are read of each changed delivery `d`, where the step has no `log`. Default: none. */
  find?: { columns: string; joins: Record<DriverName, string>; read(row: Stored): Result };
}

export interface InsertOptions<G extends Given> {
  /** What happens to a row with the same key: `replace` overwrites it, `keep` leaves it. Default: the INSERT fails. */
  conflict?: "replace" | "keep";
  /** A condition without which nothing is written, and its parameters. Default: none. */
  where?: { given: G; text: string };
}

/** The ON CONFLICT part of an INSERT. The key itself is not set: setting it would write the row again. */
export function onConflict(table: TableName, { conflict }: Pick<InsertOptions<Given>, "conflict">): string {
  if (conflict === undefined) return "";
  const key: readonly string[] = tables[table].key;
  const others = insertedColumns(table).flatMap(([name]) => (key.includes(name) ? [] : [`${name} = excluded.${name}`]));
  return ` ON CONFLICT (${key.join(", ")}) DO ${conflict === "keep" ? "NOTHING" : `UPDATE SET ${others.join(", ")}`}`;
}

export const toInsert = ({ table, values }: RowOfStep) => `INSERT INTO ${table} (${Object.keys(values).join(", ")})`;
export const valuesOf = ({ values }: RowOfStep) => Object.values(values).join(", ");

/** @param place gives the text that replaces a `:name` */
export function withPlaces(text: string, given: readonly string[], place: (name: string) => string): string {
  return text.replace(/(?<!:):([a-z]\w*)/g, (_, name: string) => {
    if (!given.includes(name)) throw new Error(`nothing is given for :${name} in ${text}`);
    return place(name);
  });
}

/** Adds a value to a statement that is made for one call, and gives its place in the text. */
export type Add = (value: unknown) => string;

/** Makes statements for one database, and has the words that the two databases say differently. */
export interface Dialect extends Words {
  /** `text`: for both databases, or for each with the reason. `read`: turns a row into a result. Default: the row itself. */
  statement<G extends Given, Stored = object, Result = Stored>(
    given: G,
    text: string | Record<DriverName, string>,
    read?: (row: Stored) => Result,
  ): Statement<G, Result>;
  insertion<Name extends TableName, G extends Given = Record<never, never>>(
    table: Name,
    options?: InsertOptions<G>,
  ): Insertion<Name, G>;
  change<G extends Given>(table: TableName, given: G, set: string): Change<G>;
  step<G extends Given, Stored extends StepRow, Result>(options: StepOptions<G, Stored, Result>): Step<G, Result>;
}

/** Methods of a port that take the transaction as their first argument. Only the port documents what they take and give. */
export type InTx<Port, Name extends keyof Port = keyof Port> = {
  [N in Name]: Port[N] extends (...args: infer Args) => infer Result ? (tx: Tx, ...args: Args) => Result : never;
};
