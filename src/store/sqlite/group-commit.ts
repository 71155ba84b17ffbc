import { toStoreError } from "./store-error.ts";
import { RunAgain, type TransactionContext } from "./transactions/context.ts";
import type { TransactionName, Transactions } from "./transactions/index.ts";

/** One transaction that waits for the next commit. */
export interface Call {
  name: TransactionName;
  arguments: unknown[];
}

export type CallResult = { ok: true; value: unknown } | { ok: false; error: unknown };

export interface GroupCommit {
  /** Runs all calls in one transaction: when it returns, what succeeded is on disk. */
  commit(calls: Call[]): { results: CallResult[]; version: number };
}

/** Each run leaves out at least one more part that failed, and accepting has three (accepting.ts). */
const mostRuns = 4;

/**
 * Many small transactions share one fsync. They run inside one `BEGIN IMMEDIATE … COMMIT`; when one of them throws, all is
 * rolled back and each is run again in a transaction of its own, so that a bad one fails alone. The good case pays
 * nothing for this.
 *
 * Alerts that changed get a new version in the same commit; an event stream resumes by it.
 */
export function createGroupCommit(context: TransactionContext, transactions: Transactions): GroupCommit {
  const { db, changed, undone } = context;
  const begin = db.prepare("BEGIN IMMEDIATE");
  const end = db.prepare("COMMIT");
  const rollback = db.prepare("ROLLBACK");
  const setVersion = db.prepare("UPDATE alerts SET version = ? WHERE seq = ?");
  let version = transactions.latestVersion();

  function runOnce(calls: Call[]): unknown[] {
    changed.clear();
    begin.run();
    const before = version;
    try {
      const values = calls.map((call) => run(transactions, call));
      for (const seq of changed) setVersion.run(++version, seq);
      end.run();
      return values;
    } catch (error) {
      version = before;
      if (db.inTransaction) rollback.run();
      for (const tell of undone) tell();
      throw error;
    }
  }

  function runAll(calls: Call[]): unknown[] {
    for (let runs = 1; ; runs += 1) {
      try {
        return runOnce(calls);
      } catch (error) {
        if (!(error instanceof RunAgain) || runs === mostRuns) throw error;
      }
    }
  }

  function runAlone(call: Call): CallResult {
    try {
      return { ok: true, value: runAll([call])[0] };
    } catch (error) {
      return { ok: false, error: toStoreError(error) };
    }
  }

  return {
    commit(calls) {
      try {
        return { results: runAll(calls).map((value) => ({ ok: true, value })), version };
      } catch (error) {
        const results: CallResult[] =
          calls.length === 1 ? [{ ok: false, error: toStoreError(error) }] : calls.map(runAlone);
        return { results, version };
      }
    },
  };
}

function run(transactions: Transactions, call: Call): unknown {
  const transaction = transactions[call.name] as (...args: unknown[]) => unknown;
  return transaction(...call.arguments);
}
