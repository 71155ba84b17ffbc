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
 * Transactions that both databases share are written once, as `async` functions that are given a `Tx`. Each looks everything up, decides,
 * then writes. It awaits `tx` and nothing else: SQLite answers at once inside its transaction, and an other wait there fails. On
 * PostgreSQL all that is asked in one turn is one way to the server and back. It may be run again, so it changes nothing but the database.
 */
export interface Tx {
  /** What it has to say once it is committed. */
  readonly notes: Notes;
  run<G extends Given, Result>(statement: Statement<G, Result>, values: Values<G>): Awaitable<Result[]>;
  /** Runs the statement for each of the items: the rows of each, in their order. */
  look<G extends Given, Result>(statement: Statement<G, Result>, items: readonly Values<G>[]): Awaitable<Result[][]>;
  /** How many rows were written. No two rows have one key. */
  insert<Name extends TableName, G extends Given>(
    insertion: Insertion<Name, G>,
    rows: readonly InsertedRow<Name>[],
    values: Values<G>,
  ): Awaitable<number>;
  /** One row for each item, by its `seq`. No row twice. */
  change<G extends Given>(change: Change<G>, items: readonly (Values<G> & { seq: number })[]): Awaitable<void>;
  /**
   * What was written for each item; undefined: nothing. The alerts of these deliveries look otherwise from then on. No delivery twice.
   * @param which of lanes that are held. `free`: also nothing for one that is about to be another relay's, which is not waited for.
   *   Default: `all`
   */
  step<G extends Given, Result>(
    step: Step<G, Result>,
    items: readonly StepItem<G>[],
    which?: WhichLanes,
  ): Awaitable<(Stepped<Result> | undefined)[]>;
  /**
   * Stores the requests in their order, and routes their alerts.
   * @param from who asks, where several may
   */
  storeRequests(requests: readonly NewRequest[], from?: AskedBy): Awaitable<Written>;
  /** Routes stored alerts. One that is routed already is left as it is, and left out. */
  routeAlerts(alerts: readonly RoutedAlert[]): Awaitable<Written>;
  /** These alerts look otherwise in the log from this transaction on. No alert twice. */
  changed(alertSeqs: readonly number[]): Awaitable<void>;
}

export type Awaitable<T> = T | Promise<T>;

type GivenKind = "int8" | "text";

/** What a statement is given, by the names that stand in it as `:name`. */
export type Given = Record<string, GivenKind | `${GivenKind}[]`>;

/** Columns of a table as what a statement is given: by their kind. */
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

/** As its driver has prepared it: what it holds is that driver's. */
interface Prepared<G extends Given> {
  readonly given: G;
  readonly prepared: unknown;
}

export interface Statement<G extends Given, Result> extends Prepared<G> {
  readonly result?: Result;
}

/** An INSERT of rows. */
export interface Insertion<Name extends TableName, G extends Given> extends Prepared<G> {
  readonly table: Name;
}

/** An UPDATE of rows by their `seq`. */
export type Change<G extends Given> = Prepared<G>;

/** An UPDATE of deliveries for the lanes that send them. */
export type Step<G extends Given, Result> = Statement<G, Result>;

export type WhichLanes = "all" | "free";

/** The arguments of the port's method. */
export type JointCall = [lane: LaneFence, parts: readonly { deliverySeqs: number[] }[]];

/** A transaction that calls of several lanes may share. */
export interface Joint<Call extends JointCall, Answer> {
  /** The calls ask nothing besides their first statement. */
  isOneStatement(calls: readonly Call[]): boolean;
  /** Answers each call. Undefined: nothing was written for its lane; with `free`, nothing was written at all. */
  run(tx: Tx, calls: readonly Call[], which: WhichLanes): Promise<(Answer | undefined)[]>;
  /** The answer to a call for whose lane nothing was written. */
  answerOther(tx: Tx, call: Call): Promise<Answer>;
}

/** For one call alone. */
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
  /** False: its row for the log alone was written, as its lane is not held or it is none of those that the step changes. */
  isChanged: boolean;
  /** What was read from the row, if it was changed and the step reads something. */
  found?: Result;
}

interface RowOfStep {
  table: TableName;
  /** Each column as SQL, in which `:name` is what is given. */
  values: Record<string, string>;
}

/** What is read of a delivery that was changed. */
export type StepRow = Pick<Row<"deliveries">, "alert_seq">;

export interface StepOptions<G extends Given, Stored extends StepRow, Result> {
  given: G;
  set: string;
  /** Which deliveries are changed, besides that their lane is held. It is looked at again once their rows are locked. */
  where: string;
  /** For each delivery that is there, whether it is changed or not. Default: nothing. */
  log?: RowOfStep;
  /**
   * For each delivery `d` that was changed, of the alert `a`, if what `when` names is 1: the last one of a key stands. Default: nothing.
   */
  memory?: RowOfStep & { when: keyof G & string };
  /** What is read of each delivery `d` that was changed, where there is no `log`. Default: nothing. */
  find?: { columns: string; joins: Record<DriverName, string>; read(row: Stored): Result };
}

export interface InsertOptions<G extends Given> {
  /** With a row of the same key: `replace` takes its place, `keep` leaves it. Default: it fails. */
  conflict?: "replace" | "keep";
  /** A condition without which nothing is written, and what it is given. Default: none. */
  where?: { given: G; text: string };
}

/** What an INSERT does where there is a row of the same key. The key stays as it is: to set it is to write the row anew. */
export function onConflict(table: TableName, { conflict }: Pick<InsertOptions<Given>, "conflict">): string {
  if (conflict === undefined) return "";
  const key: readonly string[] = tables[table].key;
  const others = insertedColumns(table).flatMap(([name]) => (key.includes(name) ? [] : [`${name} = excluded.${name}`]));
  return ` ON CONFLICT (${key.join(", ")}) DO ${conflict === "keep" ? "NOTHING" : `UPDATE SET ${others.join(", ")}`}`;
}

/** How an INSERT of it begins. */
export const toInsert = ({ table, values }: RowOfStep) => `INSERT INTO ${table} (${Object.keys(values).join(", ")})`;
export const valuesOf = ({ values }: RowOfStep) => Object.values(values).join(", ");

/** @param place what stands for each `:name` of it. */
export function withPlaces(text: string, given: readonly string[], place: (name: string) => string): string {
  return text.replace(/(?<!:):([a-z]\w*)/g, (_, name: string) => {
    if (!given.includes(name)) throw new Error(`nothing is given for :${name} in ${text}`);
    return place(name);
  });
}

/** Gives the place of a value in a statement that is made for one call. */
export type Add = (value: unknown) => string;

/** Makes statements for one database, and says in its words what the two say otherwise. */
export interface Dialect extends Words {
  /**
   * @param text the same for both, or one for each where the reason is said
   * @param read what becomes of each row. Default: it stays as it is
   */
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

/** Methods of a port, each in the transaction that it is given first: what it takes and gives is said by the port alone. */
export type InTx<Port, Name extends keyof Port = keyof Port> = {
  [N in Name]: Port[N] extends (...args: infer Args) => infer Result ? (tx: Tx, ...args: Args) => Result : never;
};
