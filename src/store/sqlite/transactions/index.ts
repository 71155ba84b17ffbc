import { createAccepting } from "./accepting.ts";
import { createClaiming } from "./claiming.ts";
import type { TransactionContext } from "./context.ts";
import { createCounting } from "./counting.ts";
import { createDelivering } from "./delivering.ts";
import { createHolding } from "./holding.ts";
import { createKeyHistory } from "./key-history.ts";
import { createLanes } from "./lanes.ts";
import { createLog } from "./log.ts";
import { createRefusing } from "./refusing.ts";
import { createRemoving } from "./removing.ts";
import { createRepeats } from "./repeats.ts";
import { createResending } from "./resending.ts";
import { createDeliveryInsertion, createRouting } from "./routing.ts";
import { createSearching } from "./searching.ts";
import { createDutyStates, createKeys, createMutes, createWatchStates } from "./shared.ts";
import { createStateKeeping } from "./state-keeping.ts";

/** Every transaction function of the port, synchronous, against one connection that may write. */
export function createTransactions(context: TransactionContext) {
  const insertDelivery = createDeliveryInsertion(context);
  const laneKeeping = createLanes(context);
  const stateKeeping = createStateKeeping(context, laneKeeping);
  const claiming = createClaiming(context, stateKeeping);
  const searching = createSearching(context);
  const watchStates = createWatchStates(context);
  const { countRoutes, ...counting } = createCounting(context);
  const { savePace: _pace, saveThread: _thread, ...remembering } = stateKeeping;
  const { isHeld: _held, ...lanes } = laneKeeping;
  const { indexLate: _late, indexedUpTo: _upTo, ...indexing } = searching;
  return {
    ...createAccepting(context),
    ...createRouting(context, insertDelivery, searching, createRepeats(context), {
      ...claiming,
      ...watchStates,
      ...stateKeeping,
      countRoutes,
    }),
    ...lanes,
    ...createDelivering(context, insertDelivery, { ...stateKeeping, ...claiming, ...laneKeeping }),
    ...createHolding(context),
    ...createResending(context, insertDelivery),
    ...remembering,
    ...createLog(context),
    ...createKeyHistory(context),
    ...indexing,
    ...createMutes(context),
    ...createKeys(context),
    ...watchStates,
    ...createDutyStates(laneKeeping, watchStates),
    ...createRemoving(context),
    ...createRefusing(context),
    ...counting,
  };
}

export type Transactions = ReturnType<typeof createTransactions>;
export type TransactionName = keyof Transactions;
