import { createAccepting } from "./accepting.ts";
import type { TransactionContext } from "./context.ts";
import { createCountRoutes } from "./count-routes.ts";
import { createLog } from "./log.ts";
import { createRemoving } from "./removing.ts";
import { createRouting } from "./routing.ts";
import { createSearching } from "./searching.ts";
import { bindShared } from "./shared.ts";

/** Every transaction function of the port, against one connection that may write. */
export function createTransactions(context: TransactionContext) {
  const { methods, recordRouting, removeOld } = bindShared(context);
  const searching = createSearching(context);
  const countRoutes = createCountRoutes(context);
  const { indexLate: _late, indexedUpTo: _upTo, ...indexing } = searching;
  const routing = createRouting(context, { recordRouting, countRoutes, ...searching });
  return {
    ...methods,
    ...createAccepting(context, routing),
    ...routing,
    ...createLog(context),
    ...indexing,
    ...createRemoving(context, { removeOld }),
  };
}

export type Transactions = ReturnType<typeof createTransactions>;
export type TransactionName = keyof Transactions;
