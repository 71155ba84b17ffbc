import type { Notes } from "../signals.ts";

/** What asks the database: one connection, or whichever is free. */
export interface Sql {
  /**
   * One statement. Parameters are `$1`…. Numbers of 8 bytes come as numbers, `bytea` as bytes.
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
  /** Outside a transaction, on a connection for what people read: nothing is written. */
  read: Sql;
  /**
   * Outside a transaction, for what routing and delivery wait for: single statements on a connection that may write, which no
   * search delays. Each that writes is a transaction of its own, and says nothing.
   */
  single: Sql;
  /**
   * One transaction on a connection that may write. It is done again from its beginning when the database has ended it
   * for a conflict with another (deadlock, serialization), so it has no effects besides the database's. A commit whose
   * answer is lost rejects with `store_unavailable`: nobody knows whether it has happened.
   * `isCheck`: it writes too little to say that the disk has room again. Default: false.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, isCheck?: boolean): Promise<T>;
  /**
   * A transaction of one statement, which is committed with it: neither is waited for twice. It is done again after a conflict.
   * When its answer is lost it rejects with `store_unavailable`: nobody knows whether it has happened. A second statement is
   * refused.
   */
  statement<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}
