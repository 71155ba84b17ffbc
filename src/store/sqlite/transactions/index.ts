import { createSharedTransactions } from "../../transactions/index.ts";
import type { Tx } from "../../tx.ts";
import { createSqliteDialect, runShared } from "../tx.ts";
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
import { createStateKeeping } from "./state-keeping.ts";

type Shared = ReturnType<typeof createSharedTransactions>;

/** Each with a `tx` of its own. */
type Bound = {
  [N in keyof Shared]: Shared[N] extends (tx: Tx, ...args: infer Args) => infer Result
    ? (...args: Args) => Result
    : never;
};

function bindShared(context: TransactionContext): Bound {
  const shared = Object.entries(createSharedTransactions(createSqliteDialect(context.db)));
  return Object.fromEntries(
    shared.map(([name, transaction]) => {
      const work = transaction as (tx: Tx, ...args: unknown[]) => Promise<unknown>;
      return [name, (...args: unknown[]) => runShared((tx) => work(tx, ...args), context.notes)];
    }),
  ) as Bound;
}

/** Every transaction function of the port, against one connection that may write. */
export function createTransactions(context: TransactionContext) {
  const insertDelivery = createDeliveryInsertion(context);
  const laneKeeping = createLanes(context);
  const stateKeeping = createStateKeeping(context, laneKeeping);
  const claiming = createClaiming(context, stateKeeping);
  const searching = createSearching(context);
  const { countRoutes, ...counting } = createCounting(context);
  const { savePace: _pace, saveThread: _thread, ...remembering } = stateKeeping;
  const { isHeld: _held, ...lanes } = laneKeeping;
  const { indexLate: _late, indexedUpTo: _upTo, ...indexing } = searching;
  return {
    ...bindShared(context),
    ...createAccepting(context),
    ...createRouting(context, insertDelivery, searching, createRepeats(context), {
      ...claiming,
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
    ...createRemoving(context),
    ...createRefusing(context),
    ...counting,
  };
}

export type Transactions = ReturnType<typeof createTransactions>;
export type TransactionName = keyof Transactions;
