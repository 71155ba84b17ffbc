import type { IncomingRequest } from "../../core/ports/inbox.ts";
import type { RoutingRecord } from "../../core/ports/routing-desk.ts";
import { isDamage, toStoreError } from "./store-error.ts";
import type { TransactionContext } from "./transactions/context.ts";
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

/**
 * Many small transactions share one fsync. They run inside one `BEGIN IMMEDIATE … COMMIT`; when one of them throws,
 * all is rolled back and each is run again in a transaction of its own, so that a bad one fails alone. The good case
 * pays nothing for this.
 *
 * Alerts that changed get a new version in the same commit; an event stream resumes by it. Versions only grow: one that
 * was rolled back may be left out.
 */
export function createGroupCommit(context: TransactionContext, transactions: Transactions): GroupCommit {
  const { db, changed } = context;
  const begin = db.prepare("BEGIN IMMEDIATE");
  const end = db.prepare("COMMIT");
  const rollback = db.prepare("ROLLBACK");
  const setVersion = db.prepare("UPDATE alerts SET version = ? WHERE seq = ?");
  context.version = transactions.latestVersion();

  function runAll(calls: Call[]): unknown[] {
    changed.clear();
    begin.run();
    try {
      const values = calls.map((call) => run(transactions, call));
      for (const seq of changed) setVersion.run(++context.version, seq);
      end.run();
      return values;
    } catch (error) {
      if (db.inTransaction) rollback.run();
      throw error;
    }
  }

  function runAlone(call: Call): CallResult {
    try {
      return { ok: true, value: runAll([call])[0] };
    } catch (error) {
      const simpler = isDamage(error) ? withoutLookingBack(call) : undefined;
      const result = simpler === undefined ? undefined : runAlone(simpler);
      if (!result?.ok) return { ok: false, error: toStoreError(error) };
      context.damage = (error as Error).message;
      return result;
    }
  }

  return {
    commit(calls) {
      try {
        return { results: runAll(calls).map((value) => ({ ok: true, value })), version: context.version };
      } catch {
        return { results: calls.map(runAlone), version: context.version };
      }
    },
  };
}

function run(transactions: Transactions, call: Call): unknown {
  const transaction = transactions[call.name] as (...args: unknown[]) => unknown;
  return transaction(...call.arguments);
}

/**
 * The same call without what finds earlier alerts, which may be the part of the database that is damaged: a repeat
 * costs less than a loss. SQLite refuses every further write of a transaction that has read a damaged page, so it
 * needs a new one. Undefined: there is nothing to leave out.
 */
function withoutLookingBack({ name, arguments: [first, ...others] }: Call): Call | undefined {
  if (name === "acceptRequest") {
    const request = first as IncomingRequest;
    if (request.dedupeKey === undefined) return undefined;
    return { name, arguments: [{ ...request, dedupeKey: undefined }, ...others] };
  }
  if (name === "recordRouting") {
    const records = first as RoutingRecord[];
    if (records.every(({ repeatWindowMs }) => repeatWindowMs === undefined)) return undefined;
    return { name, arguments: [records.map((one) => ({ ...one, repeatWindowMs: undefined })), ...others] };
  }
  return undefined;
}
