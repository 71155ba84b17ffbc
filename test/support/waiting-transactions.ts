import pg from "pg";
import { onTestFinished } from "vitest";

type Asked = string | { text: string };
type Query = (this: pg.Client, asked: Asked, ...others: unknown[]) => unknown;

/** A connection of the pool. */
interface Work {
  /** Statements without an answer. */
  asked: number;
  /** Undefined: none. */
  transaction?: object;
}

/** Kept with the class, since each test file reads this file anew. */
const guard = Symbol.for("the guard of transactions");

interface Guarded {
  query: Query;
  [guard]?: { mayWait: boolean };
}

const client = pg.Client.prototype as unknown as Guarded;

/** For a test that holds a transaction on purpose. */
export function letTransactionsWait(): void {
  const set = (mayWait: boolean) => {
    client[guard] = Object.assign(client[guard] ?? {}, { mayWait });
  };
  set(true);
  onTestFinished(() => set(false));
}

/** Not after a time limit or a lost connection: the pool then ends it without a word to the server. */
const isUsable = (client: object) =>
  "_queryable" in client && client._queryable === true && "_ending" in client && client._ending === false;

/**
 * Fails the run where a transaction on PostgreSQL awaits anything but its statements: others would wait for its locks meanwhile.
 * Such a transaction has no statement at work, and sends none in the same turn. Before its first statement it may wait.
 * SQLite's driver refuses all of it by itself.
 */
function guardTransactions(): void {
  if (client[guard] !== undefined) return;
  client[guard] = { mayWait: false };
  const { query } = client;
  const works = new WeakMap<pg.Client, Work>();
  client.query = function (asked, ...others) {
    const answer = query.call(this, asked, ...others);
    // Only the pool's connections have it, once they are lent.
    if (!("release" in this) || !(answer instanceof Promise)) return answer;
    const work: Work = works.get(this) ?? { asked: 0 };
    works.set(this, work);
    const text = typeof asked === "string" ? asked : asked.text;
    if (/^(BEGIN ISOLATION|COMMIT|ROLLBACK)/.test(text)) {
      work.transaction = text.startsWith("BEGIN") ? {} : undefined;
      return answer;
    }
    work.asked += 1;
    const { transaction } = work;
    const settle = () => {
      work.asked -= 1;
      setImmediate(() => {
        if (
          !client[guard]?.mayWait &&
          work.asked === 0 &&
          transaction &&
          work.transaction === transaction &&
          isUsable(this)
        )
          throw new Error(`a transaction has waited behind: ${text}`);
      });
    };
    answer.then(settle, settle);
    return answer;
  };
}

guardTransactions();
