import type { Database } from "better-sqlite3";
import { AppError } from "../core/errors.ts";
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
 * Many small transactions share one fsync. They run inside one `BEGIN IMMEDIATE … COMMIT`; when one of them throws, all is
 * rolled back and each is run again in a transaction of its own, so that a bad one fails alone. The good case pays
 * nothing for this.
 *
 * Alerts that changed get a new version in the same commit; an event stream resumes by it.
 */
export function createGroupCommit(
  db: Database,
  transactions: Transactions,
  changed: Set<number>,
): GroupCommit {
  const begin = db.prepare("BEGIN IMMEDIATE");
  const end = db.prepare("COMMIT");
  const rollback = db.prepare("ROLLBACK");
  const setVersion = db.prepare("UPDATE alerts SET version = ? WHERE seq = ?");
  let version = transactions.latestVersion();

  function runAll(calls: Call[]): unknown[] {
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
      throw error;
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

/** `SQLITE_FULL`, and the input/output errors that a full disk shows itself by in WAL mode. */
export function isDiskFull(error: unknown): boolean {
  const code = sqliteCode(error) ?? "";
  return code === "SQLITE_FULL" || code === "SQLITE_IOERR_WRITE" || code === "SQLITE_IOERR_SHMSIZE";
}

function toStoreError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code === undefined) return error;
  if (isDiskFull(error)) {
    return new AppError("store_unavailable", "The disk that holds the database is full.", {
      hint: "Free space or enlarge the volume; Tocsin goes on by itself when there is room.",
      cause: error,
      retryAfterMs: 30_000,
    });
  }
  return new AppError("store_unavailable", `The database could not take the change (${code}).`, {
    hint: "Look at the volume that DATA_DIR lies on: is it mounted, writable and healthy?",
    cause: error,
    retryAfterMs: 10_000,
  });
}

function sqliteCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && code.startsWith("SQLITE_") ? code : undefined;
}
