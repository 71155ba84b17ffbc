import type { Notes } from "./signals.ts";
import { type DriverName, type InsertedRow, insertedColumns, type Row, type TableName, tables } from "./tables.ts";
import type { AskedBy, NewRequest, RoutedAlert, Written } from "./transactions/writing.ts";

/**
 * Transactions that both databases share are written once, as `async` functions that are given a `Tx`. Each looks everything up, decides,
 * then writes. It awaits `tx` and nothing else: SQLite answers at once inside its transaction, and an other wait there fails. On
 * PostgreSQL all that is asked in one turn is one way to the server and back. It may be run again, so it changes nothing but the database.
 */
export interface Tx {
  /** What it has to say once it is committed. */
  readonly notes: Notes;
  run<G extends Given, Result>(statement: Statement<G, Result>, values: Values<G>): Awaitable<Result[]>;
  /** The same statement for each of the items: its rows in their order. */
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
   * @param which of lanes that are held. `free`: also nothing for one that is about to be another relay's, which is not waited for. Default: `all`
   */
  step<G extends Given, Result>(
    step: Step<G, Result>,
    items: readonly StepItem<G>[],
    which?: WhichLanes,
  ): Awaitable<(Stepped<Result> | undefined)[]>;
  /**
   * Stores them in their order, with what their alerts are routed to.
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

type ValueOf<Kind> = Kind extends "int8" ? number : string;

export type Values<G extends Given> = {
  [N in keyof G]: G[N] extends `${infer Kind}[]` ? readonly ValueOf<Kind>[] : ValueOf<G[N]> | null;
};

/** A statement as its driver has prepared it. */
export interface Statement<G extends Given, Result> {
  readonly given: G;
  readonly result?: Result;
}

/** An INSERT of rows as its driver has prepared it. */
export interface Insertion<Name extends TableName, G extends Given> {
  readonly table: Name;
  readonly given: G;
}

/** An UPDATE of rows by their `seq`, as its driver has prepared it. */
export interface Change<G extends Given> {
  readonly given: G;
}

/** An UPDATE of deliveries for the lanes that send them, as its driver has prepared it. */
export interface Step<G extends Given, Result> {
  readonly given: G;
  readonly result?: Result;
}

export type WhichLanes = "all" | "free";

/** One delivery, and the lane for which it is changed. */
export type StepItem<G extends Given> = Values<G> & { seq: number; group: string; fence: number };

export interface Stepped<Result> {
  /** False: its row for the log alone was written, as its lane is not held or it is none of those that the step changes. */
  isChanged: boolean;
  /** Of one that was changed, where something is read. */
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
  /** Which deliveries are changed, beside that their lane is held. It is looked at again once their rows are locked. */
  where: string;
  /** For each delivery that is there, whether it is changed or not. Default: nothing. */
  log?: RowOfStep;
  /** For each delivery `d` that was changed, of the alert `a`, if what `when` names is 1: the last one of a key stands. Default: nothing. */
  memory?: RowOfStep & { when: keyof G & string };
  /** What is read of each delivery `d` that was changed, where there is no `log`. Default: nothing. */
  find?: { columns: string; joins: string | Record<DriverName, string>; read(row: Stored): Result };
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

/** Behind an aggregate of only some rows. */
export const toFilter = (only: string | undefined): string => (only === undefined ? "" : ` FILTER (WHERE ${only})`);

/** What a function that makes JSON objects is given. */
export const toPairs = (values: Record<string, string>): string =>
  Object.entries(values)
    .flatMap(([name, value]) => [`'${name}'`, value])
    .join(", ");

/** @param place what stands for each `:name` of it. */
export function withPlaces(text: string, given: readonly string[], place: (name: string) => string): string {
  return text.replace(/(?<!:):([a-z]\w*)/g, (_, name: string) => {
    if (!given.includes(name)) throw new Error(`nothing is given for :${name} in ${text}`);
    return place(name);
  });
}

/** Gives the place of a value in a statement that is made for one call. */
export type Add = (value: unknown) => string;

/** Makes statements for one database. */
export interface Dialect {
  /** Several relays use the database. */
  readonly isShared: boolean;
  /** After a SELECT of a row on which the transaction rests: nobody deletes it, or changes its key, until that has ended. */
  readonly forKeyShare: string;
  /** Ends a SELECT of rows that are about to be changed: they are locked in one order, so that no two relays wait for each other. */
  forUpdate(order: string): string;
  /** The same of rows that are about to be removed. Those that somebody is at are passed by. */
  forRemoval(order: string): string;
  /** A query of the `seq` of the alerts that changed last, by which who follows the log goes on. */
  readonly lastChanged: string;
  /** By the clock that decides when a lease ends. */
  readonly now: string;
  /** The same in epoch milliseconds. */
  readonly nowMs: string;
  /** So many milliseconds from then on. */
  inMs(ms: string): string;
  /** Names the index where SQLite, which has no statistics here, might take one that holds finished deliveries too. */
  indexedBy(index: string): string;
  /** JSON as text. */
  jsonOf(values: Record<string, string>): string;
  /** The rows of a query as one JSON array, as text; only those with a condition, where one is named. */
  jsonRowsOf(values: Record<string, string>, only?: string): string;
  larger(one: string, other: string): string;
  /** Ends a query that is to be run for each row as it stands, and not to be made a part of what it stands in. */
  readonly asItStands: string;
  /** That a flag is set, word for word as the small indexes say it. */
  isSet(flag: string): string;
  /** A text in small letters, those of ASCII alone. */
  folded(text: string): string;
  /** Where a part begins in a text, from 1 on; 0: nowhere. */
  placeIn(text: string, part: string): string;
  /** What a text begins with, as far as it is a number, or null. */
  numberOf(text: string): string;
  /** Where a text begins in a body, in bytes from 1 on, without regard to the case of ASCII letters; 0: nowhere. */
  placeInBody(body: string, wanted: string, add: Add): string;
  /** So many letters that a text ends with. */
  endOf(text: string, length: string): string;
  /** Of the bytes of a column, as text: the same for the same bytes alone. */
  digestOf(column: string): string;
  /** Lists that are given, by the names of their columns, as rows with their `place` from 1 on. */
  rowsOf(lists: Record<string, string>): string;
  /** What was counted by the hour for each destination (`name`), as rows: `part` is the outcome, or the step of the wait. */
  hoursOf(kind: "outcome" | "wait"): string;
  /** The ids of all alerts of the request `r`, as a JSON array. */
  readonly idsOfRequest: string;
  /** A text as the database keeps it. */
  kept(text: string): string;
  /** Where a value stands in a statement that is made for one call: the first, the second … */
  place(number: number): string;
  /** That a delivery is a resend of many, or is none, as the indexes of what is due say it. */
  isBulk(isBulk: boolean): string;
  /** How often an alert has changed, or 0. */
  versionOf(alert: string): string;
  /** Whether the alert is firing, as a column. */
  statusOf(alert: string): string;
  /** One of its facts as text. */
  factOf(alert: string, name: string): string;
  /** Its value as it was sent, cut at 100 characters. */
  valueOf(alert: string): string;
  /** How many bytes its facts have. */
  factsBytesOf(alert: string): string;
  /** That an alert has this key, and lies behind one position and no farther than another: read along the index of keys. */
  isOfKey(alert: string, key: string, after: string, to: string): string;
  /** The position from which on all alerts lie that came at a time, by the id which `sinceId` gives for that. */
  firstSince(id: string): string;
  sinceId(at: number): string;
  /** `LIMIT`, with the name of what is given. */
  limit(name: string): string;
  /** That a column has one of a list that is given. */
  isOneOf(list: string): string;
  /** That a column has a value of a query, which is run once. */
  isIn(query: string): string;
  /**
   * @param name for the server and its log. Unique
   * @param text the same for both, or one for each where the reason is said
   * @param read what becomes of each row
   */
  statement<G extends Given, Stored, Result>(
    name: string,
    given: G,
    text: string | Record<DriverName, string>,
    read: (row: Stored) => Result,
  ): Statement<G, Result>;
  insertion<Name extends TableName, G extends Given = Record<never, never>>(
    name: string,
    table: Name,
    options?: InsertOptions<G>,
  ): Insertion<Name, G>;
  change<G extends Given>(name: string, table: TableName, given: G, set: string): Change<G>;
  step<G extends Given, Stored extends StepRow, Result>(
    name: string,
    options: StepOptions<G, Stored, Result>,
  ): Step<G, Result>;
}
