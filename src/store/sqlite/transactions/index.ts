import { createAccepting } from "./accepting.ts";
import type { TransactionContext } from "./context.ts";
import { createDelivering } from "./delivering.ts";
import { createHolding } from "./holding.ts";
import { createKeys } from "./keys.ts";
import { createLog } from "./log.ts";
import { createMutes } from "./mutes.ts";
import { createResending } from "./resending.ts";
import { createRouting } from "./routing.ts";
import { createSearching } from "./searching.ts";
import { createStateKeeping } from "./state-keeping.ts";

/** Every transaction function of the port, synchronous, against one connection that may write. */
export function createTransactions(context: TransactionContext) {
  return {
    ...createAccepting(context),
    ...createRouting(context),
    ...createDelivering(context),
    ...createHolding(context),
    ...createResending(context),
    ...createStateKeeping(context),
    ...createLog(context),
    ...createSearching(context),
    ...createMutes(context),
    ...createKeys(context),
  };
}

export type Transactions = ReturnType<typeof createTransactions>;
export type TransactionName = keyof Transactions;
