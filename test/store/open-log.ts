import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { onTestFinished } from "vitest";
import { writeStoredLog } from "../../bench/stored-log.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { createContext } from "../../src/store/sqlite/transactions/context.ts";
import { createTransactions } from "../../src/store/sqlite/transactions/index.ts";
import { newId } from "../conformance/store/scene-samples.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/** Transactions on a database of SQLite in this thread. */
export const transactionsOn = (db: Database) => createTransactions(createContext({ db, newId, now: Date.now }));

/** Such a database, closed when the test ends, with so many alerts of the last months. Default: none. */
export function openLog(alerts = 0, endAt?: number) {
  const path = join(makeTempFolder(), "tocsin.db");
  const written = alerts > 0 ? writeStoredLog({ path, alerts, endAt }) : { startAt: 0, endAt: 0 };
  const db = openDatabase({ path });
  onTestFinished(() => void db.close());
  return { db, path, written, transactions: transactionsOn(db) };
}

/** The same database, which notes each statement that is prepared. */
export const spyOnPrepare = (db: Database, note: (sql: string) => void): Database =>
  new Proxy(db, {
    get(target, name) {
      if (name !== "prepare") return Reflect.get(target, name);
      return (sql: string) => {
        note(sql);
        return target.prepare(sql);
      };
    },
  });
