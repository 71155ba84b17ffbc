import { createAccepting } from "./accepting.ts";
import { createClaiming } from "./claiming.ts";
import type { TransactionContext } from "./context.ts";
import { createCounting } from "./counting.ts";
import { createDelivering } from "./delivering.ts";
import { createKeyHistory } from "./key-history.ts";
import { createIsHeld } from "./lanes.ts";
import { createLog } from "./log.ts";
import { createRemoving } from "./removing.ts";
import { createRepeats } from "./repeats.ts";
import { createDeliveryInsertion, createRouting } from "./routing.ts";
import { createSearching } from "./searching.ts";
import { bindShared } from "./shared.ts";
import { createStateKeeping } from "./state-keeping.ts";

/** Every transaction function of the port, against one connection that may write. */
export function createTransactions(context: TransactionContext) {
  const insertDelivery = createDeliveryInsertion(context);
  const shared = bindShared(context);
  const isHeld = createIsHeld(context);
  const stateKeeping = createStateKeeping(context, isHeld);
  const claiming = createClaiming(context, stateKeeping);
  const searching = createSearching(context);
  const { countRoutes, ...counting } = createCounting(context);
  const { saveThread: _thread, ...remembering } = stateKeeping;
  const { indexLate: _late, indexedUpTo: _upTo, ...indexing } = searching;
  return {
    ...shared,
    ...createAccepting(context),
    ...createRouting(context, insertDelivery, searching, createRepeats(context), {
      ...claiming,
      ...shared,
      countRoutes,
    }),
    ...createDelivering(context, insertDelivery, { ...stateKeeping, ...claiming, ...shared, isHeld }),
    ...remembering,
    ...createLog(context),
    ...createKeyHistory(context),
    ...indexing,
    ...createRemoving(context),
    ...counting,
  };
}

export type Transactions = ReturnType<typeof createTransactions>;
export type TransactionName = keyof Transactions;
