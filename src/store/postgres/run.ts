import { hash } from "node:crypto";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { remember } from "../../ground/remember.ts";
import type { Sql } from "./database.ts";
import type { Pool } from "./pool.ts";
import type { Way } from "./server.ts";
import { isAnswered, isConflict, isOfConnection, isOutdatedPlan, isReadOnly, lostCommit } from "./store-error.ts";

/**
 * `read`: one statement that changes nothing. `single`: one that may. `statement`: one that does, and whose caller learns when
 * the outcome is unknown. `transaction`: several. Through a pooler each is a transaction.
 */
export type How = "read" | "single" | "statement" | "transaction";

const mostTries = 6;
/** More than the number of statements, so that each name is made once. */
const mostNames = 1_000;
/** A prepared statement is named by the digest of its text. */
const nameOf = remember(mostNames, (text: string) => hash("sha1", text));

/** The work surely had no effect and may run again: the reason is in the server or the connection. */
class Undone extends Error {
  constructor(readonly reason: unknown) {
    super("undone");
  }
}

export const isTimeout = (error: unknown): boolean => (error as Error | undefined)?.message === "Query read timeout";

/** Runs work again that had no effect: at once on another connection, or after a random pause where it met a conflict. */
export async function retry<T>(work: () => Promise<T>, mostConnections: number): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Undone)) throw error;
      const { reason } = error;
      // Each connection may have an outdated plan.
      const most = isOutdatedPlan(reason) ? mostConnections + 1 : isConflict(reason) ? mostTries : 2;
      if (tries >= most) throw reason;
      if (isConflict(reason)) await sleep(Math.random() * 10 * tries);
    }
  }
}

/** Gives a connection of the pool to the work, and commits its changes. */
export async function run<T>(pool: Pool, way: Way, how: How, work: (query: Sql["query"]) => Promise<T>): Promise<T> {
  const client = await pool.take();
  const isTransaction = how === "transaction" || way.isPooled();
  let isCommitting = false;
  let asked = 0;
  const query: Sql["query"] = async <Row extends object>(
    text: string,
    values: readonly unknown[] = [],
    isPrepared = true,
  ) => {
    asked += 1;
    if (!isTransaction && asked > 1) throw new Error("a second statement, in a transaction of one");
    const name = isPrepared && !way.isPooled() ? nameOf(text) : undefined;
    const { rows, rowCount } = await client.query<Row>({ text, values: values as unknown[], name });
    return { rows, rowCount: rowCount ?? 0 };
  };

  async function transact(): Promise<T> {
    const [begun, working, ended] = sendTogether(client, () => [
      way.begin(client),
      work(query),
      ...(how === "read" ? [client.query("COMMIT")] : []),
    ]);
    // If these fail the connection is gone, and the first statement fails as well.
    begun.catch(() => {});
    ended?.catch(() => {});
    const value = await working.catch(async (error: unknown) => {
      // A statement after a failed BEGIN fails too, without the reason.
      if ((error as { code?: unknown }).code === "25P02") await begun;
      throw error;
    });
    await begun;
    isCommitting = how !== "read";
    const { command } = await (ended ?? client.query("COMMIT"));
    isCommitting = false;
    if (command !== "COMMIT") throw new Error("a statement failed, and the transaction went on all the same");
    return value;
  }

  try {
    const value = await (isTransaction ? transact() : work(query));
    client.release();
    return value;
  } catch (error) {
    const isUnknown = isCommitting && !isAnswered(error);
    const isLost = isUnknown || isOfConnection(error);
    client.release(isLost || (isTransaction && !(await rollBack(client))));
    if (isUnknown) throw lostCommit(error);
    if (isConflict(error) || isOutdatedPlan(error) || isReadOnly(error)) throw new Undone(error);
    if (!isLost) throw error;
    if (how === "statement" && !isTransaction) throw lostCommit(error);
    const mayHaveHappened = how === "single" && !isTransaction;
    throw mayHaveHappened || isTimeout(error) ? error : new Undone(error);
  }
}

/** Statements of the same turn leave in one write, which wakes the server once. */
function sendTogether<T>(client: pg.PoolClient, send: () => T): T {
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}

/** Whether the connection can be used again. Without a transaction the server answers with a notice. */
const rollBack = (client: pg.PoolClient): Promise<boolean> =>
  client.query("ROLLBACK").then(
    () => true,
    () => false,
  );
