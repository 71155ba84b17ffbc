import type { Notes } from "../signals.ts";

/** Runs statements: on one connection, or on any free one. */
export interface Sql {
  /**
   * Runs one statement. Parameters are `$1`…. Numbers of 8 bytes come as numbers, `bytea` as bytes.
   * @param isPrepared each connection plans it once, and keeps that plan. Default true
   * @throws AppError `store_unavailable` when the database is away, cannot write, or has no room.
   */
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    isPrepared?: boolean,
  ): Promise<{ rows: Row[]; rowCount: number }>;
}

export interface Transaction extends Sql {
  readonly notes: Notes;
}

export interface Database {
  /** For what people read, outside a transaction. Writes nothing. */
  read: Sql;
  /** Single statements, which no search delays, for routing and delivery. One that writes is a transaction without signals. */
  single: Sql;
  /**
   * One transaction on a connection that may write. After a conflict (deadlock, serialization) it runs again from its beginning,
   * so it may change nothing but the database. When the answer to the commit is lost it rejects with `store_unavailable`, and may
   * be committed. `isCheck`: it writes too little to show that the disk has room again. Default: false.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, isCheck?: boolean): Promise<T>;
  /** A transaction of one statement, sent with its commit. Conflicts and lost answers: see `transaction`. */
  statement<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}
