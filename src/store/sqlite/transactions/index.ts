import { createSqliteDialect } from "../tx.ts";
import type { TransactionContext } from "./context.ts";
import { createLog } from "./log.ts";
import { createRemoving } from "./removing.ts";
import { createRouting } from "./routing.ts";
import { createSearching } from "./searching.ts";
import { bindShared } from "./shared.ts";
import { createWriting } from "./writing.ts";

/** Every transaction function of the port, against one connection that may write. */
export function createTransactions(context: TransactionContext) {
  const sql = createSqliteDialect(context);
  const searching = createSearching(context);
  const { indexLate: _late, indexedUpTo: _upTo, ...indexing } = searching;
  const { removeOld, ...methods } = bindShared(context, sql, createWriting(context, searching));
  return {
    ...methods,
    ...createRouting(context),
    ...createLog(context, sql),
    ...indexing,
    ...createRemoving(context, { removeOld }),
  };
}

export type Transactions = ReturnType<typeof createTransactions>;
export type TransactionName = keyof Transactions;
