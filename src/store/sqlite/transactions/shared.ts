import { createSharedTransactions, type SharedMethods } from "../../transactions/index.ts";
import type { Tx } from "../../tx.ts";
import { createSqliteDialect, runShared } from "../tx.ts";
import type { TransactionContext } from "./context.ts";

export function bindShared(context: TransactionContext): SharedMethods {
  const shared = createSharedTransactions(createSqliteDialect(context.db), {
    ...{ relayName: "", startedAt: "" },
    newId: context.newId,
  });
  const bound = Object.entries(shared).map(([name, transaction]) => {
    const work = transaction as (tx: Tx, ...args: unknown[]) => Promise<unknown>;
    return [name, (...args: unknown[]) => runShared((tx) => work(tx, ...args), context)];
  });
  return Object.fromEntries(bound) as SharedMethods;
}
